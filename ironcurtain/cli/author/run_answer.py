"""What `ironcurtain answer` does."""

from __future__ import annotations

from collections.abc import Sequence

import click

from ironcurtain.cli.author.constitution import project_clauses
from ironcurtain.cli.options.project import Project, read_project
from ironcurtain.compiler.llm.question_files import Waiting, keep_previous, waiting_lines, waiting_questions
from ironcurtain.compiler.publish.publish import only_one
from ironcurtain.compiler.questions.open_questions import (
    ANSWERS_FILE,
    OPEN_FILE,
    OpenQuestion,
    WaitingQuestions,
    question_lines,
    read_open,
    record_answer,
    write_open,
)
from ironcurtain.errors import Exit, UsageError
from ironcurtain.model.verdict import Verdict
from ironcurtain.system import json_text
from ironcurtain.system.text import counted, printable, quoted, visible


def run(*, question: str | None, verdict: str | None, why: str, config: str | None, format_: str) -> Exit:
    """List questions or record an answer."""
    project = read_project(config)
    if question is None:
        return _list(project, format_)
    if verdict is None:
        raise UsageError("an answer is missing", hint="Write yes, no, allow, escalate, deny or keep.")
    return _keep(project, question) if verdict == "keep" else _record(project, question, verdict, why)


def _list(project: Project, format_: str) -> Exit:
    directory = project.path("questions")
    questions, files = read_open(directory / OPEN_FILE), waiting_questions(directory)
    waits = bool(questions) or any(not each.answered for each in files)
    if format_ == "json":
        document = WaitingQuestions(questions=questions, files=files).model_dump(mode="json")
        click.echo(json_text.pretty(document), nl=False)
    else:
        clauses = _clauses(project) if questions else {}
        for lines in (*(question_lines(each, clauses) for each in questions), *map(waiting_lines, files)):
            click.echo("\n".join(map(printable, lines)))
        click.echo(_next(questions, files), err=True)
    return Exit.PERSON if waits else Exit.YES


def _next(questions: Sequence[OpenQuestion], files: Sequence[Waiting]) -> str:
    if questions:
        return "next: `ironcurtain answer ID yes|no` for each, then `ironcurtain compile`"
    if any(not each.answered for each in files):
        return "next: put each answer beside its question, then `ironcurtain compile`"
    return "next: `ironcurtain compile`" if files else "no question is open"


def _keep(project: Project, key: str) -> Exit:
    with only_one(project.path("output")):
        answer = keep_previous(project.path("questions"), key)
    click.echo(f"{visible(key)}: the last answer again, in {visible(answer.name)}")
    return Exit.YES


def _record(project: Project, id_: str, said: str, why: str) -> Exit:
    # A compile that runs at the same time would read one file and write the other.
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
    return {"yes": question.yes, "no": question.no}.get(said) or Verdict(said)


def _clauses(project: Project) -> dict[str, str]:
    return {placed.clause.id: placed.clause.text for placed in project_clauses(project)}
