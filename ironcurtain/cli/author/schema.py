"""`ironcurtain schema`: the JSON Schemas of our files and outputs."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.errors import Exit


@click.command()
@click.argument("name", required=False)
@click.option("--write", metavar="DIR", help="Write all of them as DIR/NAME.json.")
def command(**options: object) -> Exit:
    """Print the JSON Schema NAME, or without NAME the names that there are.

    \b
    Example:
      ironcurtain schema decision

    \b
    Exit: 0 printed or written, 2 no such schema, 3 not writable.
    """  # noqa: D301 - click reads the escape
    return lazy.run("author.schema", **options)
