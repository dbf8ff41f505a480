"""Putting checks together to one report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ironcurtain.analysis.diff.report import Difference
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.bundle.opening import Trust
from ironcurtain.compiler.verify.gate_report import Check, GateReport, Status
from ironcurtain.engine.locate import Opa
from ironcurtain.errors import Exit

_NEEDED = {"scenarios", "opa check, opa test"}
"""Evidence without which nothing is verified."""


def exit_of(report: GateReport) -> Exit:
    """Return how a command with this report ends: a check that was not examined is no check that failed."""
    if report.ok:
        return Exit.YES
    return Exit.NO if any(check.status == "failed" for check in report.checks) else Exit.NO_ANSWER


def signature(bundle: Bundle, trust: Trust) -> Check:
    """Return the check of whose a bundle is: passed where a key was demanded, and so has been checked."""
    status: Status = "passed" if trust.key is not None else "skipped"
    return Check(name="signature", status=status, summary=trust.signature_words(bundle))


def gate_report(
    command: Literal["verify", "diff"],
    bundle: Bundle,
    opa: Opa,
    checks: Sequence[Check],
    difference: Difference | None = None,
) -> GateReport:
    """Return the report of a gate's checks, with the words of the clauses that problems name."""
    named = {problem.clause for check in checks for problem in check.problems}
    unexamined = tuple(check.name for check in checks if check.status == "unexamined")
    clauses = {id_: text for id_, text in PolicyContent.of(bundle).clauses.items() if id_ in named}
    return GateReport(
        command=command,
        ok=all(check.status != "failed" for check in checks) and _NEEDED.isdisjoint(unexamined),
        unexamined=unexamined,
        revision=bundle.revision,
        against=difference.old_revision if difference else None,
        engine_version=opa.version,
        checks=tuple(checks),
        clauses=clauses,
        difference=difference,
    )
