"""`ironcurtain coverage`: what of a policy its scenarios and guarantees reach."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.cli.options.bundle_argument import bundle_argument
from ironcurtain.cli.options.options import CONFIG, FORMAT, OPA, QUIET, SCENARIOS, Number, trust_options
from ironcurtain.errors import Exit


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
def command(**options: object) -> Exit:
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
    return lazy.run("review.coverage", **options)
