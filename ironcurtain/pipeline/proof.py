"""What is proven about a whole policy at compile time: its decision matrix, and that it keeps its guarantees.

Part of the stage `compare and record`. Both speak of all calls, not of examples (see `evidence`).
"""

from __future__ import annotations

from dataclasses import dataclass

from ironcurtain.bundle.archive import Bundle
from ironcurtain.evidence.guarantees import check_guarantees, report_lines
from ironcurtain.evidence.matrix import decision_matrix, matrix_json
from ironcurtain.model.guarantees import STATUSES, GuaranteeReport, Guarantees
from ironcurtain.model.matrix import Matrix
from ironcurtain.model.scenarios import DescribedWorld
from ironcurtain.model.verification import Check, Verification
from ironcurtain.opa.command import OpaCommand
from ironcurtain.opa.locate import Opa

FILE_NAME = "decision-matrix.json"


@dataclass(frozen=True)
class Proof:
    """What holds of all calls.

    Attributes:
        matrix: The text of `decision-matrix.json`.
        checks: The figures for `verification.json`.
        lines: What a broken guarantee looks like: its smallest call, the rule and the clause.
    """

    matrix: bytes
    checks: tuple[Check, ...]
    lines: tuple[str, ...]

    def added_to(self, verification: Verification) -> Verification:
        """Return a verification with these checks."""
        checks = (*verification.checks, *self.checks)
        return verification.model_copy(update={"checks": checks, "ok": all(check.ok for check in checks)})


def prove(bundle: Bundle, guarantees: Guarantees | None, world: DescribedWorld, opa: Opa) -> Proof:
    """Examine a whole policy.

    Raises:
        GuaranteeError: For each guarantee that names what does not exist or contradicts itself.
        EvidenceError: If the policy has more ways to a verdict than can be examined.
        EngineFailedError: If OPA does not run.
        VerificationError: If OPA decides otherwise than the bundle's rules say.
    """
    engine = OpaCommand(opa)
    matrix = decision_matrix(bundle, world, engine)
    checks = [_matrix_check(matrix)]
    lines: list[str] = []
    if guarantees is not None:
        report = check_guarantees(bundle, guarantees, world, engine)
        checks.append(_guarantee_check(report))
        broken = tuple(result for result in report.results if not result.holds)
        lines = list(report_lines(report.model_copy(update={"results": broken})))
    return Proof(matrix_json(matrix).encode(), tuple(checks), tuple(lines))


def _matrix_check(matrix: Matrix) -> Check:
    tables = [table for found in matrix.servers.values() for table in found]
    sampled = sorted(tool for table in tables if table.exactness == "sampled" for tool in table.tools)
    rows = sum(len(table.rows) for table in tables)
    detail = f"{rows} rows, " + (f"sampled for {', '.join(sampled)}" if sampled else "all exact")
    return Check(name="decision matrix", ok=True, count=sum(len(t.tools) for t in tables), detail=detail)


def _guarantee_check(report: GuaranteeReport) -> Check:
    ids = {status: [each.id for each in report.results if each.status == status] for status in STATUSES}
    said = [f"broken: {', '.join(ids['broken'])}"] if ids["broken"] else []
    said += [f"say nothing: {', '.join(ids['says nothing'])}"] if ids["says nothing"] else []
    said += [f"{len(ids['not found'])} not found broken, not proved"] if ids["not found"] else []
    detail = ", ".join(said) or "all hold"
    return Check(name="guarantees", ok=report.ok, count=len(report.results), detail=detail)
