"""`ironcurtain answer`: what a compile waits for, and answers to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ironcurtain.cli.options.options import CONFIG, FORMAT
from ironcurtain.cli.output.results import print_json
from ironcurtain.errors import Exit, UsageError
from ironcurtain.system.text import counted, printable, quoted, visible

if TYPE_CHECKING:
    from ironcurtain.cli.options.project import Project
    from ironcurtain.compiler.llm.question_files import Waiting
    from ironcurtain.compiler.questions.open_questions import OpenQuestion
    from ironcurtain.model.verdict import Verdict

_VERDICTS = ["yes", "no", "allow", "escalate", "deny", "keep"]


@click.command()
@click.argument("question", required=False)
@click.argument(
    "verdict", required=False, type=click.Choice(["yes", "no", "allow", "escalate", "deny", "keep"])
)
@click.option("--why", metavar="TEXT", default="", help="Your reason, kept with the answer.")
@CONFIG
@FORMAT
def command(*, question: str | None, verdict: str | None, why: str, config: str | None, format_: str) -> Exit:
    """List the open questions of a compile, or answer one: QUESTION is its id.

    For a question about a call, VERDICT is the verdict that the call must get. The answer is written to
    answers.yaml next to the scenarios and binds like them: no policy that decides the call differently is
    published.

    A question in a file is answered by a file next to it; a chat's reply can be saved there unchanged. If it
    was answered before and a clause was edited since, `keep` repeats the last answer.

    \b
    Examples:
      ironcurtain answer
      ironcurtain answer q1f09c3d2 no --why "Only people in the team"
      ironcurtain answer rules-git keep

    \b
    Exit: 0 recorded, or nothing is open; 2 no such question or a wrong file; 4 questions are open.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.cli.options.project import read_project

    project = read_project(config)
    if question is None:
        return _list(project, format_)
    if verdict is None:
        raise UsageError("an answer is missing", hint="Write yes, no, allow, escalate, deny or keep.")
    return _keep(project, question) if verdict == "keep" else _record(project, question, verdict, why)


def _list(project: Project, format_: str) -> Exit:
    from ironcurtain.compiler.llm.question_files import waiting_lines, waiting_questions
    from ironcurtain.compiler.questions.open_questions import (
        OPEN_FILE,
        Known,
        WaitingQuestions,
        question_lines,
        read_open,
    )

    directory = project.path("questions")
    questions, files = read_open(directory / OPEN_FILE), waiting_questions(directory)
    waits = bool(questions) or any(not each.answered for each in files)
    if format_ == "json":
        document = WaitingQuestions(questions=questions, files=files).model_dump(mode="json")
        print_json(document)
    else:
        known = Known(_clauses(project) if questions else {}, project.settings.caller)
        for lines in (*(question_lines(each, known) for each in questions), *map(waiting_lines, files)):
            click.echo("\n".join(map(printable, lines)))
        click.echo(_next(questions, files), err=True)
    return Exit.NEEDS_APPROVAL if waits else Exit.YES


def _next(questions: Sequence[OpenQuestion], files: Sequence[Waiting]) -> str:
    if questions:
        return "next: `ironcurtain answer ID yes|no` for each, then `ironcurtain compile`"
    if any(not each.answered for each in files):
        return "next: put each answer beside its question, then `ironcurtain compile`"
    return "next: `ironcurtain compile`" if files else "no question is open"


def _keep(project: Project, key: str) -> Exit:
    from ironcurtain.compiler.llm.question_files import keep_previous
    from ironcurtain.compiler.publish.publish import only_one

    with only_one(project.path("output")):
        answer = keep_previous(project.path("questions"), key)
    click.echo(f"{visible(key)}: the last answer again, in {visible(answer.name)}")
    return Exit.YES


def _record(project: Project, id_: str, said: str, why: str) -> Exit:
    # A compile that runs at the same time would read one file and write the other.
    from ironcurtain.compiler.load.sources import ANSWERS_FILE
    from ironcurtain.compiler.publish.publish import only_one
    from ironcurtain.compiler.questions.open_questions import (
        OPEN_FILE,
        read_open,
        record_answer,
        write_open,
    )

    with only_one(project.path("output")):
        open_file = project.path("questions") / OPEN_FILE
        questions = read_open(open_file)
        asked = next((each for each in questions if each.id == id_), None)
        if asked is None:
            raise UsageError(
                f"there is no open question {quoted(id_)}", hint="`ironcurtain answer` lists them."
            )
        verdict = _verdict(asked, said)
        path = project.path("scenarios").with_name(ANSWERS_FILE)
        answer = record_answer(path, asked, verdict, why)
        write_open(open_file, [each for each in questions if each.id != id_])
    left = len(questions) - 1
    click.echo(f"{answer.id}: {verdict}, kept in {path.name}")
    click.echo(
        f"{counted(left, 'question is', 'questions are')} open"
        if left
        else "now `ironcurtain compile` again",
        err=True,
    )
    return Exit.YES


def _verdict(question: OpenQuestion, said: str) -> Verdict:
    from ironcurtain.model.verdict import Verdict

    return {"yes": question.yes, "no": question.no}.get(said) or Verdict(said)


def _clauses(project: Project) -> dict[str, str]:
    from ironcurtain.cli.author.authoring import project_clauses

    return {placed.clause.id: placed.clause.text for placed in project_clauses(project)}
