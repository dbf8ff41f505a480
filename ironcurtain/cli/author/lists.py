"""`ironcurtain lists`: what named lists hold, and changing them by hand or through MCP servers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ironcurtain.cli.options.options import CONFIG, FORMAT, MAX_COST, MODEL
from ironcurtain.cli.output.results import print_json
from ironcurtain.errors import Exit, ListError, UsageError
from ironcurtain.system.text import counted, printable, quoted, visible

if TYPE_CHECKING:
    from ironcurtain.cli.options.project import Project
    from ironcurtain.compiler.lists.edit import Edited
    from ironcurtain.compiler.lists.resolve import ListContext
    from ironcurtain.model.lists import Lists, NamedList

_TYPE = click.option(
    "--type", "kind", metavar="TYPE", help="For a new list: recipient, domain, repository, or a role's name."
)
_CLAUSE = click.option(
    "--clause", metavar="ID", default="", help="For a new list: the clause that asks for it, as C4."
)
_KEPT = "kept-lists"


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
def show(*, name: str | None, config: str | None, format_: str) -> Exit:
    """Print the list NAME, or all lists: each member, and where it comes from.

    \b
    Example:
      ironcurtain lists show friends

    \b
    Exit: 0 printed, 2 there is no such list, or a file is wrong.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.cli.options.project import read_project

    lists = _lists(read_project(config))
    if name is not None and name not in lists.lists:
        raise ListError(f"there is no list {quoted('@' + name)}")
    shown = {each: found for each, found in lists.lists.items() if name in (None, each)}
    if format_ == "json":
        document = lists.model_copy(update={"lists": shown})
        print_json(document.model_dump(mode="json", exclude_unset=True))
        return Exit.YES
    for each, found in shown.items():
        for line in _shown(each, found):
            click.echo(line)
    return Exit.YES


@command.command()
@click.argument("name")
@click.argument("values", nargs=-1)
@_TYPE
@_CLAUSE
@CONFIG
def add(*, name: str, values: tuple[str, ...], kind: str | None, clause: str, config: str | None) -> Exit:
    """Add VALUES to the list NAME by hand. They stay on it, whatever a refresh finds.

    \b
    Examples:
      ironcurtain lists add friends bob@example.com
      ironcurtain lists add sites --type domain --clause C7 example.com "*.example.org"

    \b
    Exit: 0 added, 2 a value is none of the list's type, or a file is wrong.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.cli.options.project import read_project
    from ironcurtain.compiler.lists.edit import add_values
    from ironcurtain.decision.roles import Registry

    project = read_project(config)
    registry, new = Registry(project.settings.roles), _new(kind, clause)
    if not values and new is None:
        raise UsageError("nothing to add", hint="Name values, or the --type of a new list.")
    return _write(project, add_values(_lists(project), name, values, new, registry))


@command.command()
@click.argument("name")
@click.argument("values", nargs=-1, required=True)
@CONFIG
def remove(*, name: str, values: tuple[str, ...], config: str | None) -> Exit:
    """Remove VALUES from the list NAME by hand. They stay off it, whatever a refresh finds.

    \b
    Example:
      ironcurtain lists remove friends mallory@example.com

    \b
    Exit: 0 removed, 2 there is no such list, or a value is none of its type.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.cli.options.project import read_project
    from ironcurtain.compiler.lists.edit import remove_values
    from ironcurtain.decision.roles import Registry

    project = read_project(config)
    return _write(project, remove_values(_lists(project), name, values, Registry(project.settings.roles)))


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
def refresh(
    *,
    names: tuple[str, ...],
    kind: str | None,
    clause: str,
    config: str | None,
    model: str | None,
    max_cost: float | None,
    confirm: tuple[str, ...],
    ask_again: bool,
    dry_run: bool,
) -> Exit:
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
    from ironcurtain.cli.author.authoring import answer_cache, spending
    from ironcurtain.cli.options.project import read_project
    from ironcurtain.compiler.lists.resolve import refresh as refresh_lists

    project = read_project(config)
    lists = _declared(_lists(project), names, _new(kind, clause), project)
    chosen = names or tuple(name for name, found in lists.lists.items() if found.resolution is not None)
    if not chosen:
        raise UsageError("no list was resolved before", hint="Name the lists to resolve.")
    with spending(max_cost) as ledger:
        cache = answer_cache(project, _KEPT, model, ledger)
        edited = refresh_lists(lists, chosen, _list_context(project, confirm, ask_again=ask_again), cache)
    if dry_run:
        return _say(edited)
    status = _write(project, edited)
    cache.published()
    return status


def _list_context(project: Project, confirm: Sequence[str], *, ask_again: bool) -> ListContext:
    from ironcurtain.cli.author.authoring import project_clauses
    from ironcurtain.cli.run.fetching import say, server_launcher
    from ironcurtain.compiler.lists.resolve import ListContext
    from ironcurtain.decision.comparison import as_annotated
    from ironcurtain.decision.roles import Registry
    from ironcurtain.model.annotations import Annotations
    from ironcurtain.servers.permitted import project_servers
    from ironcurtain.servers.tool_lists.listing import list_tools
    from ironcurtain.servers.tools import left_out
    from ironcurtain.system.files import load

    servers, launcher = project_servers(project.path("servers")), server_launcher()
    file = project.path("output") / "tool-annotations.json"
    annotations = load(file, Annotations) if file.exists() else None
    tools = list_tools(servers, launcher)
    for sentence in left_out(tools):
        say(sentence)
    return ListContext(
        servers=servers,
        tools=as_annotated(tools, annotations) if annotations is not None else tools,
        launcher=launcher,
        annotations=annotations,
        clauses=project_clauses(project),
        registry=Registry(project.settings.roles),
        confirmed=frozenset(confirm),
        ask_again=ask_again,
    )


def _declared(lists: Lists, names: Sequence[str], new: NamedList | None, project: Project) -> Lists:
    """Return the lists with those that are named and new."""
    from ironcurtain.compiler.lists.edit import named_list, with_list
    from ironcurtain.decision.roles import Registry

    registry = Registry(project.settings.roles)
    for name in names:
        lists = with_list(lists, name, named_list(lists, name, new, registry)).lists
    return lists


def _new(kind: str | None, clause: str) -> NamedList | None:
    from ironcurtain.model.lists import NamedList

    return NamedList(type=kind, added=(), removed=(), source=clause) if kind is not None else None


def _lists(project: Project) -> Lists:
    from ironcurtain.compiler.lists.edit import read_lists

    return read_lists(project.path("lists"), project.path("output"))


def _write(project: Project, edited: Edited) -> Exit:
    from ironcurtain.compiler.lists.edit import write_lists

    write_lists(project.path("lists"), edited.lists)
    return _say(edited)


def _say(edited: Edited) -> Exit:
    for line in edited.lines or ("nothing changed",):
        click.echo(printable(line))
    if any(line.startswith(("+ ", "- ")) for line in edited.lines):
        click.echo("The policy holds the lists as they were until the next `ironcurtain compile`.", err=True)
    return Exit.YES


def _shown(name: str, named: NamedList) -> list[str]:
    """Return a list as lines: a heading, then each value with what is known about it."""
    if named.resolution is not None:
        origin = f"resolved through {named.resolution.server}/{visible(named.resolution.tool)}"
    else:
        origin = "kept by hand" if named.added or named.resolved is not None else "not resolved"
    source = f", for {visible(named.source)}" if named.source else ""
    lines = [f"@{name} ({visible(named.type)}{source}; {origin}): {counted(len(named.values), 'member')}"]
    lines += [
        f"  {visible(value)}{'  added by hand' if value in named.added else ''}" for value in named.values
    ]
    return lines + [f"  ({visible(value)}  removed by hand)" for value in named.removed]
