"""`ironcurtain replay`: what recorded calls would be decided under another bundle."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.cli.options.bundle_argument import bundle_argument
from ironcurtain.cli.options.options import FORMAT, OPA, trust_options
from ironcurtain.errors import Exit


@click.command()
@bundle_argument("log", shown="AUDIT")
@click.option("--sandbox", metavar="DIR", help="The sandbox of the recorded session.")
@click.option("--home", metavar="DIR", help="The home of the recorded session (default: yours).")
@click.option("--directory", metavar="DIR", help="Where logs lie by name (default: ~/.ironcurtain/audit).")
@click.option("--head", metavar="FILE", help="The log's head (default: below heads/ beside it).")
@click.option("--key", metavar="FILE", help="The log's key; a log that holds no values needs it.")
@trust_options
@OPA
@FORMAT
def command(**options: object) -> Exit:
    """Decide the calls of an audit log again under another bundle, and group changes by clause.

    AUDIT is a log's file or the name of a session. If a record does not hold
    enough to decide the call, its result is unknown.

    \b
    Example:
      ironcurtain replay --sandbox work work

    \b
    Exit: 0 nothing flips, 1 something does, 2 wrong options or files,
    3 it cannot be told: something is unknown, the log is not intact, no engine.
    """  # noqa: D301 - click reads the escape
    return lazy.run("review.replay", **options)
