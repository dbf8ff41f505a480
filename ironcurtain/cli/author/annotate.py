"""`ironcurtain annotate`: what each argument of each tool is, and what a person should know about it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ironcurtain.cli.options.options import CONFIG, FORMAT, MAX_COST, MODEL
from ironcurtain.cli.output.results import print_json
from ironcurtain.errors import Exit
from ironcurtain.system.text import printable, visible

if TYPE_CHECKING:
    from ironcurtain.cli.options.project import Project
    from ironcurtain.compiler.annotate.annotate import Annotated
    from ironcurtain.compiler.annotate.confirmations import Confirmations
    from ironcurtain.compiler.llm.ledger import Ledger
    from ironcurtain.compiler.questions.answers import AnswerCache
    from ironcurtain.model.annotations import Annotations, Argument, ToolAnnotation, When
    from ironcurtain.servers.tools import Tools


@click.command()
@click.argument("servers", nargs=-1)
@CONFIG
@MODEL
@MAX_COST
@click.option("--locked", is_flag=True, help="Use kept answers only; fail where one is missing.")
@click.option("--saved-tools", is_flag=True, help="Prefer saved tool lists over live servers.")
@FORMAT
def command(
    *,
    servers: tuple[str, ...],
    config: str | None,
    model: str | None,
    max_cost: float | None,
    locked: bool,
    saved_tools: bool,
    format_: str,
) -> Exit:
    """Annotate the tools of SERVERS, or of all servers, and print the annotations.

    Only tools without a kept answer are asked about. Nothing is published; the answers are kept for the
    next compile. What stands out goes to stderr: texts that address the model, tools that changed,
    arguments that hold a language. With --format json the output is an annotations file, as
    `ironcurtain bundle` reads it.

    \b
    Examples:
      ironcurtain annotate
      ironcurtain annotate github --format json > tool-annotations.json

    \b
    Exit: 0 printed, 2 wrong settings or files, 3 a server or model fails, 4 a person must answer or
    confirm.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.cli.author.authoring import spending
    from ironcurtain.cli.options.project import read_project
    from ironcurtain.cli.run.fetching import say, server_launcher
    from ironcurtain.servers.permitted import project_servers
    from ironcurtain.servers.tool_lists.recorded import list_or_recorded

    project = read_project(config)
    tools = list_or_recorded(
        project_servers(project.path("servers")),
        server_launcher(),
        project.path("output"),
        say,
        only=servers or None,
        saved=saved_tools,
    )
    with spending(max_cost) as ledger:
        annotated = annotate_tools(project, tools, model, ledger, locked=locked)
    if format_ == "json":
        document = annotated.annotations.model_dump(mode="json", by_alias=True, exclude_unset=True)
        print_json(document)
        return Exit.YES
    for line in annotation_lines(annotated.annotations):
        click.echo(printable(line))
    return Exit.YES


def annotate_tools(
    project: Project, tools: Tools, model: str | None, ledger: Ledger, *, locked: bool = False
) -> Annotated:
    """Annotate the tools of some servers as a compile would, and say on stderr what stands out.

    Raises:
        IronCurtainError: As `annotate`.
    """
    from ironcurtain.compiler.annotate.annotate import annotate
    from ironcurtain.compiler.annotate.known import shipped_collection
    from ironcurtain.servers.declared import declared_annotations
    from ironcurtain.servers.permitted import project_servers

    confirmations = _confirmations(project.path("confirmations"), set(tools))
    annotated = annotate(
        confirmations.settled(tools),
        project.settings.roles,
        confirmations,
        _book(project, model, ledger, locked=locked),
        previous=_previous(project.path("output"), set(tools)),
        known=shipped_collection(),
        declared=declared_annotations(project_servers(project.path("servers"))),
    )
    told = [line for note in annotated.notes for line in f"finding: {note}".splitlines()]
    for line in (*told, *(line for proposal in annotated.proposals for line in proposal.lines)):
        click.echo(printable(line), err=True)
    return annotated


def _book(project: Project, model: str | None, ledger: Ledger, *, locked: bool) -> AnswerCache:
    """Return the same book as a compile's, so that it finds the answers given here."""
    from ironcurtain.compiler.llm.providers.choose import provider_for
    from ironcurtain.compiler.questions.answers import AnswerCache

    questions = project.path("questions")
    chosen = model or project.settings.model
    provider = None if locked else lambda: provider_for(chosen, questions=questions, ledger=ledger)
    return AnswerCache(project.path("output") / "answers", questions / "kept", provider)


def _confirmations(path: Path, servers: set[str]) -> Confirmations:
    from ironcurtain.compiler.annotate.confirmations import Confirmations
    from ironcurtain.system.files import has_content, load

    confirmations = load(path, Confirmations) if has_content(path) else Confirmations()
    about = tuple(entry for entry in confirmations.confirmed if entry.server in servers)
    return confirmations.model_copy(update={"confirmed": about})


def _previous(output: Path, servers: set[str]) -> Annotations | None:
    from ironcurtain.compiler.annotate.changes import published_annotations

    found = published_annotations(output)
    if found is None:
        return None
    kept = {server: annotated for server, annotated in found.servers.items() if server in servers}
    return found.model_copy(update={"servers": kept})


def annotation_lines(annotations: Annotations) -> Iterator[str]:
    """Yield what each tool does and what its arguments are, as people read it."""
    for server, annotated in annotations.servers.items():
        for tool in annotated.tools:
            yield f"{server} {visible(tool.tool)}: {_effects(tool)}"
            yield from (f"    {visible(argument.name)}: {_roles(argument)}" for argument in tool.args)
            for composite in tool.composites:
                yield f"    {visible(composite.with_.join(composite.join))}: {composite.role}"
            if tool.comment:
                yield f"    # {visible(tool.comment)}"


def _effects(tool: ToolAnnotation) -> str:
    effects = "side effects" if tool.side_effects else "no side effects"
    return f"{effects}, contained" if tool.contained else effects


def _roles(argument: Argument) -> str:
    from ironcurtain.compiler.annotate.changes import FLAGS, MEANINGS

    roles = ", ".join(argument.possible_roles)
    for branch in argument.conditional.when if argument.conditional else ():
        roles += f"; {_shown_branch(branch)}"
    flags = [flag for flag in FLAGS if getattr(argument, flag)]
    flags += [f"{key} {visible(getattr(argument, key))}" for key in MEANINGS if getattr(argument, key)]
    return f"{roles} ({', '.join(flags)})" if flags else roles


def _shown_branch(branch: When) -> str:
    """Say a branch in words: `if mode in ["list"]: read-path`."""
    from ironcurtain.system import json_text

    test = branch.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude={"arg", "roles"})
    ((word, value),) = test.items()
    return f"if {visible(branch.arg)} {word} {json_text.shown(value)}: {', '.join(branch.roles)}"
