"""`ironcurtain forecast`: how often a policy will ask people, and the rule that would spare most of it."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.cli.options.bundle_argument import bundle_argument
from ironcurtain.cli.options.options import FORMAT, OPA, Number, trust_options
from ironcurtain.errors import Exit


@click.command()
@bundle_argument()
@click.option("--profile", metavar="FILE", help="Calls that an agent makes (docs/forecast.md).")
@click.option(
    "--audit", metavar="LOG", multiple=True, help="An audit log, by file or session; one session; repeatable."
)
@click.option("--budget", type=Number(min=0), metavar="N", help="At most N approvals a session.")
@click.option("--no-suggestion", is_flag=True, help="Look for no rule that would spare approvals.")
@click.option(
    "--scenarios",
    metavar="FILE",
    help="With --profile: assume the world of FILE (default: test-scenarios.json beside the bundle).",
)
@click.option("--sandbox", metavar="DIR", help="With --audit: the sandbox of the recorded sessions.")
@click.option("--home", metavar="DIR", help="With --audit: the home of the recorded sessions.")
@click.option("--directory", metavar="DIR", help="Where logs lie by name (default: ~/.ironcurtain/audit).")
@click.option("--key", metavar="FILE", help="The logs' key; logs that hold no values need it.")
@trust_options
@OPA
@FORMAT
def command(**options: object) -> Exit:
    """Estimate how many approvals a session needs, by clause.

    \b
    Example:
      ironcurtain forecast --profile profile.yaml --budget 3

    \b
    Exit: 0 within the budget, or there is none, 1 over it, 2 wrong options or files,
    3 it cannot be told: too much is unknown, a log is not intact, no engine.
    """  # noqa: D301 - click reads the escape
    return lazy.run("review.forecast", **options)
