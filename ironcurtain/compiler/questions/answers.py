"""Answers kept from earlier runs: a compile is reproduced from them, and continues after an interruption.

    cache = AnswerCache(output / "answers", pending, make_provider)
    answers = cache.ask(questions)  # kept answers first; a provider is made only if one is missing
    cache.published()               # once the result that was made from them is published

Published answers lie in `generated/answers/`. Those given since, but not yet published, lie in a working
directory; they are dropped when the result is published, which holds exactly the answers it was made from.
What was asked anew by an interrupted `--refresh` is written down beside them, so that the next one goes on.

An answer that somebody changed since it was given is checked like every other one, and counts as a
person's from then on.
"""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Literal

from ironcurtain.compiler.llm.providers.manual import bad_answers
from ironcurtain.compiler.llm.question import (
    MANUAL,
    Answer,
    Changes,
    Earlier,
    EarlierAnswer,
    Keep,
    Provider,
    Question,
    answer_to,
    changes,
)
from ironcurtain.errors import AnswerMissingError, BadAnswerError, IronCurtainError, SeveralErrors, raise_all
from ironcurtain.system import json_text
from ironcurtain.system.files import atomic_write, load
from ironcurtain.system.frozen import Digest, Frozen, JsonValue
from ironcurtain.system.structs import Struct, replace
from ironcurtain.system.text import quoted, visible

_JOURNAL = "refresh/answered.json"


class _Refreshed(Frozen):
    """What a refresh has asked until now; it is dropped when all its questions are answered."""

    format: Literal["ironcurtain/refresh/v1"] = "ironcurtain/refresh/v1"
    answered: tuple[Digest, ...] = ()


class BatchedQuestion(Struct):
    """One question that is asked in place of several, to save calls.

    Attributes:
        question: What is asked.
        parts: The questions that it stands for; what is kept are answers to these.
        divide: Returns the content of each part's answer, in the order of `parts`, from the whole content.
        narrow: Returns what is about these parts of an answer to more of them; what has another form stays
            as it is.
    """

    question: Question
    parts: tuple[Question, ...]
    divide: Callable[[JsonValue], list[JsonValue]]
    narrow: Callable[[JsonValue], JsonValue]

    def answers(self, whole: Answer) -> list[Answer]:
        """Return the answers to the parts that an answer to the joint question holds."""
        return [
            answer_to(part, content, provider=whole.provider, model=whole.model)
            for part, content in zip(self.parts, self.divide(whole.content), strict=True)
        ]

    def read(self, given: EarlierAnswer) -> list[Answer]:
        """Return the answers to the parts that an answer to these and perhaps to other ones holds.

        Raises:
            BadAnswerError: For each mistake in what is about these parts.
        """
        is_all = {part.digest for part in self.parts} == set(given.parts)
        content = given.content if is_all or given.mistakes else self.narrow(given.content)
        mistakes = given.mistakes or self.question.mistakes(content)
        raise_all([*bad_answers(given.path, mistakes)])
        return self.answers(answer_to(self.question, content, provider=MANUAL))


class AnswerCache:
    """Answers questions from what is kept, and asks a provider for the rest.

    Args:
        published: Directory with the answers of the last published result.
        pending: Directory for answers that no published result holds yet.
        provider: Makes the provider when the first question is really asked; None for a locked compile.
        refresh: Stages whose questions are asked anew, whatever is kept.
    """

    def __init__(
        self,
        published: Path,
        pending: Path,
        provider: Callable[[], Provider] | None,
        *,
        refresh: Collection[str] = (),
    ) -> None:
        self._pending = pending
        self._refresh = frozenset(refresh)
        self._run = 1
        self._make_provider = provider
        self._provider: Provider | None = None
        self._kept: dict[str, tuple[Path, Answer]] = {}
        self._edited: dict[str, str] = {}
        # What waits to be published is newer than what was published.
        for path in [*_files(published), *_files(pending)]:
            self._take(path, load(path, Answer))
        self._used: dict[str, Answer] = {}
        journal = pending / _JOURNAL
        answered = load(journal, _Refreshed).answered if self._refresh and journal.exists() else ()
        self._asked = {digest for digest in answered if digest in self._kept}

    def ask(self, questions: Sequence[Question]) -> list[Answer]:
        """Return a valid answer to each question, in their order.

        Raises:
            AnswerMissingError: If the compile is locked and answers are missing: all are named.
            BadAnswerError: If a kept answer is not valid any more.
            ModelFailedError, OpenQuestionError: From the provider.
        """
        return self._ask([self._of_run(question) for question in questions])

    def has(self, question: Question) -> bool:
        """Tell whether an answer is kept, so that asking costs nothing."""
        return self._has(self._of_run(question))

    def asks_anew(self, stage: str) -> bool:
        """Tell whether a stage's questions are asked again, whatever is kept or known."""
        return stage in self._refresh

    def take(self, question: Question, content: JsonValue, *, provider: str, model: str) -> None:
        """Keep an answer that needs nobody to be asked; one that is kept already stays."""
        if not self.has(question):
            answer = answer_to(question, content, provider=provider, model=model)
            self._keep(answer)
            self._answered(answer)

    def holds(self, stage: str) -> bool:
        """Tell whether an answer of a stage is kept, be it to a question that nobody asks any more."""
        return any(answer.stage == stage for _, answer in self._kept.values())

    def previous(self, key: str) -> JsonValue | None:
        """Return what was answered last to a question of this key, whatever its text was then."""
        contents = [answer.content for _, answer in self._kept.values() if answer.key == key]
        return contents[-1] if contents else None

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of the answers used so far, one line each."""
        return tuple(self._edited[a.question] for a in self._used.values() if a.question in self._edited)

    def refreshed(self) -> None:
        """Note that all questions of this compile are answered: the next refresh asks them anew."""
        if self._refresh:
            shutil.rmtree((self._pending / _JOURNAL).parent, ignore_errors=True)

    def run(self, number: int, provider: Callable[[], Provider] | None) -> AnswerCache:
        """Return a view of this book that asks every question once more, independently of other runs.

        Args:
            number: 2, 3, …; each run has answers of its own.
            provider: Who is asked in this run; None as in `AnswerCache`.
        """
        other = copy.copy(self)
        other._run, other._make_provider, other._provider = number, provider, None  # noqa: SLF001 - a copy of us
        return other

    def kept_only(self) -> AnswerCache:
        """Return a view of this book that asks nobody."""
        other = copy.copy(self)
        other._make_provider = None  # noqa: SLF001 - a copy of us
        return other

    def _of_run(self, question: Question) -> Question:
        if question.stage in self._refresh:
            question = replace(
                question, previous=""
            )  # whoever wants a second opinion does not tell the first
        if self._run == 1:
            return question
        return replace(
            question,
            previous="",
            key=f"{question.key}-run{self._run}",
            prompt=f"{question.prompt}\n\nThis is run {self._run} of several independent ones.",
        )

    def _joint_of_run(self, joint: BatchedQuestion) -> BatchedQuestion:
        parts = tuple(self._of_run(part) for part in joint.parts)
        return replace(joint, question=self._of_run(joint.question), parts=parts)

    def _has(self, question: Question) -> bool:
        is_stale = question.stage in self._refresh and question.digest not in self._asked
        return question.digest in self._kept and not is_stale

    def _ask(self, questions: Sequence[Question]) -> list[Answer]:
        found = {question.key: self._recall(question) for question in questions if self._has(question)}
        open_questions = [question for question in questions if question.key not in found]
        if open_questions:
            answers = self._ask_provider(open_questions, self._keep)
            for question, answer in zip(open_questions, answers, strict=True):
                found[question.key] = answer
                self._answered(answer)
        self._used.update(found)
        return [found[question.key] for question in questions]

    def ask_joint(
        self, parts: Sequence[Question], join: Callable[[Sequence[Question]], Sequence[BatchedQuestion]]
    ) -> list[Answer]:
        """Return a valid answer to each question, asking those that are not kept in fewer, joint ones.

        Raises:
            AnswerMissingError, BadAnswerError, ModelFailedError, OpenQuestionError: As `ask`.
        """
        missing = [part for part in parts if not self._has(self._of_run(part))]
        if missing and self._make_provider is None:
            raise_all([self._missing(self._of_run(part)) for part in missing])
        if missing:
            self._take_given(missing, join)
            missing = [part for part in missing if not self._has(self._of_run(part))]
        joints = {joint.question.digest: joint for joint in map(self._joint_of_run, join(missing))}

        def keep(whole: Answer) -> None:
            for answer in joints[whole.question].answers(whole):
                self._keep(answer)

        if joints:
            for whole in self._ask_provider([joint.question for joint in joints.values()], keep):
                for answer in joints[whole.question].answers(whole):
                    self._answered(answer)
        return self.ask(parts)

    def _take_given(
        self, missing: Sequence[Question], join: Callable[[Sequence[Question]], Sequence[BatchedQuestion]]
    ) -> None:
        """Take what answers to joint questions of earlier runs say of these questions.

        Raises:
            BadAnswerError: For each mistake of each of them.
        """
        by_digest = {self._of_run(part).digest: part for part in missing}
        errors: list[IronCurtainError] = []
        for given in self._asks().given():
            mine = [by_digest[digest] for digest in given.parts if digest in by_digest]
            for joint in map(self._joint_of_run, join(mine)):
                try:
                    answers = joint.read(given)
                except IronCurtainError as error:
                    errors += error.errors if isinstance(error, SeveralErrors) else [error]
                    continue
                for answer in answers:
                    self._answered(answer)
        raise_all(errors)

    @property
    def used(self) -> tuple[Answer, ...]:
        """The answers used so far, in the order of their questions."""
        return tuple(self._used.values())

    def files(self) -> dict[str, bytes]:
        """Return the files of `answers/`: exactly the answers used so far, by file name."""
        return {answer.file_name: _file(answer) for answer in self._used.values()}

    def published(self) -> None:
        """Drop what was only kept until now: the result holds it."""
        shutil.rmtree(self._pending, ignore_errors=True)
        if self._provider is not None:
            self._provider.published()

    def _recall(self, question: Question) -> Answer:
        path, answer = self._kept[question.digest]
        mistakes = question.mistakes(answer.content)
        raise_all([_bad(path, mistake) for mistake in mistakes])
        told = {"stage": question.stage, "key": question.key, "told": dict(question.told)}
        return answer.model_copy(update=told)

    def _ask_provider(self, questions: Sequence[Question], keep: Keep) -> list[Answer]:
        if self._make_provider is None:
            raise_all([self._missing(question) for question in questions])
            return []
        return self._asks().ask([self._with_earlier(question) for question in questions], keep)

    def _asks(self) -> Provider:
        if self._provider is None:
            assert self._make_provider is not None  # noqa: S101 - who is locked asks nobody
            self._provider = self._make_provider()
        return self._provider

    def _with_earlier(self, question: Question) -> Question:
        """Return a question with the last answer to an earlier form of it, for who does not judge anew."""
        if self._run > 1 or question.stage in self._refresh or not question.told:
            return question
        earlier = [answer for _, answer in self._kept.values() if answer.key == question.key]
        if not earlier:
            return question
        return replace(question, earlier=Earlier(content=earlier[-1].content, told=earlier[-1].told))

    def _missing(self, question: Question) -> IronCurtainError:
        """Say what has no answer, and what changed since it had one."""
        earlier = [answer for _, answer in self._kept.values() if answer.key == question.key]
        since = list(_sentences(changes(earlier[-1].told, question.told))) if earlier else []
        changed = "since the last answer, what it is about changed" if earlier else "it was never answered"
        why = f"since the last answer, {'; '.join(since)}" if since else changed
        return AnswerMissingError(
            f"no answer is kept for {question.key} ({question.about}), and none is asked for: {why}",
            hint="Compile without --locked to ask it, and commit the answer.",
        )

    def _keep(self, answer: Answer) -> None:
        atomic_write(self._pending / answer.file_name, _file(answer))
        if answer.stage in self._refresh:
            journal = self._pending / _JOURNAL
            before = load(journal, _Refreshed).answered if journal.exists() else ()
            atomic_write(journal, _file(_Refreshed(answered=(*before, answer.question))))

    def _answered(self, answer: Answer) -> None:
        self._kept[answer.question] = (self._pending / answer.file_name, answer)
        self._asked.add(answer.question)
        self._edited.pop(answer.question, None)

    def _take(self, path: Path, answer: Answer) -> None:
        """Take a kept answer; one that was edited is a person's, and not that of who gave it first."""
        self._edited.pop(answer.question, None)
        if not answer.is_as_given:
            who = f"{answer.provider}:{answer.model}" if answer.model else answer.provider
            self._edited[answer.question] = (
                f"{path.name} was changed since it was given by {visible(who)}: it was checked again, and "
                "counts as a person's answer"
            )
            answer = answer.by_a_person()
        self._kept[answer.question] = (path, answer)


def _file(document: Frozen) -> bytes:
    return json_text.pretty(document.model_dump(mode="json")).encode()


def _files(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.json")) if directory.is_dir() else []


def _sentences(changed: Changes) -> Iterator[str]:
    for name, (old, new) in changed.edited.items():
        yield f"{name} was edited: it says {quoted(new)} and said {quoted(old)}"
    yield from (f"{name} came: {quoted(text)}" for name, text in changed.added.items())
    yield from (f"{name} went: {quoted(text)}" for name, text in changed.removed.items())


def _bad(path: Path, mistake: str) -> IronCurtainError:
    return BadAnswerError(
        visible(mistake),
        where=str(path),
        hint="Correct the answer, or delete the file to ask the question again.",
    )
