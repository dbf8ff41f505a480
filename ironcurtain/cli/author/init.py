"""`ironcurtain init`: the files of a new project."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.cli.options.options import QUIET
from ironcurtain.errors import Exit


@click.command()
@click.argument("directory", default=".", metavar="[DIR]")
@QUIET
def command(**options: object) -> Exit:
    """Write a first constitution, servers, scenarios, settings and a CI script into DIR.

    Works offline and never overwrites: what is there stays as it is. Where DIR has an mcp-servers.json,
    the constitution and the scenarios are about its servers.

    \b
    Example:
      ironcurtain init my-agent

    \b
    Exit: 0 the files are there, 2 DIR cannot be one, or its mcp-servers.json is wrong.
    """  # noqa: D301 - click reads the escape
    return lazy.run("author.init", **options)
