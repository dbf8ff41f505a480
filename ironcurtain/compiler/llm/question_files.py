"""The files of questions that a person answers: what stands in them, and which of them wait.

Of a question `KEY` there are `KEY.md` (to read, or to paste into a chat), `KEY.json` (the same as data),
`KEY.previous.json` (the last answer to an earlier form, if there is one), and `KEY.answer.json`, which the
person writes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field

from ironcurtain.compiler.llm.question import Earlier
from ironcurtain.errors import IronCurtainError, UsageError
from ironcurtain.system.files import atomic_write, load
from ironcurtain.system.frozen import Digest, Frozen
from ironcurtain.system.text import quoted

QUESTION, READABLE, PREVIOUS, ANSWER = ".json", ".md", ".previous.json", ".answer.json"


class AskedFile(BaseModel):
    """What `KEY.json` says of its question, beside the prompt and the schema.

    Attributes:
        about: What is asked, in a few words.
        told: As `Question.told`.
        earlier: The last answer to an earlier form of the question.
        changes: What changed since, as the lines of a difference.
        fits: Whether the last answer is valid for the question as it is now.
        parts: As `Question.parts`.
    """

    format: Literal["ironcurtain/question/v1"]
    digest: Digest
    about: str = ""
    told: dict[str, str] = Field(default_factory=dict)
    earlier: Earlier | None = None
    changes: tuple[str, ...] = ()
    fits: bool = False
    parts: tuple[Digest, ...] = ()


class Waiting(Frozen):
    """A question in a file, as `ironcurtain answer` lists it.

    Attributes:
        key: What `ironcurtain answer KEY keep` is told.
        about: What is asked, in a few words.
        question: The file to read.
        answer: The file to write.
        previous: The file with the last answer, named for the clauses as they are now.
        changes: What changed since the last answer, as the lines of a difference.
        keeps: Whether the last answer is valid for the question as it is now.
        answered: Whether an answer lies there, which the next compile reads.
    """

    key: str
    about: str
    question: str
    answer: str
    previous: str | None = None
    changes: tuple[str, ...] = ()
    keeps: bool = False
    answered: bool = False


def file_of(directory: Path, key: str, suffix: str) -> Path:
    """Return the place of one of a question's files."""
    return directory / f"{key}{suffix}"


def asked_files(directory: Path) -> dict[str, AskedFile]:
    """Return what is asked in a directory, by key; other files in it are passed over."""
    found: dict[str, AskedFile] = {}
    for path in sorted(directory.glob(f"*{QUESTION}")) if directory.is_dir() else []:
        if path.name.endswith((PREVIOUS, ANSWER)):
            continue
        try:
            found[path.name.removesuffix(QUESTION)] = load(path, AskedFile)
        except IronCurtainError:
            continue
    return found


def waiting_questions(directory: Path) -> tuple[Waiting, ...]:
    """Return the questions that lie in a directory, by key, answered or not."""
    return tuple(
        waiting_question(directory, key, asked)
        for key, asked in asked_files(directory).items()
        if file_of(directory, key, READABLE).exists()
    )


def waiting_question(directory: Path, key: str, asked: AskedFile) -> Waiting:
    """Return one question of a directory."""
    previous = file_of(directory, key, PREVIOUS)
    return Waiting(
        key=key,
        about=asked.about,
        question=str(file_of(directory, key, READABLE)),
        answer=str(file_of(directory, key, ANSWER)),
        previous=str(previous) if previous.exists() else None,
        changes=asked.changes,
        keeps=asked.fits,
        answered=file_of(directory, key, ANSWER).exists(),
    )


def keep_previous(directory: Path, key: str) -> Path:
    """Give the last answer to an earlier form of a question again, and return the file that holds it.

    Raises:
        UsageError: If no such question waits, it is answered already, or has no earlier answer.
    """
    answer, previous = file_of(directory, key, ANSWER), file_of(directory, key, PREVIOUS)
    if key not in {waiting.key for waiting in waiting_questions(directory)}:
        raise UsageError(f"no question {quoted(key)} waits", hint="`ironcurtain answer` lists them.")
    if answer.exists():
        raise UsageError(f"{quoted(key)} is answered already", where=str(answer), hint="Change it there.")
    if not previous.exists():
        raise UsageError(
            f"{quoted(key)} was not answered before",
            where=str(file_of(directory, key, READABLE)),
            hint=f"Put the answer into {answer.name}.",
        )
    atomic_write(answer, previous.read_bytes())
    return answer


def waiting_lines(waiting: Waiting) -> tuple[str, ...]:
    """Return a question as lines of plain text: what it asks, where, and what to do next."""
    head = f"{waiting.key}: {waiting.about}" if waiting.about else waiting.key
    if waiting.answered:
        return (head, f"    answered in {_shown(waiting.answer)}: a compile reads it")
    lines = [head, f"    read {_shown(waiting.question)}, put the answer into {Path(waiting.answer).name}"]
    if waiting.previous is None:
        return tuple(lines)
    if waiting.changes:
        lines += ["    since the last answer:", *(f"      {line}" for line in waiting.changes)]
    name = Path(waiting.previous).name
    if waiting.keeps:
        lines.append(f"    or keep the last answer, {name}: ironcurtain answer {waiting.key} keep")
    else:
        lines.append(f"    the last answer is {name}; it does not fit any more as it is")
    return tuple(lines)


def _shown(path: str) -> str:
    """Return a path as people read it: from the working directory, where it is below that."""
    place, here = Path(path).absolute(), Path.cwd()
    return str(place.relative_to(here) if place.is_relative_to(here) else place)
