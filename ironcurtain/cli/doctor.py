"""`ironcurtain doctor`: why something does not work, and what mends it."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.cli.options import CONFIG, FORMAT, OPA
from ironcurtain.errors import Exit


@click.command()
@CONFIG
@click.option("--bundle", metavar="B", help="Bundle directory or .tar.gz (default: the project's).")
@click.option("--servers", metavar="FILE", help="The servers' configuration (default: the project's).")
@click.option("--sandbox", metavar="DIR", help="The session's working directory.")
@click.option("--verify-key", metavar="FILE", help="Public key that the bundle has to be signed with.")
@click.option(
    "--client",
    "clients",
    metavar="NAME|FILE",
    multiple=True,
    help="A client that has to be wrapped (default: look at all); repeatable.",
)
@click.option(
    "--timeout", type=click.FloatRange(1), default=30.0, show_default=True, help="Seconds for each server."
)
@OPA
@FORMAT
def command(**options: object) -> Exit:
    """Look at every part and say what does not work, each with what mends it.

    Looks at Python and its packages, OPA, the bundle (revision, signature, rules), the servers (they are
    started), drift, the sandbox's programs, approvals, audit logs, keys, the clients' configurations, and
    lets an engine decide one call. Changes nothing, and asks no network and no model.

    \b
    Examples:
      ironcurtain doctor
      ironcurtain doctor --client claude-code --format json

    \b
    Exit: 0 all is well or only warns, 1 something fails, 2 wrong options or settings.
    """  # noqa: D301 - click reads the escape
    return lazy.run("doctor", **options)
