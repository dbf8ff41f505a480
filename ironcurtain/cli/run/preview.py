"""`ironcurtain preview`: see what leaves of an answer."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.errors import Exit


@click.command()
@click.argument("tool", metavar="SERVER__TOOL")
@click.argument("sample", metavar="SAMPLE.json")
@click.option(
    "--tools",
    metavar="FILE",
    required=True,
    help="The module of tools, or an mcp-servers.json with output policies.",
)
def command(**options: object) -> Exit:
    """Filter a sample of a tool's answer by its output policy, with the reason for each value.

    \b
    Example:
      ironcurtain preview desk__get_ticket sample.json --tools tools.py

    \b
    Exit: 0 filtered, 2 wrong options, files or tools, or a sample that
    could never be returned.
    """  # noqa: D301 - click reads the escape
    return lazy.run("run.preview", **options)
