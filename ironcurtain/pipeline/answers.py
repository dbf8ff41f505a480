"""Answers kept from earlier runs: what makes a compile reproducible, and an interruption cheap.

Published answers lie in `generated/answers/`. Those given since, but not yet published, lie in a working
directory; they are dropped when the result is published, which holds exactly the answers it was made from.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from ironcurtain.errors import AnswerMissingError, BadAnswerError, IronCurtainError, raise_all
from ironcurtain.files import atomic_write, load
from ironcurtain.llm.question import Answer, Provider, Question
from ironcurtain.model import jsontext
from ironcurtain.text import visible


class AnswerBook:
    """Answers questions from what is kept, and asks a provider for the rest.

    Args:
        published: Directory with the answers of the last published result.
        pending: Directory for answers that no published result holds yet.
        provider: Makes the provider when the first question is really asked; None for a locked compile.
    """

    def __init__(self, published: Path, pending: Path, provider: Callable[[], Provider] | None) -> None:
        self._pending = pending
        self._make_provider = provider
        self._provider: Provider | None = None
        self._kept: dict[str, tuple[Path, Answer]] = {}
        for path in [*_files(pending), *_files(published)]:
            answer = load(path, Answer)
            self._kept[answer.question] = (path, answer)
        self._used: dict[str, Answer] = {}

    def ask(self, questions: Sequence[Question]) -> list[Answer]:
        """Return a valid answer to each question, in their order.

        Raises:
            AnswerMissingError: If the compile is locked and answers are missing: all are named.
            BadAnswerError: If a kept answer is not valid any more.
            ModelFailedError, OpenQuestionError: From the provider.
        """
        found = {
            question.key: self._recall(question) for question in questions if question.digest in self._kept
        }
        open_questions = [question for question in questions if question.key not in found]
        if open_questions:
            answers = self._ask_provider(open_questions)
            found.update(
                {question.key: answer for question, answer in zip(open_questions, answers, strict=True)}
            )
        self._used.update(found)
        return [found[question.key] for question in questions]

    @property
    def used(self) -> tuple[Answer, ...]:
        """The answers used so far, in the order of their questions."""
        return tuple(self._used.values())

    def files(self) -> dict[str, bytes]:
        """Return the files of `answers/`: exactly the answers used so far, by file name."""
        return {
            answer.file_name: jsontext.pretty(answer.model_dump(mode="json")).encode()
            for answer in self._used.values()
        }

    def published(self) -> None:
        """Drop what was only kept until now: the result holds it."""
        shutil.rmtree(self._pending, ignore_errors=True)
        if self._provider is not None:
            self._provider.published()

    def _recall(self, question: Question) -> Answer:
        path, answer = self._kept[question.digest]
        mistakes = question.mistakes(answer.content)
        raise_all([_bad(path, mistake) for mistake in mistakes])
        return answer.model_copy(update={"stage": question.stage, "key": question.key})

    def _ask_provider(self, questions: Sequence[Question]) -> list[Answer]:
        if self._make_provider is None:
            raise_all([_missing(question) for question in questions])
            return []
        if self._provider is None:
            self._provider = self._make_provider()
        return self._provider.ask(questions, self._keep)

    def _keep(self, answer: Answer) -> None:
        data = jsontext.pretty(answer.model_dump(mode="json")).encode()
        atomic_write(self._pending / answer.file_name, data)


def _files(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.json")) if directory.is_dir() else []


def _missing(question: Question) -> IronCurtainError:
    return AnswerMissingError(
        f"question {question.key} ({question.digest}) has no answer, and a locked compile asks nobody",
        hint="Its prompt, the constitution or a tool changed. Compile without --locked to ask it.",
    )


def _bad(path: Path, mistake: str) -> IronCurtainError:
    return BadAnswerError(
        visible(mistake),
        where=str(path),
        hint="Correct the answer, or delete the file to ask the question again.",
    )
