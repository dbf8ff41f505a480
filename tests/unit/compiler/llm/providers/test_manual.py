"""Questions in files, answers from files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ironcurtain.compiler.llm.providers.choose import provider_for
from ironcurtain.compiler.llm.providers.manual import ManualProvider
from ironcurtain.compiler.llm.question import Answer, Question
from ironcurtain.errors import BadAnswerError, Exit, OpenQuestionError, SeveralErrors, UsageError

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def question(key: str, prompt: str = "How many?") -> Question:
    def check(content: Any) -> list[str]:
        return ["too many", "far too many"] if content["n"] > 9 else []

    return Question("annotate", key, "Count.", prompt, SCHEMA, check)


def ask(directory: Path, *questions: Question) -> list[Answer]:
    return ManualProvider(directory).ask(questions, lambda _: None)


def test_all_open_questions_are_written_in_one_run(tmp_path: Path) -> None:
    with pytest.raises(SeveralErrors) as caught:
        ask(tmp_path, question("a"), question("b"))
    assert [str(error.where) for error in caught.value.errors] == [
        str(tmp_path / k) for k in ("a.md", "b.md")
    ]
    assert {error.exit for error in caught.value.errors} == {Exit.NEEDS_APPROVAL}
    written = json.loads((tmp_path / "a.json").read_text())
    assert written["format"] == "ironcurtain/question/v1"
    assert written["digest"] == question("a").digest
    assert written["prompt"] == {"system": "Count.", "user": "How many?"}
    assert written["answer_schema"] == SCHEMA
    assert "How many?" in (tmp_path / "a.md").read_text()


def test_an_answer_is_a_persons_and_never_a_models(tmp_path: Path) -> None:
    (tmp_path / "a.answer.json").write_text('{"n": 3}')
    (answer,) = ask(tmp_path, question("a"))
    assert (answer.provider, answer.model, answer.content) == ("manual", None, {"n": 3})


@pytest.mark.parametrize("text", ["", "{", '{"n": "3"}', "{}", "\ufeff{}", '{"n": 1, "n": 2}'])
def test_a_bad_answer_names_its_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.answer.json").write_text(text)
    with pytest.raises(BadAnswerError) as caught:
        ask(tmp_path, question("a"))
    assert str(caught.value.where) == str(tmp_path / "a.answer.json")


def test_all_mistakes_of_all_answers_are_told_together(tmp_path: Path) -> None:
    (tmp_path / "a.answer.json").write_text('{"n": 10}')
    (tmp_path / "b.answer.json").write_text("[]")
    with pytest.raises(SeveralErrors) as caught:
        ask(tmp_path, question("a"), question("b"), question("c"))
    kinds = [type(error) for error in caught.value.errors]
    assert kinds == [BadAnswerError, BadAnswerError, BadAnswerError, OpenQuestionError]


def test_an_answer_to_an_older_question_is_not_taken_for_the_new_one(tmp_path: Path) -> None:
    (tmp_path / "a.answer.json").write_text('{"n": 3}')
    ask(tmp_path, question("a"))
    with pytest.raises(OpenQuestionError):
        ask(tmp_path, question("a", "How many now?"))
    assert json.loads((tmp_path / "a.previous.json").read_text()) == {"n": 3}
    assert not (tmp_path / "a.answer.json").exists()


def test_files_of_answered_questions_go_when_the_result_is_published(tmp_path: Path) -> None:
    (tmp_path / "a.answer.json").write_text('{"n": 3}')
    (tmp_path / "mine.txt").write_text("x")
    provider = ManualProvider(tmp_path)
    provider.ask([question("a")], lambda _: None)
    provider.published()
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("model", ["nobody:x", ":x", "anthropic:", "nobody:", "google:../x", "a b", ""])
def test_an_unknown_provider_is_a_usage_error(tmp_path: Path, model: str) -> None:
    with pytest.raises(UsageError):
        provider_for(model, questions=tmp_path)


def test_a_mistake_that_is_made_at_every_tool_does_not_fill_the_screen(tmp_path: Path) -> None:
    (tmp_path / "a.answer.json").write_text('{"n": 10}')
    wrong = Question(
        "annotate", "a", "Count.", "How many?", SCHEMA, lambda _: [f"tool {n}" for n in range(20)]
    )
    with pytest.raises(SeveralErrors) as caught:
        ask(tmp_path, wrong)
    said = [error.what for error in caught.value.errors]
    assert said == [*(f"tool {n}" for n in range(8)), "12 more mistakes in this answer"]
