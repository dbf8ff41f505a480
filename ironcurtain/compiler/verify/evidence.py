"""The evidence about one bundle, each part computed once and shared by all checks.

`compile` judges a bundle by it before publishing, `verify` judges a published one. Matrix, guarantees,
findings and coverage speak of all calls, not of examples (see `ironcurtain.analysis`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from ironcurtain.analysis.clauses.outcomes import clause_outcomes
from ironcurtain.analysis.clauses.report import ClauseReport
from ironcurtain.analysis.coverage import coverage
from ironcurtain.analysis.coverage.report import CoverageReport
from ironcurtain.analysis.engine.policy_analysis import (
    PlainAnalysis,
    PolicyAnalysis,
    analyse_both_ways,
    analyse_policy,
)
from ironcurtain.analysis.findings import findings
from ironcurtain.analysis.findings.context import FindingContext
from ironcurtain.analysis.findings.contradictions import contradictions, overruled
from ironcurtain.analysis.findings.decided_scenarios import DecidedScenarios, demanded
from ironcurtain.analysis.findings.report import FindingReport
from ironcurtain.analysis.guarantees.guarantees import decide_guarantees
from ironcurtain.analysis.matrix.matrix import matrix_json, matrix_of
from ironcurtain.analysis.matrix.report import Matrix
from ironcurtain.analysis.sequences.steps import single_calls
from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.annotate.embedded_languages import languages
from ironcurtain.compiler.verify.report import VerificationCheck
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import Opa
from ironcurtain.model.guarantees import STATUSES, GuaranteeReport, Guarantees
from ironcurtain.model.scenarios import Scenario, Scenarios
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import counted

FILE_NAME = "decision-matrix.json"


class Evidence(Struct):
    """What is known of a bundle; every part may raise what its function in `evidence` raises.

    Attributes:
        scenarios: The world to assume, and the scenarios that demand something; records count for nothing.
        guarantees: What it must never and must always do, if there is a file of them.
        decide: Returns what the bundle decides of all scenarios, where others need that, too.
    """

    bundle: Bundle
    scenarios: Scenarios
    guarantees: Guarantees | None
    opa: Opa
    decide: Callable[[], DecidedScenarios] | None = None

    @cached_property
    def engine(self) -> OpaCommand:
        """OPA's commands."""
        return OpaCommand(self.opa)

    @cached_property
    def _exact(self) -> PlainAnalysis:
        """The whole policy examined."""
        return self._both_ways[0]

    @cached_property
    def _both_ways(self) -> tuple[PlainAnalysis, PolicyAnalysis]:
        """The whole policy examined by itself, and for its guarantees; twice the former if there are none."""
        if self.guarantees is None:
            plain = analyse_policy(self.bundle, self.scenarios.world, self.engine)
            return plain, plain
        return analyse_both_ways(self.bundle, self.scenarios.world, self.engine, self.guarantees)

    @cached_property
    def examined(self) -> PlainAnalysis:
        """The same, with tools that a scenario shows to be examined wrongly as sampled ones."""
        return overruled(self._exact, contradictions(self._exact, self._decided))

    @cached_property
    def guaranteed(self) -> PolicyAnalysis:
        """The whole policy examined for its guarantees, and held against the scenarios, too."""
        if self.guarantees is None:
            return self.examined
        found = self._both_ways[1]
        return overruled(found, contradictions(found, self._decided))

    @cached_property
    def matrix(self) -> Matrix:
        """The decision matrix."""
        return matrix_of(self.examined)

    @cached_property
    def matrix_file(self) -> bytes:
        """The content of `decision-matrix.json`."""
        return matrix_json(self.matrix).encode()

    @cached_property
    def guarantee_report(self) -> GuaranteeReport:
        """The guarantees, decided over all calls."""
        return decide_guarantees(self.guaranteed, self.engine)

    @cached_property
    def findings(self) -> FindingReport:
        """Everything that stands out, nothing waived."""
        material = findings.Material(languages, self._listed, self._decided)
        return findings.find(self._exact, material, self.engine)

    @cached_property
    def coverage(self) -> CoverageReport:
        """What scenarios and guarantees reach."""
        return coverage.coverage(self.guaranteed, self._listed, self.engine, self._decided)

    @cached_property
    def clauses(self) -> ClauseReport:
        """What becomes of each clause."""
        outcomes = clause_outcomes(FindingContext(self.examined), self._decided, self.engine)
        return ClauseReport(revision=self.bundle.revision, clauses=outcomes)

    @cached_property
    def _listed(self) -> tuple[Scenario, ...]:
        """The scenarios, each step a call of its own."""
        return single_calls(self.scenarios, self.bundle).scenarios

    @cached_property
    def _decided(self) -> DecidedScenarios:
        if self.decide is None:
            return demanded(self._exact, self._listed, self.engine)
        return self.decide().demanded_of(self._listed)

    def gathered(self) -> Evidence:
        """Work out all parts that speak of all calls, and return the same evidence."""
        _ = self.matrix_file, self.findings, self.coverage, self.clauses
        if self.guarantees is not None:
            _ = self.guarantee_report
        return self

    @property
    def checks(self) -> tuple[VerificationCheck, ...]:
        """The figures of matrix and guarantees for `verification.json`."""
        checks = [_matrix_check(self.matrix)]
        if self.guarantees is not None:
            checks.append(_guarantee_check(self.guarantee_report))
        return tuple(checks)


def _matrix_check(matrix: Matrix) -> VerificationCheck:
    tables = [table for tables_of_server in matrix.servers.values() for table in tables_of_server]
    sampled = sorted(tool for table in tables if table.exactness != "exact" for tool in table.tools)
    rows = [row for table in tables for row in table.rows]
    doubtful = sum(row.exactness != "exact" for row in rows)
    certainty = f"{doubtful} of them sampled, for {', '.join(sampled)}" if sampled else "all exact"
    detail = f"{counted(len(rows), 'row')}, {certainty}"
    return VerificationCheck(
        name="decision matrix", ok=True, count=sum(len(t.tools) for t in tables), detail=detail
    )


def _guarantee_check(report: GuaranteeReport) -> VerificationCheck:
    ids = {status: [result.id for result in report.results if result.status == status] for status in STATUSES}
    parts = [f"broken: {', '.join(ids['broken'])}"] if ids["broken"] else []
    parts += [f"say nothing: {', '.join(ids['says nothing'])}"] if ids["says nothing"] else []
    parts += [f"not examined: {', '.join(ids['not examined'])}"] if ids["not examined"] else []
    parts += [f"{len(ids['not found'])} not proved (no counterexample found)"] if ids["not found"] else []
    detail = ", ".join(parts) or "all hold"
    return VerificationCheck(name="guarantees", ok=report.ok, count=len(report.results), detail=detail)
