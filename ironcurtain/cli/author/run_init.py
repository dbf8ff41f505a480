"""What `ironcurtain init` does."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from ironcurtain.compiler.load.init import SCHEMAS, SERVERS, init
from ironcurtain.errors import Exit
from ironcurtain.system.text import counted, visible


def run(*, directory: str, quiet: bool) -> Exit:
    """Write the starter files and name the next commands."""
    done = init(Path(directory))
    if quiet:
        return Exit.YES
    for name in done.written:
        click.echo(f"wrote  {visible(str(Path(directory) / name))}")
    if done.schemas:
        place = visible(str(Path(directory) / SCHEMAS))
        many = counted(done.schemas, "JSON Schema")
        click.echo(f"wrote  {place} ({many}, by which an editor checks what you type)")
    for name in done.kept:
        click.echo(f"kept   {visible(str(Path(directory) / name))}")
    if done.servers:
        click.echo(f"\nThe new files are about the servers of {SERVERS}: {', '.join(done.servers)}.")
        click.echo("Say in the constitution what the agent may do with them; until then a person is asked.")
    click.echo("\nNext:")
    if directory != ".":
        click.echo(f"  cd {shlex.quote(visible(directory))}")
    width = max(len(command) for command, _ in done.next)
    for command, purpose in done.next:
        click.echo(f"  {command.ljust(width)}  # {purpose}")
    return Exit.YES
