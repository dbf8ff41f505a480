"""What a verification found (`verification.json`): checks with figures, failures, assumptions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from ironcurtain.analysis.clauses.report import ClauseOutcome
from ironcurtain.model.scenarios import DescribedWorld
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import Frozen, is_empty
from ironcurtain.system.text import visible


class VerificationCheck(Frozen):
    """One check.

    Attributes:
        count: How many things were looked at.
        detail: What was found, in one sentence.
    """

    name: str
    ok: bool
    count: int
    detail: str


class Mismatch(Frozen):
    """A scenario that did not come true.

    Attributes:
        wrong_clause: Set where verdict and rule are as demanded: the clause that it names does not exist
            (`unknown`), or the rules of others decide the call (`other`).
        deciding: By clause, a rule of it that decides the call, where `wrong_clause` is set.
    """

    scenario: str
    call: str
    expected: Verdict
    expected_rule: str | None = None
    expected_approvers: tuple[str, ...] | None = Field(default=None, exclude_if=lambda value: value is None)
    got: Verdict
    approvers: tuple[str, ...] = Field(default=(), exclude_if=is_empty)
    rule: str
    reason: str
    clause: str | None = None
    origin: str
    wrong_clause: Literal["unknown", "other"] | None = None
    deciding: dict[str, str] = Field(default_factory=dict)

    @property
    def shown_approvers(self) -> tuple[str, ...] | None:
        """Who is asked, where somebody said who must be."""
        asks = self.expected_approvers is not None and self.got is Verdict.ESCALATE
        return self.approvers if asks else None


def asked_words(verdict: Verdict, approvers: Sequence[str] | None) -> str:
    """Return a verdict with whose approval it needs: None where that does not matter, none for anybody."""
    if approvers is None:
        return str(verdict)
    return f"{verdict} asked of {' and '.join(map(visible, approvers)) or 'anybody'}"


class Verification(Frozen):
    """The result of one verification; it holds for exactly one revision.

    Attributes:
        assumptions: The world that the scenarios were decided in.
        warnings: What a person should know although nothing failed.
        clauses: What becomes of each clause of the constitution, where that was looked at.
    """

    format: Literal["ironcurtain/verification/v1"] = "ironcurtain/verification/v1"
    ok: bool
    revision: str
    engine_version: str
    checks: tuple[VerificationCheck, ...]
    mismatches: tuple[Mismatch, ...]
    warnings: tuple[str, ...] = ()
    assumptions: DescribedWorld
    clauses: tuple[ClauseOutcome, ...] = ()


def clause_words(mismatch: Mismatch) -> str:
    """Say what is wrong with the clause that a scenario names."""
    named = f"scenario {mismatch.scenario} is of the clause {visible(mismatch.clause or '')}"
    if mismatch.wrong_clause == "unknown":
        return f"{named}, which does not exist"
    deciding = sorted(mismatch.deciding.items())
    shown = " and ".join(f"{visible(clause)} (by {visible(rule)})" for clause, rule in deciding)
    return f"{named}, and what decides it is {shown}"


def clause_mend(mismatch: Mismatch) -> str:
    """Say what to do about a scenario that another clause decides."""
    named = visible(mismatch.clause or "")
    return f"Name {min(mismatch.deciding)} in the scenario; or, if {named} has to decide, correct the rules."
