"""`ironcurtain customize`: from a wish to edits of the user's own guidance."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ironcurtain.cli.options.options import CONFIG, MAX_COST, MODEL
from ironcurtain.errors import Exit, OpenQuestionError, UsageError
from ironcurtain.system.text import printable, visible

if TYPE_CHECKING:
    from ironcurtain.cli.options.project import Project
    from ironcurtain.compiler.load.clauses import PlacedClause
    from ironcurtain.compiler.load.customize import GuidanceProposal
    from ironcurtain.compiler.questions.answers import AnswerCache

_KEPT = "kept-customize"
_MAX_TURNS = 5


@click.command()
@click.argument("wish", nargs=-1)
@CONFIG
@MODEL
@MAX_COST
@click.option("-y", "--yes", is_flag=True, help="Write the change without asking.")
@click.option("--dry-run", is_flag=True, help="Show the change and write nothing.")
def command(
    *,
    wish: tuple[str, ...],
    config: str | None,
    model: str | None,
    max_cost: float | None,
    yes: bool,
    dry_run: bool,
) -> Exit:
    """Edit your own guidance: WISH says in your own words what should change.

    Your guidance (constitution-user.md) takes precedence over the constitution. The change is shown
    as a diff and written only when you confirm it. On a terminal you can omit WISH and are asked for it.

    \b
    Example:
      ironcurtain customize "never send mail to the press without asking me"

    \b
    Exit: 0 written, or nothing to change, 1 you declined, 2 wrong options or files,
    3 the model fails, 4 a question waits for a person.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.cli.author.authoring import answer_cache, project_clauses, spending
    from ironcurtain.cli.options.project import read_project
    from ironcurtain.system import terminal
    from ironcurtain.system.files import atomic_write

    if not terminal.is_there() and not (yes or dry_run):
        raise UsageError(
            "there is no terminal to confirm the change on", hint="Add --yes, or --dry-run to see it."
        )
    if not wish and not terminal.is_there():
        raise UsageError("there is no wish", hint="Say it: ironcurtain customize 'WISH'.")
    project = read_project(config)
    base = project_clauses(project, own=False)
    file = project.own_guidance
    existing = _existing(file)
    said = " ".join(wish) or click.prompt("What shall change?", err=True)
    with spending(max_cost) as ledger:
        cache = answer_cache(project, _KEPT, model, ledger)
        proposed = _converse(base, existing, file.name, said, cache)
    if proposed.remark:
        click.echo(printable(proposed.remark), err=True)
    for finding in proposed.findings:
        click.echo(printable(finding.line), err=True)
    if not proposed.difference:
        click.echo("nothing to change", err=True)
        return Exit.YES
    click.echo(printable_lines(proposed.difference))
    if dry_run:
        return Exit.YES
    if not yes and not click.confirm("Write this?", default=False, err=True):
        return Exit.NO
    atomic_write(file, proposed.text.encode(), mode=0o600)
    cache.published()
    _say_what_reads_it(project, file)
    return Exit.YES


def printable_lines(text: str) -> str:
    """Return several lines, each safe to show."""
    return "\n".join(printable(line) for line in text.split("\n"))


def _converse(
    base: tuple[PlacedClause, ...], own: str, source: str, said: str, cache: AnswerCache
) -> GuidanceProposal:
    """Ask until there are edits, passing questions on to the person where there is a terminal."""
    from ironcurtain.compiler.load.customize import ConversationTurn, customize_question, proposal
    from ironcurtain.system import terminal

    conversation = [ConversationTurn(who="person", said=said)]
    for _ in range(_MAX_TURNS):
        (answer,) = cache.ask([customize_question(base, own, source, conversation)])
        proposed = proposal(answer.content, own, source)
        if not proposed.question:
            return proposed
        if not terminal.is_there():
            break
        reply = click.prompt(printable(proposed.question), err=True)
        conversation += [
            ConversationTurn(who="helper", said=proposed.question),
            ConversationTurn(who="person", said=reply),
        ]
    raise OpenQuestionError(proposed.question, hint="Say it in the wish, and run the command again.")


def _existing(file: Path) -> str:
    from ironcurtain.compiler.load.sources import MAX_CONSTITUTION_BYTES
    from ironcurtain.system.files import read_text

    if not file.exists() or file.stat().st_size == 0:
        return ""
    return read_text(file, max_bytes=MAX_CONSTITUTION_BYTES)


def _say_what_reads_it(project: Project, file: Path) -> None:
    click.echo(f"wrote {visible(str(file))}", err=True)
    if not project.reads_own_guidance:
        setting = "Put `user_constitution = true` into ironcurtain.toml."
        click.echo(f"No compile of this project reads it yet. {setting}", err=True)
    else:
        click.echo("It takes effect with the next `ironcurtain compile`.", err=True)
