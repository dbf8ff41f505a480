"""Coverage: what of a policy its scenarios and guarantees reach (`ironcurtain coverage`)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ironcurtain.system.frozen import Frozen, is_empty
from ironcurtain.system.text import counted, visible


class Share(Frozen):
    """How many of some things are reached."""

    reached: int
    total: int

    @property
    def percent(self) -> float:
        """The share in percent, rounded down to one digit; 100 where there is nothing to reach."""
        return self.reached * 1000 // self.total / 10 if self.total else 100.0


class ClauseCoverage(Frozen):
    """One clause that rules implement, or that scenarios or guarantees are about.

    Attributes:
        scenarios: How many scenarios name it or are decided by one of its rules.
        guarantees: How many guarantees name it.
        cells: The kinds of resources that its rules decide.
        rules: Its rules that decide something.
        missed: The names of those of its rules that nothing reaches.
        asked: `SERVER/TOOL` of each tool whose requests to a person tell them to check the clause, because no
            rule can test it: so far it is asked, and not implemented.
        asked_of_caller: The approvers whom its rules ask and who are the principal: so far it is not enforced
            against them.
    """

    clause: str
    source: str = ""
    scenarios: int
    guarantees: int
    cells: Share
    rules: Share
    missed: tuple[str, ...] = ()
    asked: tuple[str, ...] = Field(default=(), exclude_if=is_empty)
    asked_of_caller: tuple[str, ...] = Field(default=(), exclude_if=is_empty)


class MissedCell(Frozen):
    """Resources of a tool that nothing reaches.

    Attributes:
        where: The places, as the decision matrix names them.
    """

    server: str
    tool: str
    role: str
    where: tuple[str, ...]


class CoverageReport(Frozen):
    """What scenarios and guarantees reach of a policy.

    Attributes:
        scenarios: How many scenarios count.
        records: How many do not, because what they expect was taken from the policy.
        cells: Kinds of resources, tool by tool, that no rule tells apart.
        rules: Rules that decide something.
        sampled: `SERVER/TOOL` of each tool of which not every kind of call was examined, so that there may be
            more of both.
        unexamined: `SERVER/TOOL` of each tool of which no call could be made; guarantees reach none of it.
    """

    format: Literal["ironcurtain/coverage/v1"] = "ironcurtain/coverage/v1"
    revision: str
    scenarios: int
    records: int
    guarantees: int
    cells: Share
    rules: Share
    clauses: tuple[ClauseCoverage, ...]
    missed: tuple[MissedCell, ...] = ()
    sampled: tuple[str, ...] = ()
    unexamined: tuple[str, ...] = Field(default=(), exclude_if=is_empty)

    @property
    def percent(self) -> float:
        """What thresholds are held against: the smaller one of the two shares."""
        return min(self.cells.percent, self.rules.percent)


def clause_line(clause: ClauseCoverage) -> str:
    """Return what is reached of a clause, in one line of text."""
    names = ", ".join(visible(rule) for rule in clause.missed)
    missed = f"; never reached: {names}" if names else ""
    asked = ", ".join(visible(tool) for tool in clause.asked)
    missed += f"; asked, not implemented: {asked}" if asked else ""
    for name in map(visible, clause.asked_of_caller):
        missed += f"; asked of {name}, so not enforced against {name}"
    return (
        f"{visible(clause.clause)}: {counted(clause.scenarios, 'scenario')}, "
        f"{counted(clause.guarantees, 'guarantee')}, "
        f"{clause.rules.reached} of {clause.rules.total} rules, "
        f"{clause.cells.reached} of {clause.cells.total} cells{missed}"
    )
