"""Approvals of single changes of a policy (`diff-approvals.yaml`)."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from ironcurtain.system.frozen import Digest, Frozen

_Words = Annotated[str, StringConstraints(min_length=1, max_length=2000, pattern=r"\S")]


class DiffApproval(Frozen):
    """One approved change.

    Attributes:
        change: The change's id, as `ironcurtain diff` prints it.
        meaning: The digest that binds it to what the change means under both policies.
        says: The change in words, for whoever reviews the approval; nothing depends on it.
        reason: Why it is wanted.
        approver: Who approves.
        expires: The last day (UTC) on which it counts, as `"2027-06-30"`; None for no end.
    """

    change: str = Field(pattern=r"^[0-9a-f]{12}$")
    meaning: Digest
    says: str = ""
    reason: _Words
    approver: _Words
    expires: date | None = None


class DiffApprovals(Frozen):
    """The file of approvals."""

    format: Literal["ironcurtain/diff-approvals/v1"]
    approvals: tuple[DiffApproval, ...]

    @model_validator(mode="after")
    def _changes_are_distinct(self) -> DiffApprovals:
        named = [(approval.change, approval.meaning) for approval in self.approvals]
        if len(named) != len(set(named)):
            msg = "two approvals are of the same change"
            raise ValueError(msg)
        return self
