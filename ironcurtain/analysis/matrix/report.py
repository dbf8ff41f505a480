"""What a policy decides, tool by tool (`decision-matrix.json`): verdicts and clauses, no rule names."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ironcurtain.analysis.engine.proof import Exactness
from ironcurtain.model.caller_facts import CallerFact
from ironcurtain.model.scenarios import DescribedWorld
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import Frozen, ServerName, is_empty


class RowOutcome(Frozen):
    """One verdict of step 6.

    Attributes:
        when: What else must be so, all of it; empty if nothing.
        clause: The clause behind it; None for what no rule decides.
        approver: Of an `escalate`, whose approval is asked for; None where anybody's will do.
        of_caller: Whether that is the principal for whom the agent acts: what is asked of them is not
            enforced against them.
    """

    when: tuple[str, ...] = ()
    verdict: Verdict
    clause: str | None = None
    approver: str | None = None
    of_caller: bool = False


class Row(Frozen):
    """What becomes of resources of some roles in some places.

    Attributes:
        where: Patterns and other regions; the most specific one that covers a resource counts.
        floor: The structural rule under which it is at least escalated, or None.
        outcomes: The verdicts; exactly one of them applies to a call.
        exactness: `sampled` where a verdict or a condition may be missing, for the reasons of the table.
    """

    roles: tuple[str, ...]
    where: tuple[str, ...]
    floor: str | None = None
    exactness: Exactness = "exact"
    outcomes: tuple[RowOutcome, ...]


class Table(Frozen):
    """The rows of one or several tools that are decided alike.

    Attributes:
        exactness: `sampled` where something may have been missed, for the `reasons` given: in the rows that
            say so, too. A row of a sampled tool that does not is exact.
        checks: The clauses that no rule can test, and that a person who is asked about a call must check.
    """

    tools: tuple[str, ...]
    exactness: Exactness = "exact"
    reasons: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    rows: tuple[Row, ...]


class Matrix(Frozen):
    """The file `decision-matrix.json`.

    Attributes:
        world: The world that the answers assume: home, sandbox, domain lists.
        caller: What the policy declares about the caller, by key.
    """

    format: Literal["ironcurtain/matrix/v1"] = "ironcurtain/matrix/v1"
    world: DescribedWorld
    caller: dict[str, CallerFact] = Field(default_factory=dict, exclude_if=is_empty)
    servers: dict[ServerName, tuple[Table, ...]] = Field(default_factory=dict)
