"""What the commands of `ironcurtain lists` do."""

from __future__ import annotations

from collections.abc import Sequence

import click

from ironcurtain.cli.author.authoring import answer_book, spending
from ironcurtain.cli.author.constitution import project_clauses
from ironcurtain.cli.options.project import Project, read_project
from ironcurtain.cli.run.connecting import visits
from ironcurtain.compiler.lists.edit import (
    Edited,
    add_values,
    named_list,
    read_lists,
    remove_values,
    with_list,
    write_lists,
)
from ironcurtain.compiler.lists.resolve import ListSite
from ironcurtain.compiler.lists.resolve import refresh as refresh_lists
from ironcurtain.decision.roles import Registry
from ironcurtain.errors import Exit, ListError, UsageError
from ironcurtain.model.annotations import Annotations
from ironcurtain.model.lists import Lists, NamedList
from ironcurtain.servers.config import load_servers
from ironcurtain.servers.listing import list_tools
from ironcurtain.system import json_text
from ironcurtain.system.files import load
from ironcurtain.system.text import counted, printable, quoted, visible

_KEPT = "kept-lists"


def show(*, name: str | None, config: str | None, format_: str) -> Exit:
    """Print one list or all."""
    lists = _lists(read_project(config))
    if name is not None and name not in lists.lists:
        raise ListError(f"there is no list {quoted('@' + name)}")
    shown = {each: found for each, found in lists.lists.items() if name in (None, each)}
    if format_ == "json":
        document = lists.model_copy(update={"lists": shown})
        click.echo(json_text.pretty(document.model_dump(mode="json", exclude_unset=True)), nl=False)
        return Exit.YES
    for each, found in shown.items():
        for line in _shown(each, found):
            click.echo(line)
    return Exit.YES


def add(*, name: str, values: tuple[str, ...], kind: str | None, clause: str, config: str | None) -> Exit:
    """Add members by hand."""
    project = read_project(config)
    registry, new = Registry(project.settings.roles), _new(kind, clause)
    if not values and new is None:
        raise UsageError("nothing to add", hint="Name values, or the --type of a new list.")
    return _write(project, add_values(_lists(project), name, values, new, registry))


def remove(*, name: str, values: tuple[str, ...], config: str | None) -> Exit:
    """Remove members by hand."""
    project = read_project(config)
    return _write(project, remove_values(_lists(project), name, values, Registry(project.settings.roles)))


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
    """Resolve lists through servers."""
    project = read_project(config)
    lists = _declared(_lists(project), names, _new(kind, clause), project)
    chosen = names or tuple(name for name, found in lists.lists.items() if found.resolution is not None)
    if not chosen:
        raise UsageError("no list was resolved before", hint="Name the lists to resolve.")
    with spending(max_cost) as ledger:
        book = answer_book(project, _KEPT, model, ledger)
        edited = refresh_lists(lists, chosen, _site(project, confirm, ask_again=ask_again), book)
    if dry_run:
        return _say(edited)
    status = _write(project, edited)
    book.published()
    return status


def _site(project: Project, confirm: Sequence[str], *, ask_again: bool) -> ListSite:
    servers, starter = load_servers(project.path("servers")), visits()
    annotations = project.path("output") / "tool-annotations.json"
    return ListSite(
        servers=servers,
        tools=list_tools(servers, starter),
        starter=starter,
        annotations=load(annotations, Annotations) if annotations.exists() else None,
        clauses=project_clauses(project),
        registry=Registry(project.settings.roles),
        confirmed=frozenset(confirm),
        ask_again=ask_again,
    )


def _declared(lists: Lists, names: Sequence[str], new: NamedList | None, project: Project) -> Lists:
    """Return the lists with those that are named and new."""
    registry = Registry(project.settings.roles)
    for name in names:
        lists = with_list(lists, name, named_list(lists, name, new, registry)).lists
    return lists


def _new(kind: str | None, clause: str) -> NamedList | None:
    return NamedList(type=kind, added=(), removed=(), source=clause) if kind is not None else None


def _lists(project: Project) -> Lists:
    return read_lists(project.path("lists"), project.path("output"))


def _write(project: Project, edited: Edited) -> Exit:
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
