"""`ironcurtain verify`: the gate; all evidence about a bundle, without a model or a network."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.cli.options.bundle_argument import bundle_argument
from ironcurtain.cli.options.options import OPA, QUIET, Number, trust_options
from ironcurtain.cli.review.gate_options import APPROVALS, OUTPUT, REPORT_FORMAT, SETTINGS
from ironcurtain.errors import Exit

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
def command(**options: object) -> Exit:
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
    return lazy.run("review.verify", **options)
