"""`ironcurtain coverage`: what of a policy its scenarios and guarantees reach."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Unpack

import click

from ironcurtain.cli.options.bundle_argument import bundle_argument
from ironcurtain.cli.options.options import (
    CONFIG,
    FORMAT,
    OPA,
    QUIET,
    SCENARIOS,
    Number,
    TrustOptions,
    trust_options,
)
from ironcurtain.cli.output.results import print_result
from ironcurtain.errors import Exit, UsageError
from ironcurtain.system.text import counted, visible

if TYPE_CHECKING:
    from ironcurtain.analysis.coverage.report import CoverageReport


@click.command()
@bundle_argument()
@CONFIG
@SCENARIOS
@click.option(
    "--guarantees", metavar="FILE", help="Guarantees count too (default: the project's guarantees.yaml)."
)
@click.option(
    "--fail-under",
    type=Number(0, 100),
    metavar="N",
    default=0,
    show_default=True,
    help="Fail if less than N percent of the cells, or of the rules, are reached.",
)
@FORMAT
@trust_options
@OPA
@QUIET
def command(
    *,
    bundle: str | None,
    config: str | None,
    scenarios: str | None,
    guarantees: str | None,
    fail_under: float,
    format_: str,
    opa: str | None,
    quiet: bool,
    **trust: Unpack[TrustOptions],
) -> Exit:
    """Report which cells and deciding rules of a policy are tested, clause by clause.

    Handwritten scenarios, answers, a model's scenarios of what the author means, and guarantees count.
    Scenarios recorded from the policy itself do not: they hold whatever it decides.

    \b
    Example:
      ironcurtain coverage --fail-under 80

    \b
    Exit: 0 enough is reached, 1 less than --fail-under, 2 wrong options or files, or a policy too large
    to examine, 3 the bundle is corrupt or the engine gives no answer.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.analysis.coverage.coverage import coverage
    from ironcurtain.analysis.engine.policy_analysis import analyse_with_guarantees
    from ironcurtain.cli.review.policy_argument import opa_command, read_policy
    from ironcurtain.model.guarantees import Guarantees

    policy = read_policy(bundle, config, scenarios, **trust)
    if policy.scenarios is None:
        raise UsageError("there are no scenarios", hint="Name a file with --scenarios.")
    demanded = policy.beside(guarantees, policy.project.settings.guarantees, Guarantees)
    engine = opa_command(opa)
    examined = analyse_with_guarantees(policy.bundle, policy.world, engine, demanded)
    report = coverage(examined, policy.scenarios, engine)
    enough = report.percent >= fail_under
    if format_ == "json" or not (quiet and enough):
        print_result(report, _lines(report), format_)
    if not enough:
        click.echo(f"{report.percent} % is reached, less than {fail_under:g} %", err=True)
    return Exit.YES if enough else Exit.NO


def _lines(report: CoverageReport) -> Iterator[str]:
    from ironcurtain.analysis.coverage.report import clause_line

    yield from map(clause_line, report.clauses)
    for cell in report.missed:
        where = ", ".join(visible(place) for place in cell.where)
        yield f"not reached: {visible(cell.server)}/{visible(cell.tool)} {visible(cell.role)}: {where}"
    for name, share in (("cells", report.cells), ("deciding rules", report.rules)):
        yield f"{name}: {share.reached} of {share.total} ({share.percent} %)"
    for tool in report.sampled:
        yield f"sampled: {visible(tool)}: there may be more to reach, not every kind of call was examined"
    for tool in report.unexamined:
        yield f"not examined: {visible(tool)}: no call could be made, so guarantees reach none of it"
    counting = f"{counted(report.scenarios, 'scenario')} and {counted(report.guarantees, 'guarantee')}"
    yield f"counted: {counting}; not counted: {counted(report.records, 'record')}"
