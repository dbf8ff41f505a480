"""`ironcurtain lists`: what named lists hold, and changing them by hand or through MCP servers."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.cli.options.options import CONFIG, FORMAT, MAX_COST, MODEL
from ironcurtain.errors import Exit

_TYPE = click.option(
    "--type", "kind", metavar="TYPE", help="For a new list: recipient, domain, repository, or a role's name."
)
_CLAUSE = click.option(
    "--clause", metavar="ID", default="", help="For a new list: the clause that asks for it, as C4."
)


@click.group()
def command() -> None:
    """Show and change the lists that rules refer to as @name.

    \b
    Example:
      ironcurtain lists add friends --type recipient alice@example.com

    \b
    Exit: 0 done, others as each command says.
    """  # noqa: D301 - click reads the escape


@command.command()
@click.argument("name", required=False)
@CONFIG
@FORMAT
def show(**options: object) -> Exit:
    """Print the list NAME, or all lists: each member, and where it comes from.

    \b
    Example:
      ironcurtain lists show friends

    \b
    Exit: 0 printed, 2 there is no such list, or a file is wrong.
    """  # noqa: D301 - click reads the escape
    return lazy.run("author.lists", "show", **options)


@command.command()
@click.argument("name")
@click.argument("values", nargs=-1)
@_TYPE
@_CLAUSE
@CONFIG
def add(**options: object) -> Exit:
    """Add VALUES to the list NAME by hand. They stay on it, whatever a refresh finds.

    \b
    Examples:
      ironcurtain lists add friends bob@example.com
      ironcurtain lists add sites --type domain --clause C7 example.com "*.example.org"

    \b
    Exit: 0 added, 2 a value is none of the list's type, or a file is wrong.
    """  # noqa: D301 - click reads the escape
    return lazy.run("author.lists", "add", **options)


@command.command()
@click.argument("name")
@click.argument("values", nargs=-1, required=True)
@CONFIG
def remove(**options: object) -> Exit:
    """Remove VALUES from the list NAME by hand. They stay off it, whatever a refresh finds.

    \b
    Example:
      ironcurtain lists remove friends mallory@example.com

    \b
    Exit: 0 removed, 2 there is no such list, or a value is none of its type.
    """  # noqa: D301 - click reads the escape
    return lazy.run("author.lists", "remove", **options)


@command.command()
@click.argument("names", nargs=-1)
@_TYPE
@_CLAUSE
@CONFIG
@MODEL
@MAX_COST
@click.option(
    "--confirm", metavar="SERVER/TOOL", multiple=True, help="You know that this tool only reads; repeatable."
)
@click.option("--ask-again", is_flag=True, help="Choose the tools anew.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and write nothing.")
def refresh(**options: object) -> Exit:
    """Resolve the lists NAMES (default: those that were resolved before) through MCP servers.

    A model, or whoever answers in its place, chooses the tool; the tool is then called, and every
    value checked. Only tools that are annotated to change nothing are called, and those that you
    confirm. Lists of people are taken from what was sent, never from what was received.

    \b
    Example:
      ironcurtain lists refresh known --type recipient --clause C4

    \b
    Exit: 0 refreshed, 2 wrong lists or files, 3 a server or model fails,
    4 a tool has to be confirmed, or a question waits for a person.
    """  # noqa: D301 - click reads the escape
    return lazy.run("author.lists", "refresh", **options)
