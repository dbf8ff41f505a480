"""`ironcurtain init`: the files of a new project."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from ironcurtain.cli.options.options import QUIET
from ironcurtain.errors import Exit
from ironcurtain.system.text import counted, visible


@click.command()
@click.argument("directory", default=".", metavar="[DIR]")
@QUIET
def command(*, directory: str, quiet: bool) -> Exit:
    """Write a first constitution, servers, scenarios, settings and a CI script into DIR.

    Works offline and never overwrites: what is there stays as it is. Where DIR has an mcp-servers.json,
    the constitution and the scenarios are about its servers.

    \b
    Example:
      ironcurtain init my-agent

    \b
    Exit: 0 the files are there, 2 DIR cannot be one, or its mcp-servers.json is wrong.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.compiler.load.init import SCHEMAS, SERVERS, init

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
