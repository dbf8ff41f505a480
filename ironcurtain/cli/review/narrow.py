"""`ironcurtain narrow`: each tool's input schema, reduced to what the policy could permit."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.cli.options.bundle_argument import bundle_argument
from ironcurtain.cli.options.options import FORMAT, OPA, WORLD, trust_options
from ironcurtain.errors import Exit


@click.command()
@bundle_argument("server", "tool", shown="[SERVER [TOOL]]", needed="any")
@WORLD
@click.option("--home", metavar="DIR", help="The home directory to assume instead.")
@click.option("--sandbox", metavar="DIR", help="The sandbox to assume instead.")
@FORMAT
@trust_options
@OPA
def command(**options: object) -> Exit:
    """Print what of each tool a policy could allow or escalate.

    With SERVER and TOOL, print that tool alone. A call that is denied may still fit the narrowed schema; one
    that is allowed or escalated always does. `--format json` holds the whole schemas.

    \b
    Example:
      ironcurtain narrow filesystem move_file

    \b
    Exit: 0 printed, 1 the bundle's Rego is not what its rules say,
    2 wrong options or files, 3 the bundle is corrupt or the engine
    gives no answer.
    """  # noqa: D301 - click reads the escape
    return lazy.run("review.narrow", **options)
