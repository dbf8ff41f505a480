"""The mutation score: which small changes of a policy its own evidence would notice."""

from __future__ import annotations

from typing import Literal, TypeAlias

from ironcurtain.model.scenarios import Scenario
from ironcurtain.system.frozen import Frozen

MutationKind: TypeAlias = Literal[
    "rule dropped",
    "verdict changed",
    "approver changed",
    "pattern widened",
    "pattern narrowed",
    "order swapped",
    "bound moved",
    "role removed",
    "list emptied",
]
MutantOutcome: TypeAlias = Literal["killed", "survived", "equivalent", "not found", "not examined"]


class MutantResult(Frozen):
    """What became of one mutant.

    Attributes:
        id: Stable: the same change of the same rule has the same id in every run.
        rule: The rule that was changed (of two swapped ones, the first).
        change: The change in words.
        outcome: `equivalent` if it is proved that no call at all is decided differently, `not found` if none
            was found that is.
        by: What noticed it: `scenario ID`, `guarantee ID` or `opa test NAME`.
        scenario: Of a survivor, a scenario that notices it: a call with the verdict of the policy as it is.
    """

    id: str
    kind: MutationKind
    rule: str
    clause: str
    change: str
    outcome: MutantOutcome
    by: str | None = None
    scenario: Scenario | None = None


class MutationReport(Frozen):
    """How many mutants of a policy its scenarios, guarantees and tests notice.

    Attributes:
        scenarios: How many scenarios counted: not those whose expectation was taken from the policy.
        unproved: How many there are of which no call was found that is decided differently, and not proved
            that there is none.
        score: Killed mutants per hundred that are known to decide some call differently; None if none is.
    """

    format: Literal["ironcurtain/mutation/v1"] = "ironcurtain/mutation/v1"
    revision: str
    scenarios: int
    guarantees: int
    killed: int
    survived: int
    equivalent: int
    unproved: int = 0
    score: float | None
    mutants: tuple[MutantResult, ...]
