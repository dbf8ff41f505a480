"""`ironcurtain matrix`: what a policy decides, tool by tool, proven by evaluating every case in OPA."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import click

from ironcurtain.cli.options.bundle_argument import bundle_argument
from ironcurtain.cli.options.options import OPA, WORLD, TrustOptions, format_option, trust_options
from ironcurtain.errors import Exit

if TYPE_CHECKING:
    from ironcurtain.analysis.clauses.report import ClauseReport
    from ironcurtain.analysis.engine.policy_analysis import PolicyAnalysis
    from ironcurtain.engine.command import OpaCommand
    from ironcurtain.model.scenarios import Scenarios


@click.command()
@bundle_argument()
@WORLD
@format_option("text", "json", "markdown", "html", text="How to print the matrix.")
@trust_options
@OPA
def command(
    *, bundle: str | None, scenarios: str | None, format_: str, opa: str | None, **trust: Unpack[TrustOptions]
) -> Exit:
    """Print what a policy decides about every tool, role and place.

    \b
    Example:
      ironcurtain matrix --format html > matrix.html

    \b
    Exit: 0 printed, 1 the bundle's Rego is not what its rules say,
    2 wrong options or files, or a policy that is too large to examine,
    3 the bundle is corrupt or the engine gives no answer.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.analysis.engine.policy_analysis import analyse_policy
    from ironcurtain.analysis.matrix.html import html_page
    from ironcurtain.analysis.matrix.matrix import matrix_json, matrix_of
    from ironcurtain.analysis.matrix.text import markdown_lines, text_lines
    from ironcurtain.cli.review.policy_argument import (
        assumed_scenarios,
        assumed_world,
        bundle_or_project,
        opa_command,
        read_rendered,
    )

    path = bundle_or_project(bundle)
    read = read_rendered(path, **trust)
    engine = opa_command(opa)
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
    from ironcurtain.analysis.clauses.outcomes import clause_report

    return clause_report(examined.bundle, tests, engine, examined)
