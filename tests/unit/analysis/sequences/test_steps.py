"""Scenarios with steps: what the steps before a call leave is what it is decided on."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.generators import spaces_facts
from support.projects.policies import rule

from ironcurtain.analysis.engine.evaluate import load_described
from ironcurtain.analysis.sequences.steps import FollowedScenarios, follow_steps
from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.render.policy_tests import with_policy_tests
from ironcurtain.compiler.verify.rego_check import check_rego
from ironcurtain.compiler.verify.verify import verify
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.errors import FormatError, ScenarioError, SeveralErrors
from ironcurtain.model.scenarios import Scenarios
from ironcurtain.system.files import parse_document

MONDAY, TUESDAY = "2026-03-02T09:00:00Z", "2026-03-03T09:00:00Z"


def over(total: int, then: str) -> dict[str, Any]:
    return rule(f"over-{total}", then, tool=["pay"], facts=[{"fact": "paid", "op": "gt", "value": total}])


RULES: list[dict[str, Any]] = [
    over(500, "deny"),
    over(100, "escalate"),
    rule("pay", "allow", tool=["pay"]),
    rule("get", "allow", tool=["get_user"]),
    rule("stop", "deny", tool=["send"], facts=[{"fact": "private", "op": "equals", "value": True}]),
    rule("send", "allow", tool=["send"]),
]


def pay(amount: float | None, expect: str, at: str | None = MONDAY, sub: str = "ann", **more: Any) -> Any:
    arguments: dict[str, Any] = {"order_id": "1"} | ({} if amount is None else {"amount": amount})
    call: dict[str, Any] = {"server": "shop", "tool": "pay", "arguments": arguments, "caller": {"sub": sub}}
    return {"call": call | ({} if at is None else {"at": at}), "expect": expect, **more}


def step(tool: str, arguments: dict[str, Any], expect: str, **more: Any) -> Any:
    return {"call": {"server": "shop", "tool": tool, "arguments": arguments}, "expect": expect, **more}


GET = {"id": "1"}
SEND = {"to": "ann@example.com"}


def scenarios(*steps: Any, **more: Any) -> Scenarios:
    document = {
        "format": "ironcurtain/scenarios/v1",
        "world": spaces_facts.WORLD.model_dump(mode="json"),
        "scenarios": [{"id": "story", "steps": list(steps), **more}],
    }
    return parse_document(json.dumps(document), "scenarios.json", Scenarios)


def bundle(declared: dict[str, Any] | None = None) -> Bundle:
    return spaces_facts.bundle_of(RULES, declared or spaces_facts.DECLARED)


def followed(*steps: Any, declared: dict[str, Any] | None = None) -> FollowedScenarios:
    return follow_steps(scenarios(*steps), load_described(bundle(declared), spaces_facts.WORLD))


def failing(*steps: Any) -> list[tuple[str, str]]:
    """Return the steps that do not come true, with the verdict that they get."""
    found = verify(bundle(), scenarios(*steps), find())
    return [(mismatch.scenario, mismatch.got.value) for mismatch in found.mismatches]


def test_a_total_grows_by_what_is_sent() -> None:
    asked = pay(60, "escalate")
    assert failing(pay(60, "allow"), asked, pay(40, "allow"), pay(0.5, "escalate")) == []
    # The same escalation, approved: it counts from then on.
    approved = pay(60, "escalate", approved=True)
    assert failing(pay(60, "allow"), approved, pay(1, "escalate"), pay(500, "deny")) == []


def test_a_step_that_does_not_come_true_is_named() -> None:
    assert failing(pay(60, "allow"), pay(60, "allow")) == [("story.step-2", "escalate")]


def test_another_day_and_another_caller_have_totals_of_their_own() -> None:
    same = [pay(100, "allow"), pay(100, "escalate")]
    assert failing(*same) == []
    assert failing(pay(100, "allow"), pay(100, "allow", sub="bob"), pay(100, "allow", TUESDAY)) == []


def test_a_step_without_a_time_happens_when_the_one_before_it_did() -> None:
    found = followed(pay(1, "allow", TUESDAY), pay(1, "allow", None))
    assert [each.call.at for each in found.scenarios] == [TUESDAY, TUESDAY]
    assert found.scenarios[1].call.facts == {"paid": 2}


def test_a_label_is_given_by_what_is_sent_and_stays() -> None:
    assert (
        failing(step("send", SEND, "allow"), step("get_user", GET, "allow"), step("send", SEND, "deny")) == []
    )


def test_a_label_of_an_answer_depends_on_the_answer() -> None:
    declared = spaces_facts.DECLARED["private"] | {
        "from_result": [{"name": "/class", "op": "equals", "value": "secret"}]
    }
    facts = {**spaces_facts.DECLARED, "private": declared}

    def labelled(**more: Any) -> Any:
        first = step("get_user", GET, "allow", **more)
        return (followed(first, step("send", SEND, "deny"), declared=facts).scenarios[1].call.facts or {})[
            "private"
        ]

    assert labelled(result={"class": "secret"}) is True
    assert labelled(result={"class": "open"}) is False
    assert labelled() is True  # what is not told cannot be read


def test_a_call_that_cannot_be_counted_is_refused_whatever_the_rules_say() -> None:
    assert failing(pay(None, "deny", rule="structural-fact-unavailable"), pay(100, "allow")) == []
    assert failing(pay(None, "allow"), pay(100, "allow")) == [("story.step-1", "deny")]


def test_a_clause_is_that_of_the_last_step() -> None:
    steps = (pay(60, "allow"), pay(60, "escalate"))
    assert [each.clause for each in scenarios(*steps, clause="C1").calls] == [None, "C1"]


def test_each_step_has_a_rego_test() -> None:
    told = scenarios(pay(60, "allow"), pay(60, "escalate"), pay(None, "deny"))
    opa = OpaCommand(find())
    tested = with_policy_tests(bundle(), told, opa)
    report = check_rego(tested, opa)
    named = [test.name for test in report.tests if "story" in test.name]
    assert len(named) == 2  # the third is refused before rules are asked


def test_what_follows_from_other_steps_is_not_stated() -> None:
    stated = pay(1, "allow")
    stated["call"]["facts"] = {"paid": 7}
    with pytest.raises(ScenarioError, match=r"'paid' follows from the steps before") as error:
        followed(pay(1, "allow"), stated)
    assert "story.step-2" in str(error.value.where)


def test_time_does_not_go_back() -> None:
    with pytest.raises(ScenarioError, match=r"story\.step-2 is earlier"):
        followed(pay(1, "allow", TUESDAY), pay(1, "allow", MONDAY))


@pytest.mark.parametrize(
    "wrong",
    [
        pay(1, "allow", approved=True),
        pay(1, "deny", result={}),
        {"expect": "allow"},
        pay(1, "allow", rulee="x"),
    ],
)
def test_a_mistake_in_a_step_names_the_step(wrong: Any) -> None:
    with pytest.raises((FormatError, SeveralErrors), match="/scenarios/0/steps/1"):
        scenarios(pay(1, "allow"), wrong)
