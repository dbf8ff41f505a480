"""What `ironcurtain mutation` does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from ironcurtain.analysis.mutation.report import MutationReport
from ironcurtain.analysis.mutation.score import mutation_score, survivors
from ironcurtain.bundle.opening import Trust
from ironcurtain.cli.review.policy_argument import read_policy
from ironcurtain.compiler.scenarios.text import append_scenarios, item_text
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.errors import Exit, UsageError
from ironcurtain.model.guarantees import Guarantees
from ironcurtain.model.scenarios import Scenarios
from ironcurtain.system import json_text
from ironcurtain.system.frozen import Json
from ironcurtain.system.text import counted, visible


def run(
    *,
    bundle: str | None,
    config: str | None,
    scenarios: str | None,
    guarantees: str | None,
    fail_under: float,
    write: str | None,
    format_: str,
    opa: str | None,
    **trust: Json,
) -> Exit:
    """Try the mutants and print what became of them."""
    policy = read_policy(bundle, config, scenarios, Trust.of(**trust))
    if policy.scenarios is None:
        raise UsageError("there are no scenarios", hint="Name a file with --scenarios.")
    promised = policy.beside(guarantees, policy.project.settings.guarantees, Guarantees)
    known = Scenarios(format="ironcurtain/scenarios/v1", world=policy.world, scenarios=policy.scenarios)
    report = mutation_score(policy.bundle, known, promised, OpaCommand(find(Path(opa) if opa else None)))
    if format_ == "json":
        click.echo(json_text.pretty(report.model_dump(mode="json")), nl=False)
    else:
        click.echo("\n".join(report_lines(report)))
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
    missing = survivors(report)
    if missing:
        yield "missing scenarios, each with the verdict that the policy gives today:"
        for scenario in missing:
            yield item_text(scenario).rstrip("\n")
