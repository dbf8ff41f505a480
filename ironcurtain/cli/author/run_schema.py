"""What `ironcurtain schema` does."""

from __future__ import annotations

from pathlib import Path

import click

from ironcurtain.errors import Exit, UsageError
from ironcurtain.integrations.schemas import SCHEMAS
from ironcurtain.system import json_text
from ironcurtain.system.files import atomic_write
from ironcurtain.system.text import quoted


def run(*, name: str | None, write: str | None) -> Exit:
    """Print a schema or the names of all, or write all."""
    names = sorted(SCHEMAS)
    if name is not None and name not in SCHEMAS:
        raise UsageError(f"there is no schema {quoted(name)}", hint=f"There are: {', '.join(names)}.")
    if write is not None:
        for each in names:
            atomic_write(Path(write) / f"{each}.json", json_text.pretty(SCHEMAS[each]()).encode())
    elif name is None:
        click.echo("\n".join(names))
    else:
        click.echo(json_text.pretty(SCHEMAS[name]()), nl=False)
    return Exit.YES
