"""The provider `manual`: questions go into files, a person puts answers beside them.

For closed networks and for those who paste into a chat. All open questions of a stage are written in
one run; answers are validated like a model's, and recorded as `manual`, never as a model's. Until the
result is published the answer files can be corrected; then the files of answered questions are removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel

from ironcurtain.errors import BadAnswerError, FileError, IronCurtainError, OpenQuestionError, raise_all
from ironcurtain.files import MAX_BYTES, atomic_write, load, read_text
from ironcurtain.llm.question import MANUAL, Answer, Keep, Question, answer_to
from ironcurtain.llm.schema_text import schema_text
from ironcurtain.model import jsontext
from ironcurtain.model.base import Json


class _Asked(BaseModel):
    """The part of a question's file that tells which question it was."""

    digest: str


class ManualProvider:
    """Asks through files `<key>.json` and `<key>.md`, reads `<key>.answer.json`, all in one directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._answered: list[Question] = []

    def ask(self, questions: Sequence[Question], keep: Keep) -> list[Answer]:  # noqa: ARG002 - see below
        """Return the answers that lie in the directory; write the questions.

        `keep` is not used: the person's own files keep the answers, and stay open to corrections.

        Raises:
            BadAnswerError: For every mistake of every answer that is not valid.
            OpenQuestionError: For every question that waits, naming its file.
        """
        contents: dict[str, Json] = {}
        errors: list[IronCurtainError] = []
        for question in questions:
            self._write(question)
            if not self._answer_file(question).exists():
                errors.append(self._open(question))
                continue
            content, mistakes = self._read(question)
            contents[question.key] = content
            errors += [self._bad(question, mistake) for mistake in mistakes]
        raise_all(errors)
        self._answered += questions
        return [answer_to(question, contents[question.key], provider=MANUAL) for question in questions]

    def published(self) -> None:
        """Remove the files of the questions that were answered."""
        for question in self._answered:
            for suffix in (".json", ".md", ".answer.json"):
                (self._directory / f"{question.key}{suffix}").unlink(missing_ok=True)
        if self._directory.is_dir() and not any(self._directory.iterdir()):
            self._directory.rmdir()

    def _answer_file(self, question: Question) -> Path:
        return self._directory / f"{question.key}.answer.json"

    def _open(self, question: Question) -> OpenQuestionError:
        return OpenQuestionError(
            f"question {question.key} waits for an answer",
            where=str(self._directory / f"{question.key}.md"),
            hint=f"Put the answer, as JSON, into {self._answer_file(question).name} and compile again.",
        )

    def _bad(self, question: Question, mistake: str) -> BadAnswerError:
        hint = "Correct the answer and compile again."
        return BadAnswerError(mistake, where=str(self._answer_file(question)), hint=hint)

    def _write(self, question: Question) -> None:
        self._set_stale_answer_aside(question)
        document = {
            "format": "ironcurtain/question/v1",
            "digest": question.digest,
            "stage": question.stage,
            "key": question.key,
            "prompt": {"system": question.system, "user": question.text},
            "answer_schema": question.schema,
        }
        atomic_write(self._directory / f"{question.key}.json", jsontext.pretty(document).encode())
        atomic_write(self._directory / f"{question.key}.md", _readable(question).encode())

    def _set_stale_answer_aside(self, question: Question) -> None:
        """An answer was given to the question that stood beside it, not to one that replaced it since."""
        asked = self._directory / f"{question.key}.json"
        answer = self._answer_file(question)
        if asked.exists() and answer.exists() and load(asked, _Asked).digest != question.digest:
            answer.replace(self._directory / f"{question.key}.answer.old.json")

    def _read(self, question: Question) -> tuple[Json, list[str]]:
        """Return a given answer and its mistakes."""
        try:
            content = jsontext.parse(read_text(self._answer_file(question)), max_bytes=MAX_BYTES)
        except jsontext.MalformedJsonError as error:
            return None, [f"not valid JSON: {error}"]
        except FileError as error:
            return None, [error.what]
        return content, question.mistakes(content)


def _readable(question: Question) -> str:
    """Return the question as one text that can be read, or pasted into a chat as it is."""
    return (
        f"{question.system}\n\n{question.text}\n\n"
        f"Answer with one JSON document that fits this JSON Schema, and nothing else. "
        f"It belongs into `{question.key}.answer.json` beside this file.\n\n"
        f"```json\n{schema_text(question.schema)}\n```\n"
    )
