"""The options `--facts` and `--at` of the commands that decide calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ironcurtain.errors import UsageError
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct, replace
from ironcurtain.system.text import visible

if TYPE_CHECKING:
    from ironcurtain.decision.decide import Call
    from ironcurtain.policy import Policy


class StatedFacts(Struct):
    """What is stated of the facts that a policy declares."""

    values: dict[str, JsonValue]
    at: str | None

    def in_call(self, call: Call, policy: Policy) -> Call:
        """Return a call with these facts.

        Raises:
            ScenarioError: If the policy does not declare one, or a value is not of its type.
        """
        return replace(call, facts=policy.known_facts(self.values, self.at))

    def missing(self, call: Call, policy: Policy) -> str:
        """Return a note of the facts that rules about a call's tool test and nobody stated; empty if none."""
        loaded = policy.loaded
        if not loaded.facts:
            return ""
        from ironcurtain.enforcement.facts.facts_of_tool import ConcernedTools
        from ironcurtain.model.facts import ClockFact

        annotated = loaded.annotation(call.server, call.tool)
        concerned = ConcernedTools(loaded.content).of(call.server, annotated)
        if concerned is None:
            return ""
        missing = [
            name
            for name, fact in concerned.declarations.items()
            if (self.at is None if isinstance(fact, ClockFact) else name not in self.values)
        ]
        said = "note: not stated, so not known to the rules that test it"
        return f"{said}: {', '.join(missing)}" if missing else ""


def stated_facts(text: str | None, at: str | None) -> StatedFacts:
    """Read what `--facts` and `--at` say.

    Raises:
        UsageError: If `--facts` is no JSON object.
    """
    if text is None:
        return StatedFacts({}, at)
    try:
        values = json_text.parse(text)
    except json_text.MalformedJsonError as error:
        raise UsageError(f"--facts is not strict JSON: {visible(str(error))}") from None
    if not isinstance(values, dict):
        raise UsageError("--facts is no JSON object")
    return StatedFacts(values, at)
