"""Scenarios that no policy can satisfy, found before anything is asked or run.

A model invents calls that no server would take, or verdicts that no policy can reach. Such scenarios
of a model are left out with a note; one that a person wrote stops the compile (see `ground_truth`).
"""

from __future__ import annotations

from collections.abc import Iterator

from ironcurtain.decision.decide import Prepared
from ironcurtain.model.annotations import ToolAnnotation, When
from ironcurtain.model.decision import Decision
from ironcurtain.model.reasons import Reason
from ironcurtain.model.reserved_rules import ReservedRule, RuleKind, kind_of
from ironcurtain.model.scenarios import Scenario
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted, visible

_NO_CALL = frozenset(
    {
        ReservedRule.MALFORMED_CALL,
        ReservedRule.UNKNOWN_TOOL,
        ReservedRule.INVALID_ARGUMENTS,
        ReservedRule.UNREPRESENTABLE_ARGUMENT,
    }
)
"""Rules under which a call is refused whatever it asks for: nothing about a policy can be learned from it."""


class Unreachable(Struct):
    """What decides a call before any rule is asked, and why.

    Attributes:
        verdict: The verdict; where it is escalate, a rule can only make it stricter.
        rule: The structural rule.
        cause: Why the call cannot be judged exactly, where that is so.
    """

    verdict: Verdict
    rule: str
    reason: str
    cause: Reason | None = None

    def __str__(self) -> str:
        """Say it as the end of a sentence."""
        return f"{self.rule} makes it {self.verdict} whatever the rules say: {self.reason}"


def unreachable(scenario: Scenario, prepared: Prepared | Decision) -> Unreachable | None:
    """Say what keeps every policy from making a scenario come true; None if one can."""
    if scenario.expect is Verdict.DENY:
        return None
    if isinstance(prepared, Prepared):
        if scenario.expect is not Verdict.ALLOW or not prepared.minimum.escalated:
            return None
        return Unreachable(Verdict.ESCALATE, *min(prepared.minimum.escalated.values()))
    if kind_of(prepared.rule) is not RuleKind.STRUCTURAL:
        return None  # a fault of ours: the scenario stays, and fails
    return Unreachable(prepared.verdict, prepared.rule, prepared.reason, prepared.cause)


def no_use(scenario: Scenario, prepared: Prepared | Decision, tool: ToolAnnotation | None) -> str | None:
    """Say why a scenario of a model is not worth running; None if it is.

    Beside what is impossible these are calls that are refused before they are judged, and modes that
    the model made up.
    """
    if isinstance(prepared, Decision) and prepared.rule in _NO_CALL:
        return f"scenario {visible(scenario.id)}: {prepared.reason}"
    if found := unreachable(scenario, prepared):
        return f"scenario {visible(scenario.id)} expects {scenario.expect}, but {found}"
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


def _is_listed(value: JsonValue, name: str, tool: ToolAnnotation) -> bool:
    schema = tool.properties.get(name)
    if not isinstance(schema, dict):
        return False
    listed = schema.get("enum")
    return (isinstance(listed, list) and value in listed) or value == schema.get("const")
