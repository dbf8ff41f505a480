"""Questions to a person, and the file of their answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples

from ironcurtain.compiler.questions.open_questions import (
    Known,
    OpenQuestion,
    ask_about,
    question_lines,
    read_answers,
    read_open,
    record_answer,
    with_answers,
    write_open,
)
from ironcurtain.errors import FormatError, ScenarioError, UsageError
from ironcurtain.model.caller_facts import CallerFact
from ironcurtain.model.scenarios import Scenario, ScenarioCall, Scenarios
from ironcurtain.model.verdict import Verdict

A, E, D = Verdict.ALLOW, Verdict.ESCALATE, Verdict.DENY


def call(**arguments: Any) -> ScenarioCall:
    return ScenarioCall(server="s", tool="t", arguments=arguments)


def question(**arguments: object) -> OpenQuestion:
    return ask_about(call(**arguments), (A, D), clause="C2", why="two readings")


@pytest.mark.parametrize(
    ("verdicts", "yes", "no"),
    [((A, D), A, D), ((D, A), A, D), ((E, A), A, E), ((D, E, D), E, D), ((D, A, E), A, E)],
)
def test_yes_is_always_the_looser_verdict(verdicts: tuple[Verdict, ...], yes: Verdict, no: Verdict) -> None:
    asked = ask_about(call(), verdicts, clause=None, why="")
    assert (asked.yes, asked.no) == (yes, no)


def test_a_question_shows_every_argument_in_full_and_nothing_hidden() -> None:
    long = "x" * 5000 + "END"
    shown = "\n".join(
        question_lines(question(path=long, name="a\u202eb\x1b[31m"), Known({"C2": "The clause."}))
    )
    assert long in shown
    assert "\u202e" not in shown
    assert "\x1b" not in shown
    assert "The clause." in shown


def test_a_question_names_the_caller_and_what_is_known_of_it() -> None:
    known = call(n=1).model_copy(update={"caller": {"sub": "u17", "age": 41}})
    age = CallerFact(type="number", meaning="How old they are.", example=41, **{"from": "the token"})
    told = Known(caller={"age": age})
    shown = "\n".join(question_lines(ask_about(known, (A, D), clause=None, why=""), told))
    assert '    caller: sub = "u17", age = 41\n      age: How old they are.' in shown
    assert "caller: nothing is known" in "\n".join(question_lines(question(), told))


def test_open_questions_are_kept_and_go(tmp_path: Path) -> None:
    path = tmp_path / "open.json"
    assert read_open(path) == ()
    write_open(path, [question(a=1), question(a=2)])
    assert read_open(path) == (question(a=1), question(a=2))
    write_open(path, [])
    assert not path.exists()


def test_answers_are_appended_and_what_stands_there_stays(tmp_path: Path) -> None:
    path = tmp_path / "answers.yaml"
    record_answer(path, question(a=1), D, "because")
    path.write_text(path.read_text().replace("because", "because   # of 'that'") + "  # mine\n\n")
    before = path.read_text()
    record_answer(path, question(a=2), A, "")
    assert path.read_text().startswith(before.rstrip("\n"))
    found = read_answers(path)
    assert [(answer.expect, answer.origin) for answer in found] == [(D, "answer"), (A, "answer")]
    assert found[0].why == "because   # of 'that'"


@settings(max_examples=examples(40))
@given(
    text=st.text(max_size=40),
    value=st.recursive(
        st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=20),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=5,
    ),
)
def test_an_answer_reads_back_as_it_was_or_is_refused(
    tmp_path_factory: pytest.TempPathFactory, text: str, value: object
) -> None:
    path = tmp_path_factory.getbasetemp() / "answers.yaml"
    path.unlink(missing_ok=True)
    asked = question(value=value)
    try:
        answer = record_answer(path, asked, D, text)
    except FormatError:
        assert not path.exists()
        return
    assert read_answers(path) == (answer,)
    assert answer.call == asked.call


def test_a_call_is_answered_once(tmp_path: Path) -> None:
    path = tmp_path / "answers.yaml"
    record_answer(path, question(a=1), D, "")
    before = path.read_bytes()
    with pytest.raises(UsageError, match="already"):
        record_answer(path, question(a=1), A, "")
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "text",
    [
        "format: ironcurtain/scenarios/v1\nscenarios: []\n",
        "scenarios:\n- {id: a, call: {server: s, tool: t}, expect: deny}\nformat: ironcurtain/scenarios/v1\n",
    ],
)
def test_a_file_that_cannot_be_appended_to_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "answers.yaml"
    path.write_text(text)
    with pytest.raises(FormatError, match="cannot be appended"):
        record_answer(path, question(a=1), D, "")
    assert path.read_text() == text


def test_answers_have_no_world_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "answers.yaml"
    path.write_text("format: ironcurtain/scenarios/v1\nworld: {home: /h}\nscenarios: []\n")
    with pytest.raises(FormatError, match="no world"):
        read_answers(path)


def test_an_answer_and_a_scenario_may_not_contradict_each_other() -> None:
    ours = Scenario(id="a", call=call(x=1), expect=A)
    handwritten = Scenarios(format="ironcurtain/scenarios/v1", scenarios=(ours,))
    same = Scenario(id="b", call=call(x=1), expect=A, origin="answer")
    assert with_answers(handwritten, [same], "f").scenarios == (ours, same)
    with pytest.raises(ScenarioError, match="says deny"):
        with_answers(handwritten, [same.model_copy(update={"expect": D})], "f")
    with pytest.raises(ScenarioError, match="two scenarios have the id"):
        with_answers(handwritten, [Scenario(id="a", call=call(x=2), expect=A, origin="answer")], "f")
