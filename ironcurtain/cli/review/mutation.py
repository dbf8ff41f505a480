"""`ironcurtain mutation`: whether a policy's scenarios, guarantees and tests would notice a change."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.cli.options.bundle_argument import bundle_argument
from ironcurtain.cli.options.options import CONFIG, FORMAT, OPA, Number, trust_options
from ironcurtain.errors import Exit


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
def command(**options: object) -> Exit:
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
    return lazy.run("review.mutation", **options)
