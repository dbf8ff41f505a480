"""Comparing policies by meaning: what differs, which differences are one question, and what settles them."""

from __future__ import annotations

from collections.abc import Sequence

from ironcurtain.compiler.verify.judge import DecideCalls
from ironcurtain.compiler.verify.stability import MAX_QUESTIONS, compare
from ironcurtain.model.decision import Decision
from ironcurtain.model.scenarios import Scenario, ScenarioCall
from ironcurtain.model.verdict import Verdict

A, E, D = Verdict.ALLOW, Verdict.ESCALATE, Verdict.DENY


def call(tool: str, path: str) -> ScenarioCall:
    return ScenarioCall(server="s", tool=tool, arguments={"path": path})


def policy(*allowed: str, clause: str = "C1") -> DecideCalls:
    """Allow what begins with one of the texts; deny all else."""

    def decide(calls: Sequence[ScenarioCall]) -> list[Decision]:
        return [
            Decision(
                server=each.server,
                tool=each.tool,
                verdict=A if (hit := str(each.arguments["path"]).startswith(allowed)) else D,
                rule="r" if hit else "default-deny",
                clause=clause if hit else None,
                reason="",
                revision="x",
            )
            for each in calls
        ]

    return decide


CALLS = [call(tool, path) for tool in ("read", "write") for path in ("/a/1", "/a/2", "/b/1")]


def test_policies_of_one_meaning_leave_nothing_open() -> None:
    found = compare([policy("/a"), policy("/a/", clause="C2")], CALLS, [])
    assert (found.calls, found.questions, found.notes) == (len(CALLS), (), ())


def test_differences_of_one_kind_are_one_question_about_the_first_call() -> None:
    found = compare([policy("/b"), policy("/a", "/b")], CALLS, [])
    assert [(q.call, q.yes, q.no, q.clause) for q in found.questions] == [
        (call("read", "/a/1"), A, D, "C1"),
        (call("write", "/a/1"), A, D, "C1"),
    ]
    assert found.questions[0].why == "run 1 says deny, run 2 says allow by C1; 2 calls differ like this"


def test_a_scenario_of_a_person_settles_its_kind() -> None:
    said = Scenario(id="x", call=call("read", "/a/9"), expect=D, origin="answer")
    found = compare([policy("/b"), policy("/a", "/b")], CALLS, [said])
    assert [q.call.tool for q in found.questions] == ["write"]
    assert "settles it" in found.notes[0]


def test_which_run_is_the_looser_one_makes_two_kinds() -> None:
    found = compare([policy("/b"), policy("/a")], CALLS[:3], [])
    assert [(q.call.arguments["path"], q.yes) for q in found.questions] == [("/a/1", A), ("/b/1", A)]


def test_more_differences_than_can_be_asked_are_counted() -> None:
    calls = [call(f"t{n}", "/a") for n in range(MAX_QUESTIONS + 5)]
    found = compare([policy("/a"), policy("/b")], calls, [])
    assert len(found.questions) == MAX_QUESTIONS
    assert f"differ in {MAX_QUESTIONS + 5} ways" in found.notes[0]
