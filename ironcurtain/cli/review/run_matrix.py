"""What `ironcurtain matrix` does."""

from __future__ import annotations

from pathlib import Path

import click

from ironcurtain.analysis.clauses.report import ClauseReport
from ironcurtain.analysis.engine.policy_analysis import PolicyAnalysis, analyse_policy
from ironcurtain.analysis.matrix.html import html_page
from ironcurtain.analysis.matrix.matrix import matrix_json, matrix_of
from ironcurtain.analysis.matrix.text import markdown_lines, text_lines
from ironcurtain.bundle.opening import Trust, open_bundle
from ironcurtain.cli.review.assumed_facts import assumed_scenarios, assumed_world
from ironcurtain.cli.review.policy_argument import bundle_or_project
from ironcurtain.compiler.render.rendered import check_rendered
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.errors import Exit
from ironcurtain.model.scenarios import Scenarios
from ironcurtain.system.frozen import Json


def run(*, bundle: str | None, scenarios: str | None, format_: str, opa: str | None, **trust: Json) -> Exit:
    """Examine a bundle and print its decision matrix."""
    path = bundle_or_project(bundle)
    read = open_bundle(Path(path), Trust.of(**trust))
    check_rendered(read)
    engine = OpaCommand(find(Path(opa) if opa else None))
    examined = analyse_policy(read, assumed_world(path, scenarios), engine)
    matrix = matrix_of(examined)
    if format_ == "json":
        click.echo(matrix_json(matrix), nl=False)
    elif format_ == "html":
        click.echo(html_page(matrix, _report(examined, assumed_scenarios(path, scenarios), engine)), nl=False)
    else:
        lines = text_lines(matrix) if format_ == "text" else markdown_lines(matrix)
        click.echo("\n".join(lines))
    return Exit.YES


def _report(examined: PolicyAnalysis, tests: Scenarios, engine: OpaCommand) -> ClauseReport:
    from ironcurtain.analysis.clauses.outcomes import clause_report  # noqa: PLC0415 - a tenth of a matrix's time

    return clause_report(examined.bundle, tests, engine, examined)
