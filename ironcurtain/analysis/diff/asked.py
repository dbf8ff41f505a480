"""What one policy says of a resource, and in which direction another policy's word differs.

An approval means what it counts for: by a rule that names an approver only theirs counts, by any other rule
any person's. So a rule that names another approver decides other calls, although its verdict is the same.
"""

from __future__ import annotations

from collections.abc import Mapping

from ironcurtain.analysis.diff.report import AskedOf, Direction
from ironcurtain.analysis.engine.space.elements import ResourceKey
from ironcurtain.model.policy import Approver
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.structs import Struct


class SaidOf(Struct):
    """What a policy says of a resource.

    Attributes:
        asked: Of an `escalate`, whose approval a rule asks for; None where any person's will do.
    """

    verdict: Verdict
    asked: AskedOf | None = None

    @property
    def strictness(self) -> tuple[int, int]:
        """How much stands against a call; the approval of the principal stands least against their own."""
        approval = 0 if self.asked is None else 1 if self.asked.is_caller else 2
        return self.verdict.severity, approval


def said_of(verdict: str, approver: str | None, approvers: Mapping[str, Approver]) -> SaidOf:
    """Return what rules say of a resource, and whom the rule behind it names among a policy's approvers."""
    if verdict != Verdict.ESCALATE.value or approver is None:
        return SaidOf(Verdict(verdict))
    declared = approvers.get(approver)
    is_caller = declared is not None and declared.is_caller
    return SaidOf(Verdict.ESCALATE, AskedOf(name=approver, is_caller=is_caller))


def with_minimum(key: ResourceKey | None, said: SaidOf) -> SaidOf:
    """Return what a resource adds to its call: nothing where there is none, at least its minimum."""
    if key is None:
        return SaidOf(Verdict.ALLOW)
    return SaidOf(Verdict.ESCALATE) if key.minimum and said.verdict is Verdict.ALLOW else said


def direction(old: SaidOf, new: SaidOf) -> Direction:
    """Return which way two different words differ.

    Of two approvers of whom nothing says that one is stricter, each can approve what the other could not: an
    approval counts that did not count before, and that is looser.
    """
    return "tightened" if new.strictness > old.strictness else "loosened"
