"""`ironcurtain verify`: the gate; all evidence about a bundle, without a model or a network."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ironcurtain.cli.options.bundle_argument import bundle_argument
from ironcurtain.cli.options.options import (
    APPROVALS,
    OPA,
    OUTPUT,
    QUIET,
    REPORT_FORMAT,
    SETTINGS,
    Number,
    trust_options,
)
from ironcurtain.errors import Exit
from ironcurtain.system.structs import Struct

if TYPE_CHECKING:
    from ironcurtain.analysis.diff.report import Difference
    from ironcurtain.bundle.archive import Bundle
    from ironcurtain.bundle.opening import Trust
    from ironcurtain.compiler.verify.gate_report import Check, GateReport
    from ironcurtain.engine.locate import Opa
    from ironcurtain.integrations.gate.change_approvals import DiffApprovals
    from ironcurtain.integrations.gate.git import Commit
    from ironcurtain.integrations.gate.inputs import GateInputs
    from ironcurtain.integrations.gate.policy_under_review import PolicyUnderReview

_PERCENT = Number(0, 100)


@click.command()
@bundle_argument()
@click.option(
    "--scenarios", metavar="FILE", help="Scenarios (default: test-scenarios.json beside the bundle)."
)
@click.option(
    "--guarantees",
    metavar="FILE",
    help="Guarantees (default: guarantees.yaml of the project, if it is there).",
)
@click.option(
    "--against", metavar="REF", help="Compare with the bundle of a git commit: nothing may be loosened."
)
@APPROVALS
@click.option(
    "--fail-under", type=_PERCENT, metavar="PERCENT", help="The least coverage (default: [verify] coverage)."
)
@click.option(
    "--mutation",
    type=_PERCENT,
    metavar="PERCENT",
    help="Measure the mutation score, and demand this (default: [verify] mutation).",
)
@click.option(
    "--attack",
    is_flag=True,
    default=None,
    help="Respell calls, and let none get further (default: [verify] attack).",
)
@SETTINGS
@trust_options
@OPA
@REPORT_FORMAT
@OUTPUT
@QUIET
def command(
    *,
    bundle: str | None,
    scenarios: str | None,
    guarantees: str | None,
    against: str | None,
    approvals: str | None,
    fail_under: float | None,
    mutation: float | None,
    attack: bool | None,
    config: str | None,
    expect_revision: str | None,
    verify_key: str | None,
    min_serial: int | None,
    opa: str | None,
    format_: str,
    output: tuple[str, ...],
    quiet: bool,
) -> Exit:
    """Verify a bundle: revision, `opa check`, `opa test`, scenarios, guarantees, matrix, findings, coverage.

    What is demanded stands below [verify] in the project's ironcurtain.toml.

    \b
    Examples:
      ironcurtain verify
      ironcurtain verify --against origin/main --format github --output gate.md

    \b
    Exit: 0 verified, 1 something fails, 2 wrong options or files,
    3 the bundle is corrupt or the engine gives no answer.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.bundle.opening import Trust
    from ironcurtain.cli.options.signing import verify_signed
    from ironcurtain.cli.output.report_formats import formats_of
    from ironcurtain.cli.output.reports import emit
    from ironcurtain.cli.review.policy_argument import bundle_or_project, path_or_none
    from ironcurtain.engine.locate import find
    from ironcurtain.integrations.gate.inputs import GateInputs, written_beside
    from ironcurtain.integrations.gate.report import exit_of

    files = formats_of(output)
    engine = find(Path(opa) if opa else None)
    trust = Trust.of(verify_key=verify_key, expect_revision=expect_revision, min_serial=min_serial)
    path = bundle_or_project(bundle, config)
    read = verify_signed(path, trust, engine)
    given = GateInputs(
        bundle=Path(path),
        config=path_or_none(config),
        scenarios=path_or_none(scenarios) or written_beside(read, Path(path)),
        guarantees=path_or_none(guarantees),
        approvals=path_or_none(approvals),
        coverage=fail_under,
        mutation=mutation,
        attack=attack,
    )
    report = _report(read, trust, engine, given, against)
    emit(report, format_, files, quiet=quiet)
    return exit_of(report)


def _report(read: Bundle, trust: Trust, engine: Opa, given: GateInputs, against: str | None) -> GateReport:
    """Run all checks of a bundle."""
    from ironcurtain.integrations.gate.checks.all_checks import run_published
    from ironcurtain.integrations.gate.inputs import is_alone
    from ironcurtain.integrations.gate.reading import read_policy_under_review, run_alone
    from ironcurtain.integrations.gate.report import gate_report, signature

    signed = (signature(read, trust),)
    if is_alone(given):
        alone = run_alone(read, engine, archived=given.bundle.is_file(), compared=against is not None)
        return gate_report("verify", read, engine, signed + alone)
    reviewed = read_policy_under_review(read, given, engine, datetime.now(UTC).date())
    older = _Older.of(against, given, reviewed) if against is not None else None
    checks = signed + run_published(reviewed)
    difference = None
    if older is not None:
        more, difference = _compare(reviewed, older)
        checks += more
    return gate_report("verify", read, engine, checks, difference)


class _Older(Struct):
    """What a bundle is compared with; read before any work is done, so that mistakes show at once."""

    commit: Commit
    bundle: Bundle
    approvals: DiffApprovals | None

    @classmethod
    def of(cls, ref: str, given: GateInputs, reviewed: PolicyUnderReview) -> _Older:
        from ironcurtain.integrations.gate.change_approvals import read_approvals
        from ironcurtain.integrations.gate.git import Commit

        commit = Commit.of(ref, given.bundle.absolute().parent)
        file = reviewed.approvals_file.path
        approvals = read_approvals(file, must_exist=given.approvals is not None)
        return cls(commit, commit.bundle(given.bundle), approvals)


def _compare(reviewed: PolicyUnderReview, older: _Older) -> tuple[tuple[Check, ...], Difference | None]:
    """Judge what changed since an older policy; no difference where there is none to be had."""
    from ironcurtain.integrations.gate.change_approvals import difference_check
    from ironcurtain.integrations.gate.checks.all_checks import run_check
    from ironcurtain.integrations.gate.report import compared, dropped_guarantees

    differences: list[Difference] = []

    def judged() -> tuple[Check, ...]:
        differences.append(compared(older.bundle, reviewed.bundle, reviewed.scenarios.world, reviewed.engine))
        sampled = reviewed.demands.difference == "sampled"
        file = reviewed.approvals_file.path
        return (difference_check(differences[0], older.approvals, file, reviewed.today, sampled=sampled),)

    checks = run_check("difference", judged)
    return (*checks, dropped_guarantees(reviewed, older.commit)), differences[0] if differences else None
