"""`ironcurtain status`: which proxies run, and how they are."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.cli.options.options import FORMAT
from ironcurtain.errors import Exit


@click.command()
@FORMAT
def command(**options: object) -> Exit:
    """Show your running proxies: servers, hidden tools, policy, and calls that wait for approval.

    \b
    Example:
      ironcurtain status --format json

    \b
    Exit: 0 a proxy runs, 1 none does.
    """  # noqa: D301 - click reads the escape
    return lazy.run("run.status", **options)
