"""`ironcurtain schema`: the JSON Schemas of our files and outputs."""

from __future__ import annotations

from pathlib import Path

import click

from ironcurtain.errors import Exit
from ironcurtain.files import atomic_write
from ironcurtain.model import jsontext
from ironcurtain.pipeline.schemas import SCHEMAS


@click.command(short_help="Print the JSON Schema of a file or output.")
@click.argument("name", required=False, type=click.Choice(sorted(SCHEMAS)))
@click.option("--write", metavar="DIR", help="Write all of them as DIR/NAME.json.")
def command(*, name: str | None, write: str | None) -> Exit:
    """Print the JSON Schema NAME, or the names that there are.

    \b
    Example:
      ironcurtain schema decision
    """  # noqa: D301 - click reads the escape
    if write is not None:
        for each, make in SCHEMAS.items():
            atomic_write(Path(write) / f"{each}.json", jsontext.pretty(make()).encode())
    elif name is None:
        click.echo("\n".join(sorted(SCHEMAS)))
    else:
        click.echo(jsontext.pretty(SCHEMAS[name]()), nl=False)
    return Exit.YES
