"""`ironcurtain schema`: the JSON Schemas of our files and outputs."""

from __future__ import annotations

from pathlib import Path

import click

from ironcurtain.cli.output.results import print_json
from ironcurtain.errors import Exit, UsageError
from ironcurtain.system.text import quoted


@click.command()
@click.argument("name", required=False)
@click.option("--write", metavar="DIR", help="Write all of them as DIR/NAME.json.")
def command(*, name: str | None, write: str | None) -> Exit:
    """Print the JSON Schema NAME, or without NAME the names that there are.

    \b
    Example:
      ironcurtain schema decision

    \b
    Exit: 0 printed or written, 2 no such schema, 3 not writable.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.cli.output.schemas import SCHEMAS
    from ironcurtain.system import json_text
    from ironcurtain.system.files import atomic_write

    names = sorted(SCHEMAS)
    if name is not None and name not in SCHEMAS:
        raise UsageError(f"there is no schema {quoted(name)}", hint=f"There are: {', '.join(names)}.")
    if write is not None:
        for each in names:
            atomic_write(Path(write) / f"{each}.json", json_text.pretty(SCHEMAS[each]()).encode())
    elif name is None:
        click.echo("\n".join(names))
    else:
        print_json(SCHEMAS[name]())
    return Exit.YES
