"""What a clause of a constitution causes, and what becomes of each, as was checked over all calls."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import Field

from ironcurtain.analysis.engine.proof import Exactness, Proof
from ironcurtain.analysis.explain.report import QuotedClause
from ironcurtain.model.guarantees import WitnessCall
from ironcurtain.model.policy import Claim
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import Digest, Frozen, JsonValue, is_empty

OutcomeKind: TypeAlias = Literal[
    "enforced", "structural", "merged", "asked", "partly-asked", "not-kept", "principle", "unaccounted"
]


class ExampleCall(Frozen):
    """A call that a clause decides."""

    server: str
    tool: str
    arguments: dict[str, JsonValue]
    caller: dict[str, JsonValue]
    facts: dict[str, JsonValue] = Field(default_factory=dict)
    verdict: Verdict


class ClauseRule(Frozen):
    """A rule that implements a clause."""

    name: str
    order: int
    then: Verdict
    description: str
    reason: str


class ClauseCell(Frozen):
    """A place where a clause decides.

    Attributes:
        where: The places, as people call them.
        when: The further conditions under which it decides there.
        exactness: `sampled` where such a condition may be missing.
    """

    server: str
    tool: str
    roles: tuple[str, ...]
    where: tuple[str, ...]
    when: tuple[str, ...]
    verdict: Verdict
    exactness: Exactness = "exact"


class AskedTool(Frozen):
    """A tool whose calls an answer says are asked about or denied because of a clause, and what holds.

    Attributes:
        holds: `always`: no call of the tool is allowed; `partly`: a person is asked to check the clause, or
            its rules deny, in the `cells` only; `never`: that is so nowhere, and calls are allowed; `not
            examined`: no call could be made, so nothing is known.
        proof: What that rests on: `found` where the witness shows that not all calls are asked about.
        verdicts: What becomes of the calls, where no call is allowed.
        cells: Where a person is asked, with the clause among what they must check, or its own rules deny.
        witness: A call that is allowed all the same.
    """

    server: str
    tool: str
    holds: Literal["always", "partly", "never", "not examined"]
    proof: Proof
    verdicts: tuple[Verdict, ...] = ()
    cells: tuple[ClauseCell, ...] = ()
    witness: WitnessCall | None = None


class ClauseOutcome(Frozen):
    """What becomes of one clause.

    Attributes:
        outcome: The strongest of what keeps it: rules that decide calls, the structural checks (as a
            scenario of it shows, or as an answer says), the rules of other clauses, a person who is asked.
            `unaccounted` where nothing and nobody says a word about it.
        rules: Its rules that give the verdict of some call.
        idle: Its rules of which no such call was found; what else a call holds may overrule them.
        unproved: Those of `idle` of which it is not proved that there is none; by name, how the tools that
            they concern were examined.
        structural: The structural rules that decide its scenarios.
        into: The clauses whose rules keep it, too, as an answer says; each of them is kept.
        asked: What was said of tools, checked.
        claims: What was said, with the reasons.
        scenarios: How many scenarios that somebody demanded are of this clause.
    """

    clause: QuotedClause
    outcome: OutcomeKind
    rules: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()
    unproved: dict[str, Exactness] = Field(default_factory=dict, exclude_if=is_empty)
    structural: tuple[str, ...] = ()
    into: tuple[str, ...] = ()
    asked: tuple[AskedTool, ...] = ()
    claims: tuple[Claim, ...] = ()
    scenarios: int = 0


class ClauseReport(Frozen):
    """Every clause of a bundle with its outcome (`ironcurtain explain --clause all`)."""

    format: Literal["ironcurtain/clause-report/v1"] = "ironcurtain/clause-report/v1"
    revision: Digest
    clauses: tuple[ClauseOutcome, ...]


class ClauseExplanation(Frozen):
    """All that one sentence of the constitution causes (`ironcurtain/clause-explanation/v1`).

    Attributes:
        outcome: What becomes of it: what keeps it, or what was said of it and what of that holds.
        examples: Calls that were decided by it.
        scenarios: Ids of the scenarios that test it.
        exactness: `sampled` where calls that it decides may have been missed, for the `reasons` given.
        reasons: By `SERVER/TOOL`, what of a tool could not be followed.
    """

    format: Literal["ironcurtain/clause-explanation/v1"] = "ironcurtain/clause-explanation/v1"
    revision: Digest
    clause: QuotedClause
    outcome: ClauseOutcome
    rules: tuple[ClauseRule, ...]
    cells: tuple[ClauseCell, ...]
    examples: tuple[ExampleCall, ...]
    scenarios: tuple[str, ...]
    exactness: Exactness
    reasons: dict[str, tuple[str, ...]] = Field(default_factory=dict)
