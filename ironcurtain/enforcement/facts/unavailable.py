"""A declared fact that a call cannot be decided without, and that cannot be had: the call is refused."""

from __future__ import annotations

from collections.abc import Mapping

from ironcurtain.model.decision import Decision
from ironcurtain.model.reserved_rules import ReservedRule
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import JsonValue


class FactUnavailableError(Exception):
    """A fact cannot be had.

    Attributes:
        fact: Its name, as the policy declares it.
        why: Why not, for the audit log: our own words, with nothing of a server's answer.
    """

    def __init__(self, fact: str, why: str) -> None:
        super().__init__(f"The fact {fact} cannot be had: {why}.")
        self.fact, self.why = fact, why


def fact_unavailable(
    decision: Decision, why: str, arguments: Mapping[str, JsonValue] | None = None
) -> Decision:
    """Refuse a call that cannot be decided without a fact that cannot be had."""
    return decision.model_copy(
        update={
            "verdict": Verdict.DENY,
            "rule": ReservedRule.FACT_UNAVAILABLE.value,
            "reason": why,
            "clause": None,
            "clause_text": None,
            "arguments": arguments if arguments is not None else decision.arguments,
        }
    )
