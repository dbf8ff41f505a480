"""`ironcurtain sessions`: the agent sessions on this machine."""

from __future__ import annotations

import click

from ironcurtain.cli.options.options import FORMAT
from ironcurtain.errors import Exit
from ironcurtain.system.text import cut, visible

_TASK = 60


@click.group()
def command() -> None:
    """List, show and remove agent sessions; `ironcurtain start --resume ID` goes on with one.

    \b
    Example:
      ironcurtain sessions list

    \b
    Exit: as each command says.
    """  # noqa: D301 - click reads the escape


@command.command("list")
@FORMAT
def list_(*, format_: str) -> Exit:
    """List the sessions, the latest first.

    \b
    Example:
      ironcurtain sessions list

    \b
    Exit: 0 always.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.session.directory import list_sessions
    from ironcurtain.system import json_text

    records = list_sessions()
    if format_ == "json":
        click.echo(json_text.pretty([record.model_dump(mode="json") for record in records]), nl=False)
        return Exit.YES
    for record in records:
        task = cut(visible(record.task), _TASK)
        click.echo(
            f"{record.id}  {record.begun:%Y-%m-%d %H:%M} UTC  {visible(record.model)}  {task}".rstrip()
        )
    if not records:
        click.echo("no sessions")
    return Exit.YES


@command.command()
@click.argument("id_", metavar="ID")
@FORMAT
def show(*, id_: str, format_: str) -> Exit:
    """Show the session ID: what it is, and its conversation.

    \b
    Example:
      ironcurtain sessions show 3f2a9c01d4e5

    \b
    Exit: 0 shown, 2 there is none of that id, or it is damaged.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.session.directory import SessionDirectory
    from ironcurtain.session.transports.commands import as_markdown
    from ironcurtain.session.transports.display import lines
    from ironcurtain.system import json_text

    record, messages = SessionDirectory.read(id_)
    if format_ == "json":
        click.echo(json_text.pretty(record.model_dump(mode="json")), nl=False)
        return Exit.YES
    click.echo(f"session {record.id}, begun {record.begun:%Y-%m-%d %H:%M} UTC")
    click.echo(f"model {visible(record.model)}, workspace {visible(record.workspace or 'none')}")
    click.echo(f"policy {visible(record.revision)}\n")
    click.echo(lines(as_markdown(tuple(messages))), nl=False)
    return Exit.YES


@command.command()
@click.argument("id_", metavar="ID")
def remove(*, id_: str) -> Exit:
    """Remove the files of the session ID; its audit log stays.

    \b
    Example:
      ironcurtain sessions remove 3f2a9c01d4e5

    \b
    Exit: 0 removed, 2 there is none of that id, 3 a process has it open.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.session.directory import remove_session

    remove_session(id_)
    click.echo(f"removed: session {id_}")
    return Exit.YES
