"""The provider `manual`: questions go into files, a person puts answers beside them.

For closed networks and for those who paste into a chat. All open questions of a stage are written in
one run; answers are validated like a model's, and recorded as `manual`, never as a model's. Until the
result is published the answer files can be corrected; then the files of answered questions are removed.

A batched question (about many tools) may have been put together otherwise in an earlier run. Answers to
that one are read too: they answer the parts that are still asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ironcurtain.compiler.llm.chat import read_document
from ironcurtain.compiler.llm.question import (
    MANUAL,
    Answer,
    Changes,
    Earlier,
    EarlierAnswer,
    Keep,
    Question,
    answer_to,
    changes,
    schema_text,
)
from ironcurtain.compiler.llm.question_files import (
    ANSWER,
    PREVIOUS,
    QUESTION,
    READABLE,
    AskedFile,
    asked_files,
    file_of,
    waiting_lines,
    waiting_question,
)
from ironcurtain.errors import BadAnswerError, FileError, IronCurtainError, OpenQuestionError, raise_all
from ironcurtain.system import json_text
from ironcurtain.system.files import MAX_BYTES, atomic_write, read_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import counted, visible

_MOST_MISTAKES = 8


class ManualProvider:
    """Asks through files in one directory, which `ironcurtain.compiler.llm.question_files` describes."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._answered: set[str] = set()

    def given(self) -> list[EarlierAnswer]:
        """Return the answers to joint questions that lie in the directory, be they asked so again or not."""
        answers = []
        for key, asked in asked_files(self._directory).items():
            path = self._file(key, ANSWER)
            if asked.parts and path.exists():
                content, mistakes = self._read(path)
                answers.append(EarlierAnswer(path, asked.parts, content, tuple(mistakes)))
                self._answered.add(key)
        return answers

    def ask(self, questions: Sequence[Question], keep: Keep) -> list[Answer]:  # noqa: ARG002 - see below
        """Return the answers that lie in the directory; write the questions.

        `keep` is not used: the person's own files keep the answers, and stay open to corrections.

        Raises:
            BadAnswerError: For every mistake of every answer that is not valid.
            OpenQuestionError: For every question that waits, naming its file.
        """
        contents: dict[str, JsonValue] = {}
        errors: list[IronCurtainError] = []
        self._forget_superseded(questions)
        for question in questions:
            key = self._key(question)
            asked = self._write(key, question)
            path = self._file(key, ANSWER)
            if not path.exists():
                errors.append(self._open(key, asked))
                continue
            content, mistakes = self._read(path)
            mistakes = mistakes or question.mistakes(content)
            contents[question.key] = content
            errors += bad_answers(path, mistakes)
            self._answered.add(key)
        raise_all(errors)
        return [answer_to(question, contents[question.key], provider=MANUAL) for question in questions]

    def published(self) -> None:
        """Remove the files of the questions that were answered, and of those that nobody asks any more."""
        superseded = [key for key in asked_files(self._directory) if not self._file(key, READABLE).exists()]
        for key in (*self._answered, *superseded):
            self._remove(key, QUESTION, READABLE, PREVIOUS, ANSWER)
        if self._directory.is_dir() and not any(self._directory.iterdir()):
            self._directory.rmdir()

    def _file(self, key: str, suffix: str) -> Path:
        return file_of(self._directory, key, suffix)

    def _remove(self, key: str, *suffixes: str) -> None:
        for suffix in suffixes:
            self._file(key, suffix).unlink(missing_ok=True)

    def _forget_superseded(self, questions: Sequence[Question]) -> None:
        """Take away what a person would read of joint questions that are put together otherwise now.

        What they asked stays on record: an answer that somebody is about to put there still counts.
        """
        digests = {question.digest for question in questions}
        if not any(question.parts for question in questions):
            return
        for key, asked in asked_files(self._directory).items():
            if asked.parts and asked.digest not in digests and not self._file(key, ANSWER).exists():
                self._remove(key, READABLE, PREVIOUS)

    def _key(self, question: Question) -> str:
        """Return the name of a question's files: for a joint question never that of another one."""
        if not question.parts:
            return question.key
        asked = asked_files(self._directory)
        same = next((key for key, each in asked.items() if each.digest == question.digest), None)
        if same is not None:
            return same
        stem, _, number = question.key.rpartition("-")
        count = int(number) if number.isdigit() else 1
        if not number.isdigit():
            stem = question.key
        candidates = [question.key, *(f"{stem}-{n}" for n in range(count + 1, count + len(asked) + 2))]
        return next(key for key in candidates if key not in asked)

    def _open(self, key: str, asked: AskedFile) -> OpenQuestionError:
        head, *lines = waiting_lines(waiting_question(self._directory, key, asked))
        return OpenQuestionError(
            head,
            where=str(self._file(key, READABLE)),
            hint="Put each answer beside its question, then run this again (`--offline` starts no server); "
            "`ironcurtain answer` lists them.",
            block=lines,
        )

    def _write(self, key: str, question: Question) -> AskedFile:
        earlier = self._earlier(key, question)
        found = changes(earlier.told, question.told) if earlier is not None else Changes({})
        last = question.rename(earlier.content, found.names) if earlier is not None else None
        asked = AskedFile(
            format="ironcurtain/question/v1",
            digest=question.digest,
            about=question.about,
            told=dict(question.told),
            earlier=earlier,
            changes=found.lines,
            fits=earlier is not None and not question.mistakes(last),
            parts=question.parts,
        )
        document = {
            **asked.model_dump(mode="json"),
            "stage": question.stage,
            "key": key,
            "prompt": {"system": question.system, "user": question.text},
            "answer_schema": question.schema,
        }
        atomic_write(self._file(key, QUESTION), json_text.pretty(document).encode())
        if earlier is not None:
            atomic_write(self._file(key, PREVIOUS), json_text.pretty(last).encode())
        atomic_write(self._file(key, READABLE), _readable(key, question, asked).encode())
        return asked

    def _earlier(self, key: str, question: Question) -> Earlier | None:
        """Return the last answer to an earlier form of a question; one in a file is newer than a kept one.

        An answer was given to the question that stood beside it, not to one that replaced it since.
        """
        asked = asked_files(self._directory).get(key)
        if asked is None:
            return question.earlier
        answer = self._file(key, ANSWER)
        if asked.digest == question.digest or not answer.exists():
            return asked.earlier or question.earlier
        content, mistakes = self._read(answer)
        if mistakes:
            answer.replace(self._file(key, ".answer.old.json"))
            return asked.earlier or question.earlier
        answer.unlink()
        return Earlier(content=content, told=asked.told)

    def _read(self, path: Path) -> tuple[JsonValue, list[str]]:
        """Return a given answer, and why it is none."""
        try:
            return read_document(read_text(path), max_bytes=MAX_BYTES), []
        except json_text.MalformedJsonError as error:
            return None, [f"not valid JSON: {error}"]
        except FileError as error:
            return None, [error.what]


def bad_answers(path: Path, mistakes: Sequence[str]) -> list[BadAnswerError]:
    """Return an error for each of the first mistakes of an answer, and one that counts the others.

    A chat that gets a key wrong gets it wrong at every tool.
    """
    shown = [visible(each) for each in mistakes[:_MOST_MISTAKES]]
    if len(mistakes) > len(shown):
        shown.append(f"{counted(len(mistakes) - len(shown), 'more mistake')} in this answer")
    return [
        BadAnswerError(each, where=str(path), hint="Correct the answer and compile again.") for each in shown
    ]


def _readable(key: str, question: Question, asked: AskedFile) -> str:
    """Return the question as one text that can be read, or pasted into a chat as it is."""
    return (
        f"{question.system}\n\n{question.text}\n\n{_since(key, asked)}"
        f"Answer with one JSON document that fits this JSON Schema, and nothing else. "
        f"It belongs into `{key}{ANSWER}` beside this file.\n\n"
        f"```json\n{schema_text(question.schema)}\n```\n"
    )


def _since(key: str, asked: AskedFile) -> str:
    """Return what is told of the last answer and of what changed since."""
    if asked.earlier is None:
        return ""
    text = (
        f"An earlier form of this question was answered; the answer is `{key}{PREVIOUS}` beside this file. "
    )
    if asked.changes:
        text += "This changed since:\n\n```diff\n" + "\n".join(asked.changes) + "\n```\n\n"
    else:
        text += "Since then no clause changed, but the tools or the words of the question did.\n\n"
    if asked.fits:
        text += f"It is still valid: `ironcurtain answer {key} keep` gives it again.\n\n"
    return text
