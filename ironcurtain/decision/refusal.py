"""How steps 1 to 6 end a call early: a deny with its reserved rule name."""

from __future__ import annotations

from ironcurtain.model.decision import ResourceDecision
from ironcurtain.model.reasons import Reason
from ironcurtain.model.reserved_rules import ReservedRule


class Refusal(Exception):  # noqa: N818 - a refusal is an answer, not an error
    """The call is denied here and now.

    Attributes:
        rule: The reserved rule under which it is denied.
        reason: Why, in plain words, hidden characters escaped.
        resources: The resources that caused it, as far as they are known.
        cause: The reason with its code and public text, where a value cannot be represented exactly.
    """

    def __init__(
        self,
        rule: ReservedRule,
        reason: str,
        resources: tuple[ResourceDecision, ...] = (),
        *,
        cause: Reason | None = None,
    ) -> None:
        super().__init__(rule, reason)
        self.rule = rule
        self.reason = reason
        self.resources = resources
        self.cause = cause

    @classmethod
    def unrepresentable(cls, cause: Reason) -> Refusal:
        """Return the refusal of a call that cannot be judged exactly."""
        return cls(ReservedRule.UNREPRESENTABLE_ARGUMENT, cause.private, cause=cause)
