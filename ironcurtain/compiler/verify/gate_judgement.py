"""Part of the stage `compare and record`: the gate of `verify` is applied before anything is published.

It is the gate of `ironcurtain verify`, so what a compile publishes is what `verify` accepts. The gate lies
above the compiler and is passed in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ironcurtain.compiler.progress import Progress
from ironcurtain.compiler.verify.baseline import Baseline
from ironcurtain.compiler.verify.gate_report import GateReport
from ironcurtain.compiler.verify.report import Verification, VerificationCheck
from ironcurtain.errors import VerificationError
from ironcurtain.system.structs import Struct

_FIGURES = ("findings", "coverage", "mutation")
"""The checks of the gate that `verification.json` does not know from elsewhere."""


class GateOutcome(Struct):
    """What the gate says.

    Attributes:
        lines: The report as lines of plain text.
    """

    report: GateReport
    lines: tuple[str, ...]


Gate: TypeAlias = Callable[[Baseline], GateOutcome]


def apply_gate(recorded: Baseline, gate: Gate, progress: Progress, unread: Sequence[str]) -> Verification:
    """Let the gate judge a policy; return its verification with everything that was found.

    Args:
        recorded: The policy and what is known of it.
        gate: The gate.
        progress: What is shown where it refuses the policy.
        unread: What stands in the constitution and is no clause, one line each.

    Raises:
        VerificationError: If a check fails; progress shows the report.
        IronCurtainError: If something cannot be judged.
    """
    evaluated = gate(recorded)
    if not evaluated.report.ok:
        for line in evaluated.lines:
            progress.show(line)
        failed = [c for c in evaluated.report.checks if c.status == "failed" or c.failing]
        reasons = ", ".join(f"{check.name} ({check.summary})" for check in failed)
        raise VerificationError(
            f"the compiled policy does not verify: {reasons}",
            hint="Nothing was published. Correct the answer, the constitution or the scenario; a finding "
            "that is right as it is can be accepted in waivers.yaml by its id.",
        )
    passed = [
        check for check in evaluated.report.checks if check.name in _FIGURES and check.status == "passed"
    ]
    figures = [
        VerificationCheck(name=each.name, ok=True, count=each.count, detail=each.summary) for each in passed
    ]
    warnings = [
        problem.message
        for check in evaluated.report.checks
        for problem in check.problems
        if problem.severity == "warning"
    ]
    checks = (*recorded.verification.checks, *recorded.evidence.checks, *figures)
    clauses = recorded.evidence.clauses.clauses
    return recorded.verification.model_copy(
        update={"checks": checks, "warnings": (*unread, *warnings), "clauses": clauses}
    )
