"""Only a well-formed decision about exactly this call is an answer; everything else is an engine deny."""

from __future__ import annotations

from typing import Any

import pytest
from support.called import decide_with, one_tool
from support.projects.policies import tool

from ironcurtain.decision.decide import Call
from ironcurtain.decision.refusal import Refusal
from ironcurtain.model.reserved_rules import ReservedRule

POLICY = one_tool(tool("t", path=["read-path"]))
CALL = Call("s", "t", {"path": "/etc/x"})


def answer(**changes: Any) -> dict[str, Any]:
    good = {
        "verdict": "allow",
        "rule": "r",
        "clause": None,
        "reason": "as said",
        "subject": "0000",
        "subjects": {"0000": {"verdict": "allow", "rule": "r"}},
    }
    return {key: value for key, value in (good | changes).items() if value != "absent"}


def test_a_well_formed_answer_decides() -> None:
    decision = decide_with(POLICY, CALL, lambda _: answer())
    assert (decision.verdict, decision.rule) == ("allow", "r")


MALFORMED: list[Any] = [
    None,
    True,
    "allow",
    [],
    {},
    {"allow": True},
    answer(verdict="absent"),
    answer(verdict="alow"),
    answer(verdict="ALLOW"),
    answer(verdict=True),
    answer(verdict=["allow"]),
    answer(verdict=None),
    answer(rule=""),
    answer(rule=5),
    answer(rule=None),
    answer(reason=None),
    answer(reason="absent"),
    answer(clause=5),
    answer(extra=1),
    answer(subject="0001"),
    answer(subject="absent"),
    answer(subjects={}),
    answer(subjects=None),
    answer(subjects=[]),
    answer(subjects={"call": {"verdict": "allow", "rule": "r"}}),
    answer(subjects={"0000": {"verdict": "allow"}}),
    answer(subjects={"0000": {"verdict": "allow", "rule": "r", "x": 1}}),
    answer(subjects={"0000": {"verdict": "allow", "rule": "r"}, "0001": {"verdict": "allow", "rule": "r"}}),
    answer(subjects={"0000": {"verdict": "deny", "rule": "r"}}),
    answer(subjects={"0000": {"verdict": "escalate", "rule": "r"}}),
]


@pytest.mark.parametrize("said", MALFORMED, ids=str)
def test_anything_else_denies(said: Any) -> None:
    decision = decide_with(POLICY, CALL, lambda _: said)
    assert (decision.verdict, decision.rule) == ("deny", "engine-malformed")
    assert decision.arguments == {"path": "/etc/x"}


@pytest.mark.parametrize(
    "rule",
    [
        ReservedRule.ENGINE_TIMEOUT,
        ReservedRule.ENGINE_DEAD,
        ReservedRule.ENGINE_UNDEFINED,
        ReservedRule.ENGINE_REVISION,
    ],
)
def test_an_engine_without_an_answer_denies_by_its_own_rule(rule: ReservedRule) -> None:
    def ask(_: Any) -> Any:
        raise Refusal(rule, "no answer")

    decision = decide_with(POLICY, CALL, ask)
    assert (decision.verdict, decision.rule) == ("deny", rule)


@pytest.mark.parametrize("error", [RuntimeError("secret"), KeyError("x"), RecursionError(), MemoryError()])
def test_an_error_of_our_own_denies_without_telling_details(error: Exception) -> None:
    def ask(_: Any) -> Any:
        raise error

    decision = decide_with(POLICY, CALL, ask)
    assert (decision.verdict, decision.rule) == ("deny", "internal-error")
    assert "secret" not in decision.reason


def test_a_harsher_call_than_its_subjects_is_what_custom_modules_do() -> None:
    decision = decide_with(POLICY, CALL, lambda _: answer(verdict="deny", subject=None, rule="custom-x"))
    assert (decision.verdict, decision.rule) == ("deny", "custom-x")
