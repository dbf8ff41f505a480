"""`ironcurtain mutation`: whether a policy's scenarios, guarantees and tests would notice a change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from ironcurtain.cli.options.bundle_argument import bundle_argument
from ironcurtain.cli.options.options import CONFIG, FORMAT, OPA, Number, TrustOptions, trust_options
from ironcurtain.cli.output.results import print_result
from ironcurtain.errors import Exit, UsageError
from ironcurtain.system.text import counted, visible

if TYPE_CHECKING:
    from ironcurtain.analysis.mutation.report import MutationReport


@click.command()
@bundle_argument()
@CONFIG
@click.option(
    "--scenarios",
    metavar="FILE",
    help="The scenarios (default: test-scenarios.json beside the bundle).",
)
@click.option("--guarantees", metavar="FILE", help="The guarantees (default: the project's guarantees.yaml).")
@click.option(
    "--fail-under",
    type=Number(0, 100),
    default=0,
    show_default=True,
    metavar="PERCENT",
    help="Fail where fewer mutants than this are noticed.",
)
@click.option("--write", metavar="FILE", help="Append the missing scenarios to FILE, for review.")
@FORMAT
@trust_options
@OPA
def command(
    *,
    bundle: str | None,
    config: str | None,
    scenarios: str | None,
    guarantees: str | None,
    fail_under: float,
    write: str | None,
    format_: str,
    opa: str | None,
    **trust: Unpack[TrustOptions],
) -> Exit:
    """Change a policy in many small ways, and say which changes nothing would notice.

    Rules are dropped and swapped, verdicts changed, patterns widened and narrowed, bounds moved, roles
    removed, lists emptied. A changed policy that decides some call otherwise must fail a scenario, a
    guarantee or a test of a custom module. For each that fails none, the missing scenario is printed.

    \b
    Example:
      ironcurtain mutation --fail-under 95

    \b
    Exit: 0 enough is noticed, 1 less than --fail-under, 2 wrong options or files,
    3 the engine gives no answer.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.analysis.mutation.score import mutation_score, survivors
    from ironcurtain.cli.review.policy_argument import opa_command, read_policy
    from ironcurtain.compiler.scenarios.text import append_scenarios
    from ironcurtain.model.guarantees import Guarantees
    from ironcurtain.model.scenarios import Scenarios

    policy = read_policy(bundle, config, scenarios, **trust)
    if policy.scenarios is None:
        raise UsageError("there are no scenarios", hint="Name a file with --scenarios.")
    promised = policy.beside(guarantees, policy.project.settings.guarantees, Guarantees)
    known = Scenarios(format="ironcurtain/scenarios/v1", world=policy.world, scenarios=policy.scenarios)
    report = mutation_score(policy.bundle, known, promised, opa_command(opa))
    print_result(report, report_lines(report), format_)
    if write is not None:
        missing = survivors(report)
        if missing:
            append_scenarios(Path(write), missing)
        click.echo(f"{counted(len(missing), 'scenario')} appended to {visible(write)}: review them", err=True)
    return Exit.YES if _is_enough(report, fail_under) else Exit.NO


def _is_enough(report: MutationReport, fail_under: float) -> bool:
    if report.score is None and fail_under > 0:
        raise UsageError("the policy has no mutants, so nothing can be said about its evidence")
    return (report.score or 0) >= fail_under


def report_lines(report: MutationReport) -> Iterator[str]:
    """Yield the report as lines of plain text, survivors as scenarios ready to paste."""
    from ironcurtain.analysis.mutation.score import survivors
    from ironcurtain.compiler.scenarios.text import item_text

    score = "none to notice" if report.score is None else f"{report.score:g} %"
    evidence = f"{counted(report.scenarios, 'scenario')} and {counted(report.guarantees, 'guarantee')}"
    yield f"mutation score: {score} ({evidence})"
    unproved = f", {report.unproved} not found to differ" if report.unproved else ""
    yield f"{report.killed} noticed, {report.survived} survived, {report.equivalent} equivalent{unproved}"
    for result in report.mutants:
        if result.outcome == "survived":
            yield f"survived  {result.clause} {visible(result.kind)}: {visible(result.change)}"
        elif result.outcome == "not found":
            yield f"not found to differ, not proved  {result.clause} {visible(result.change)}"
        elif result.outcome == "not examined":
            yield f"not examined  {result.clause} {visible(result.change)}"
    missing = survivors(report)
    if missing:
        yield "missing scenarios, each with the verdict that the policy gives today:"
        for scenario in missing:
            yield item_text(scenario).rstrip("\n")
