"""Which answers are reused, asked for, kept and dropped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from ironcurtain.errors import (
    AnswerMissingError,
    BadAnswerError,
    FormatError,
    ModelFailedError,
    SeveralErrors,
)
from ironcurtain.llm.question import Answer, Keep, Question, answer_to
from ironcurtain.pipeline.answers import AnswerBook

SCHEMA = {"type": "integer"}


def question(key: str, prompt: str | None = None) -> Question:
    return Question("annotate", key, "s", prompt or key, SCHEMA, lambda n: ["too big"] if n > 9 else [])


class Counter:
    """A provider that answers 1, 2, 3, … and fails when it is asked the question `fails`."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def ask(self, questions: Sequence[Question], keep: Keep) -> list[Answer]:
        answers = []
        for each in questions:
            if each.key == "fails":
                raise ModelFailedError("no")
            self.asked.append(each.key)
            answers.append(answer_to(each, len(self.asked), provider="counter", model="m"))
            keep(answers[-1])
        return answers

    def published(self) -> None:
        self.asked.append("published")


def book(directory: Path, provider: Counter | None) -> AnswerBook:
    return AnswerBook(
        directory / "answers", directory / "kept", None if provider is None else lambda: provider
    )


def publish(directory: Path, used: AnswerBook) -> None:
    (directory / "answers").mkdir(exist_ok=True)
    for path in (directory / "answers").iterdir():
        path.unlink()
    for name, data in used.files().items():
        (directory / "answers" / name).write_bytes(data)
    used.published()


def test_a_question_is_asked_once(tmp_path: Path) -> None:
    provider = Counter()
    first = book(tmp_path, provider)
    first.ask([question("a"), question("b")])
    publish(tmp_path, first)
    again = book(tmp_path, provider)
    assert [answer.content for answer in again.ask([question("b"), question("a")])] == [2, 1]
    assert provider.asked == ["a", "b", "published"]


def test_answers_paid_for_survive_a_failure(tmp_path: Path) -> None:
    provider = Counter()
    with pytest.raises(ModelFailedError):
        book(tmp_path, provider).ask([question("a"), question("fails")])
    book(tmp_path, provider).ask([question("a"), question("b")])
    assert provider.asked == ["a", "b"]


def test_only_what_changed_is_asked_again_and_the_unused_is_dropped(tmp_path: Path) -> None:
    provider = Counter()
    first = book(tmp_path, provider)
    first.ask([question("a"), question("b")])
    publish(tmp_path, first)
    second = book(tmp_path, provider)
    second.ask([question("a", "changed"), question("b")])
    publish(tmp_path, second)
    assert provider.asked == ["a", "b", "published", "a", "published"]
    assert len(list((tmp_path / "answers").iterdir())) == 2
    assert not (tmp_path / "kept").exists()


def test_a_locked_book_names_every_missing_question(tmp_path: Path) -> None:
    with pytest.raises(SeveralErrors) as caught:
        book(tmp_path, None).ask([question("a"), question("b")])
    assert all(isinstance(error, AnswerMissingError) for error in caught.value.errors)
    assert ["question a" in caught.value.errors[0].what, "question b" in caught.value.errors[1].what] == [
        True,
        True,
    ]


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ('"content": 1', '"content": 10', BadAnswerError),
        ('"content": 1', '"content": "1"', BadAnswerError),
        ('"content": 1', '"content": 1, "extra": 1', FormatError),
        ("sha256:", "sha256:0", FormatError),
    ],
)
def test_a_spoilt_answer_is_an_error_that_names_it(
    tmp_path: Path, before: str, after: str, kind: type[Exception]
) -> None:
    first = book(tmp_path, Counter())
    first.ask([question("a")])
    publish(tmp_path, first)
    (path,) = (tmp_path / "answers").iterdir()
    path.write_text(path.read_text().replace(before, after))
    with pytest.raises(kind) as caught:
        book(tmp_path, None).ask([question("a")])
    assert path.name in str(getattr(caught.value, "where", ""))
