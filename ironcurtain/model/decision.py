"""A decision: the answer to one tool call (`ironcurtain/decision/v1`)."""

from __future__ import annotations

import operator
from typing import Literal

from pydantic import Field, PrivateAttr

from ironcurtain.model.reasons import Reason
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import Frozen, JsonValue, is_empty


class ResourceDecision(Frozen):
    """What became of one resource: one (leaf, role) pair in canonical form.

    Attributes:
        at: JSON pointer of the leaf; empty for the entry `call`.
        also_at: Further pointers with the same role and value.
        discharged: Whether it is workspace-exempt.
    """

    at: str
    also_at: tuple[str, ...] = ()
    role: str
    value: str
    verdict: Verdict
    rule: str
    discharged: bool = False


class ClauseCheck(Frozen):
    """What a person must check before they approve a call: a clause that no rule can test.

    Attributes:
        clause: The clause's id.
        text: The clause in its own words.
    """

    clause: str
    text: str


class Decision(Frozen):
    """The verdict for one call, the rule that caused it, the reason and the trace of every resource.

    Attributes:
        rule: The name of a compiled rule, `custom-…` for one of a custom module, or that of a
            `reserved_rules.ReservedRule`.
        clause: The clause of the constitution behind the rule, if one is.
        clause_text: That clause in its own words.
        subjects: Every resource in document order, workspace-exempt ones too; empty when the call was
            refused before its resources were known.
        arguments: The canonical arguments, exactly what the server is to be sent; None when the call
            was refused before they existed.
        drift_checked: Whether the live tool was compared with the annotated one.
        checks: Of a call that is escalated, what the person who is asked must check.
        approvers: Of a call that is escalated, whose approval its rules ask for, all of them, by name; empty
            where any person will do whom the deployment lets approve.
        once_only: Of a call that is escalated, whether an approval covers no other call.
        cause: Why the call cannot be judged exactly, where that is so: the reason's code, and what of it an
            agent may read. It is no part of the format: a decision that was read from JSON has none.
    """

    format: Literal["ironcurtain/decision/v1"] = "ironcurtain/decision/v1"
    id: str | None = None
    server: str
    tool: str
    verdict: Verdict
    rule: str
    clause: str | None = None
    clause_text: str | None = None
    reason: str
    revision: str
    subjects: tuple[ResourceDecision, ...] = ()
    arguments: dict[str, JsonValue] | None = Field(default=None)
    drift_checked: bool = False
    checks: tuple[ClauseCheck, ...] = Field(default=(), exclude_if=is_empty)
    approvers: tuple[str, ...] = Field(default=(), exclude_if=is_empty)
    once_only: bool = Field(default=False, exclude_if=operator.not_)
    _cause: Reason | None = PrivateAttr(default=None)

    @property
    def cause(self) -> Reason | None:
        """Why the call cannot be judged exactly; None for every other decision."""
        return self._cause

    def because(self, cause: Reason | None) -> Decision:
        """Return the decision with what caused it."""
        caused = self.model_copy()
        caused._cause = cause  # noqa: SLF001 - of our own class
        return caused

    @property
    def allowed(self) -> bool:
        """Whether the call may be sent to its server as it was judged; a call to ask about may not yet."""
        return self.verdict is Verdict.ALLOW

    def __bool__(self) -> bool:
        """Refuse to be taken for an answer: a denied call's decision would pass for yes.

        Raises:
            TypeError: Always.
        """
        raise TypeError("a decision is neither true nor false: use `decision.allowed` or `decision.verdict`")
