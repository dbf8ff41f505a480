"""Which answers are reused, asked for, kept and dropped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ironcurtain.compiler.llm.question import Answer, EarlierAnswer, Keep, Question, answer_to
from ironcurtain.compiler.questions.answers import AnswerCache
from ironcurtain.errors import (
    AnswerMissingError,
    BadAnswerError,
    FormatError,
    ModelFailedError,
    SeveralErrors,
)
from ironcurtain.system.structs import replace

SCHEMA: dict[str, Any] = {"type": "integer"}


def too_big(number: Any) -> list[str]:
    return ["too big"] if number > 9 else []


def question(key: str, prompt: str | None = None) -> Question:
    return Question("annotate", key, "s", prompt or key, SCHEMA, too_big)


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

    def given(self) -> Sequence[EarlierAnswer]:
        return ()

    def published(self) -> None:
        self.asked.append("published")


def cache(directory: Path, provider: Counter | None) -> AnswerCache:
    return AnswerCache(
        directory / "answers", directory / "kept", None if provider is None else lambda: provider
    )


def publish(directory: Path, used: AnswerCache) -> None:
    (directory / "answers").mkdir(exist_ok=True)
    for path in (directory / "answers").iterdir():
        path.unlink()
    for name, data in used.files().items():
        (directory / "answers" / name).write_bytes(data)
    used.published()


def test_a_question_is_asked_once(tmp_path: Path) -> None:
    provider = Counter()
    first = cache(tmp_path, provider)
    first.ask([question("a"), question("b")])
    publish(tmp_path, first)
    again = cache(tmp_path, provider)
    assert [answer.content for answer in again.ask([question("b"), question("a")])] == [2, 1]
    assert provider.asked == ["a", "b", "published"]


def test_answers_paid_for_survive_a_failure(tmp_path: Path) -> None:
    provider = Counter()
    with pytest.raises(ModelFailedError):
        cache(tmp_path, provider).ask([question("a"), question("fails")])
    cache(tmp_path, provider).ask([question("a"), question("b")])
    assert provider.asked == ["a", "b"]


def test_only_what_changed_is_asked_again_and_the_unused_is_dropped(tmp_path: Path) -> None:
    provider = Counter()
    first = cache(tmp_path, provider)
    first.ask([question("a"), question("b")])
    publish(tmp_path, first)
    second = cache(tmp_path, provider)
    second.ask([question("a", "changed"), question("b")])
    publish(tmp_path, second)
    assert provider.asked == ["a", "b", "published", "a", "published"]
    assert len(list((tmp_path / "answers").iterdir())) == 2
    assert not (tmp_path / "kept").exists()


def test_a_locked_book_names_every_missing_question(tmp_path: Path) -> None:
    with pytest.raises(SeveralErrors) as caught:
        cache(tmp_path, None).ask([question("a"), question("b")])
    assert all(isinstance(error, AnswerMissingError) for error in caught.value.errors)
    said = [error.what.partition(" (")[0] for error in caught.value.errors]
    assert said == ["no answer is kept for a", "no answer is kept for b"]


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ('"content": 1', '"content": 10', BadAnswerError),
        ('"content": 1', '"content": "1"', BadAnswerError),
        ('"content": 1', '"content": 1, "extra": 1', FormatError),
        ('"question": "sha256:', '"question": "sha256:0', FormatError),
    ],
)
def test_a_spoilt_answer_is_an_error_that_names_it(
    tmp_path: Path, before: str, after: str, kind: type[Exception]
) -> None:
    first = cache(tmp_path, Counter())
    first.ask([question("a")])
    publish(tmp_path, first)
    (path,) = (tmp_path / "answers").iterdir()
    path.write_text(path.read_text().replace(before, after))
    with pytest.raises(kind) as caught:
        cache(tmp_path, None).ask([question("a")])
    assert path.name in str(getattr(caught.value, "where", ""))


def test_a_second_opinion_and_other_runs_do_not_see_the_previous_answer(tmp_path: Path) -> None:
    seen: list[str] = []

    class Reader(Counter):
        def ask(self, questions: Sequence[Question], keep: Keep) -> list[Answer]:
            seen.extend(question.text for question in questions)
            return super().ask(questions, keep)

    asked = replace(question("a"), beside="lists", previous="before")
    first = cache(tmp_path, Reader())
    first.ask([asked])
    first.run(2, Reader).ask([asked])
    AnswerCache(tmp_path / "answers", tmp_path / "kept", Reader, refresh=["annotate"]).ask([asked])
    assert [("lists" in text, "before" in text) for text in seen] == [
        (True, True),
        (True, False),
        (True, False),
    ]


def test_what_stands_beside_the_question_asks_nothing_again(tmp_path: Path) -> None:
    provider = Counter()
    cache(tmp_path, provider).ask([replace(question("a"), beside="one list", previous="x")])
    cache(tmp_path, provider).ask([replace(question("a"), beside="two lists", previous="y")])
    assert provider.asked == ["a"]


def test_an_interrupted_refresh_goes_on_where_it_stopped(tmp_path: Path) -> None:
    provider = Counter()
    first = cache(tmp_path, provider)
    first.ask([question("a"), question("b"), question("c")])
    publish(tmp_path, first)
    provider.asked.clear()

    def refreshing() -> AnswerCache:
        return AnswerCache(tmp_path / "answers", tmp_path / "kept", lambda: provider, refresh=["annotate"])

    with pytest.raises(ModelFailedError):
        refreshing().ask([question("a"), question("fails"), question("c")])
    assert provider.asked == ["a"]
    again = refreshing()
    again.ask([question("a"), question("b"), question("c")])
    assert provider.asked == ["a", "b", "c"]
    again.refreshed()  # all were asked: whoever refreshes now wants other answers
    refreshing().ask([question("a")])
    assert provider.asked == ["a", "b", "c", "a"]


def test_a_refresh_uses_no_answer_of_an_interrupted_compile_without_it(tmp_path: Path) -> None:
    provider = Counter()
    cache(tmp_path, provider).ask([question("a")])
    AnswerCache(tmp_path / "answers", tmp_path / "kept", lambda: provider, refresh=["annotate"]).ask(
        [question("a")]
    )
    assert provider.asked == ["a", "a"]


@pytest.mark.parametrize(
    ("before", "after"),
    [('"content": 1', '"content": 2'), ('"model": "m"', '"model": "better"'), ("counter", "anthropic")],
)
def test_an_answer_that_was_changed_by_hand_is_no_models_any_more(
    tmp_path: Path, before: str, after: str
) -> None:
    first = cache(tmp_path, Counter())
    first.ask([question("a"), question("b")])
    publish(tmp_path, first)
    path = next(each for each in (tmp_path / "answers").iterdir() if each.name.startswith("a-"))
    path.write_text(path.read_text().replace(before, after))
    edited = cache(tmp_path, None)
    answers = edited.ask([question("a"), question("b")])
    assert [(each.provider, each.model) for each in answers] == [("manual", None), ("counter", "m")]
    (note,) = edited.notes
    assert path.name in note
    publish(tmp_path, edited)
    later = cache(tmp_path, None)
    assert later.ask([question("a")])[0].provider == "manual"
    assert later.notes == ()
