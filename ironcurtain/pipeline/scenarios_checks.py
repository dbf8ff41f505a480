"""Scenarios that can never come true: found before anything is asked, run or paid for.

A model invents calls that no server would take, or verdicts that no policy can reach. Such scenarios
are left out with a warning; handwritten ones too, since no rule could satisfy them.
"""

from __future__ import annotations

from collections.abc import Iterator

from ironcurtain.decide.decide import Prepared
from ironcurtain.model.annotations import ToolAnnotation, When
from ironcurtain.model.base import Json
from ironcurtain.model.decision import Decision
from ironcurtain.model.scenarios import Scenario
from ironcurtain.model.verdict import Verdict
from ironcurtain.text import quoted, visible

_NO_CALL = frozenset(
    {
        "structural-malformed-call",
        "structural-unknown-tool",
        "structural-invalid-arguments",
        "structural-unrepresentable-argument",
    }
)
"""Rules under which a call is refused whatever it asks for: nothing about a policy can be learned from it."""


def impossible(scenario: Scenario, prepared: Prepared | Decision) -> str | None:
    """Say why no policy can make a scenario come true; None if one can.

    Args:
        scenario: The scenario.
        prepared: Its call after steps 1 to 5.
    """
    if scenario.expect is Verdict.DENY:
        return None
    if isinstance(prepared, Prepared):
        if scenario.expect is not Verdict.ALLOW or not prepared.floor.escalated:
            return None
        rule, reason = min(prepared.floor.escalated.values())
    else:
        rule, reason = prepared.rule, prepared.reason
    if not rule.startswith("structural-"):
        return None  # a fault of ours: the scenario stays, and fails
    return (
        f"scenario {visible(scenario.id)} expects {scenario.expect}, but no policy can reach that "
        f"({rule}: {reason}); it is left out"
    )


def no_use(scenario: Scenario, prepared: Prepared | Decision, tool: ToolAnnotation | None) -> str | None:
    """Say why a scenario of a model is not worth running; None if it is.

    Beside what is impossible these are calls that are refused before they are judged, and modes that
    the model made up.
    """
    if isinstance(prepared, Decision) and prepared.rule in _NO_CALL:
        return f"scenario {visible(scenario.id)}: {prepared.reason}"
    if why := impossible(scenario, prepared):
        return why
    return next(_unknown_modes(scenario, tool), None) if tool else None


def _unknown_modes(scenario: Scenario, tool: ToolAnnotation) -> Iterator[str]:
    """Yield the modes that neither an annotation nor the schema knows; they would get the widest roles."""
    tested: dict[str, list[When]] = {}
    for argument in tool.args:
        for when in argument.conditional.when if argument.conditional else ():
            if when.present is None:
                tested.setdefault(when.arg, []).append(when)
    for name, branches in tested.items():
        value = scenario.call.arguments.get(name)
        known = [one for when in branches for one in (when.in_ or (when.equals,))]
        if isinstance(value, str) and value not in known and not _is_listed(value, name, tool):
            yield (
                f"scenario {visible(scenario.id)}: {quoted(name)} is {quoted(value)}, a mode that neither "
                f"the annotation nor the schema of {quoted(tool.tool)} knows"
            )


def _is_listed(value: Json, name: str, tool: ToolAnnotation) -> bool:
    schema = (tool.input_schema or {}).get("properties", {}).get(name, {})
    return isinstance(schema, dict) and (value in schema.get("enum", []) or value == schema.get("const"))
