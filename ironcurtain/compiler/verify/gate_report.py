"""What a gate found (`ironcurtain verify`, `ironcurtain diff`): checks with their problems.

Every report format is made of this one shape.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ironcurtain.analysis.diff.report import Difference
from ironcurtain.model.severity import Severity
from ironcurtain.system.frozen import Frozen

Status = Literal["passed", "failed", "skipped", "unexamined"]


class Problem(Frozen):
    """One thing that a check found.

    Attributes:
        id: What it is about, stable over runs: a scenario, a guarantee, a finding, a change.
        severity: Only an `error` fails its check.
        message: What is wrong, in one sentence.
        clause: The clause of the constitution that is concerned.
        file: Where to look, relative to the working directory where it lies there.
        line: 1-based line in the file.
        details: More lines, such as a call that shows it.
        suggestion: What to do about it.
        docs: The documentation page.
    """

    id: str
    severity: Severity = "error"
    message: str
    clause: str | None = None
    file: str | None = None
    line: int | None = None
    details: tuple[str, ...] = ()
    suggestion: str = ""
    docs: str = "docs/gate.md"


class Check(Frozen):
    """One check.

    Attributes:
        status: `skipped` where nothing asks for it and nothing is there to check; `unexamined` where the
            bundle was made with something that is not there to look at.
        summary: What was found, in one sentence.
        cases: What was looked at, by id, where it is a list of things such as scenarios.
        count: How many things were looked at, where that is no list.
    """

    name: str
    status: Status
    summary: str
    cases: tuple[str, ...] = ()
    count: int = 0
    problems: tuple[Problem, ...] = ()

    @property
    def failing(self) -> tuple[Problem, ...]:
        """The problems that fail the check."""
        return tuple(problem for problem in self.problems if problem.severity == "error")


class GateReport(Frozen):
    """The result of a gate; it holds for exactly one revision.

    Attributes:
        ok: Whether no check failed, and there were scenarios and Rego tests to verify it by.
        unexamined: The checks that could not look at what they are about, by name.
        against: The revision that the policy was compared with, if it was.
        clauses: The words of the clauses that problems name, by id.
        difference: The comparison in full.
    """

    format: Literal["ironcurtain/gate-report/v1"] = "ironcurtain/gate-report/v1"
    command: Literal["verify", "diff"]
    ok: bool
    unexamined: tuple[str, ...] = ()
    revision: str
    against: str | None = None
    engine_version: str
    checks: tuple[Check, ...]
    clauses: dict[str, str] = Field(default_factory=dict)
    difference: Difference | None = None
