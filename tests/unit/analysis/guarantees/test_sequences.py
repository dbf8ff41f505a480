"""Guarantees about sequences: proved over all sessions, or broken by the shortest one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.generators import spaces_facts
from support.projects.policies import rule

from ironcurtain.analysis.guarantees.guarantees import check_guarantees, report_lines
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.errors import FormatError, GuaranteeError, SeveralErrors
from ironcurtain.model.guarantees import GuaranteeResult, Guarantees
from ironcurtain.system.files import parse_document

SENT = {"tool": ["send"]}
READ = {"tool": ["get_user"]}
NEVER: dict[str, Any] = {"never": {"after": READ, "allow": SENT}}


def when(name: str, op: str, value: Any) -> dict[str, Any]:
    return {"fact": name, "op": op, "value": value}


GET = rule("get", "allow", tool=["get_user"])
SEND = rule("send", "allow", tool=["send"])
PRIVATE = rule("private", "deny", tool=["send"], facts=[when("private", "equals", True)])


def decided(
    rules: list[dict[str, Any]], demand: dict[str, Any], declared: dict[str, Any] | None = None
) -> GuaranteeResult:
    """Decide one guarantee about a policy of rules."""
    document = {"format": "ironcurtain/guarantees/v1", "guarantees": [{"id": "g", **demand}]}
    guarantees = parse_document(json.dumps(document), "guarantees.json", Guarantees)
    bundle = spaces_facts.bundle_of(rules, declared or spaces_facts.DECLARED)
    report = check_guarantees(bundle, guarantees, spaces_facts.WORLD, OpaCommand(find()))
    (result,) = report.results
    assert report.ok is result.holds
    assert [*report_lines(report)]
    return result


def tools_of(result: GuaranteeResult) -> list[str]:
    return [call.tool for call in result.sequence]


def at_most(number: float, per: str = "day") -> dict[str, Any]:
    return {"at_most": {"total": "paid", "per": per, "is": number}}


def test_a_label_that_stops_what_follows_is_a_proof() -> None:
    assert decided([PRIVATE, GET, SEND], NEVER).status == "proved"


def test_without_the_label_two_calls_break_it() -> None:
    result = decided([GET, SEND], NEVER)
    assert result.status == "broken"
    assert tools_of(result) == ["get_user", "send"]
    assert result.sequence[0].gives == ("private",)
    assert result.witness == result.sequence[-1]


def test_a_label_from_a_resource_is_a_proof_beside_a_sampled_tool_without_such_a_resource() -> None:
    friends = {"roles": ["recipient"], "allowed": ["*@example.com"]}
    label = {"source": "label", "clause": "C1", "from": {"lists": friends}}
    paid = rule("pay", "allow", tool=["pay"], facts=[when("private", "equals", False)])
    # Sets of Unicode letters are not followed.
    unread = rule(
        "get", "allow", tool=["get_order"], args=[{"name": "id", "op": "matches", "value": "\\pL+"}]
    )
    demand = {
        "never": {"after": {"roles": ["recipient"], "within": ["*@example.com"]}, "allow": {"tool": ["pay"]}}
    }
    declared = {**spaces_facts.DECLARED, "private": label}
    assert decided([paid, SEND, unread], demand, declared).status == "proved"
    by_all = {"never": {"after": {}, "allow": {"tool": ["pay"]}}}
    assert decided([paid, SEND, unread], by_all, declared).status == "broken"


def test_what_is_sent_with_approval_counts_as_sent() -> None:
    asked = rule("get", "escalate", tool=["get_user"])
    result = decided([asked, SEND], NEVER)
    assert result.status == "broken"
    assert [call.approved for call in result.sequence] == [True, False]


def test_what_is_never_sent_leads_nowhere() -> None:
    assert decided([rule("get", "deny", tool=["get_user"]), SEND], NEVER).status == "proved"


def test_a_label_that_opens_a_call_makes_the_sequence_longer() -> None:
    only_then = rule("send", "allow", tool=["send"], facts=[when("private", "equals", True)])
    pay = rule("pay", "allow", tool=["pay"])
    demand = {"never": {"after": {"tool": ["pay"]}, "allow": SENT}}
    result = decided([only_then, GET, pay], demand)
    assert result.status == "broken"
    assert sorted(tools_of(result)) == ["get_user", "pay", "send"]
    assert tools_of(result)[-1] == "send"


def test_a_call_that_cannot_follow_its_own_label_is_proved() -> None:
    # After the label nothing is paid, so nothing is mailed after a payment that would need it.
    only_then = rule("send", "allow", tool=["send"], facts=[when("private", "equals", True)])
    closed = rule("pay", "deny", tool=["pay"], facts=[when("private", "equals", True)])
    shut = rule("get", "deny", tool=["get_user"])
    unlabelled = [only_then, shut, closed, rule("pays", "allow", tool=["pay"])]
    assert decided(unlabelled, {"never": {"after": {"tool": ["pay"]}, "allow": SENT}}).status == "proved"


def test_a_label_of_an_answer_may_or_may_not_be_given() -> None:
    declared = {**spaces_facts.DECLARED}
    declared["private"] = {
        **declared["private"],
        "from_result": [{"name": "/class", "op": "equals", "value": "secret"}],
    }
    # The answer may give no label: then what follows is allowed.
    result = decided([PRIVATE, GET, SEND], NEVER, declared)
    assert result.status == "broken"
    assert result.sequence[0].gives == ()


def test_a_scope_without_calls_says_nothing() -> None:
    no_text = {"name": "method", "op": "equals", "value": 7}
    demand = {"never": {"after": READ, "allow": {"tool": ["pay"], "args": [no_text]}}}
    assert decided([GET, SEND], demand).status == "says nothing"


OVER = rule("over", "escalate", tool=["pay"], facts=[when("paid", "gt", 100)])
PAY = rule("pay", "allow", tool=["pay"])


def test_a_budget_that_is_kept_is_a_proof() -> None:
    assert decided([OVER, PAY], at_most(100)).status == "proved"
    assert decided([OVER, PAY], at_most(500)).status == "proved"


def test_a_budget_that_is_not_kept_is_broken_by_the_fewest_calls() -> None:
    result = decided([OVER, PAY], at_most(60))
    assert result.status == "broken"
    assert tools_of(result) == ["pay"]
    small = rule("small", "deny", tool=["pay"], args=[{"name": "amount", "op": "gt", "value": 50}])
    result = decided([small, OVER, PAY], at_most(60))
    assert result.status == "broken"
    assert tools_of(result) == ["pay", "pay"]
    total = sum(call.arguments["amount"] for call in result.sequence)  # type: ignore[misc]
    assert result.sequence[-1].facts["paid"] == total
    assert 60 < total <= 100


def test_a_number_of_calls_is_counted_one_by_one() -> None:
    declared = {**spaces_facts.DECLARED, "paid": {**spaces_facts.DECLARED["paid"], "of": SENT}}
    del declared["paid"]["add"]
    over = rule("over", "deny", tool=["send"], facts=[when("paid", "gt", 3)])
    assert decided([over, SEND], at_most(3), declared).status == "proved"
    result = decided([over, SEND], at_most(2), declared)
    assert (result.status, tools_of(result)) == ("broken", ["send"] * 3)


def test_another_window_is_not_decided() -> None:
    result = decided([OVER, PAY], at_most(100, "week"))
    assert result.status == "not found"
    assert result.reasons == ("the policy counts paid per day, not per week",)


def test_a_counter_that_is_not_declared_is_told() -> None:
    with pytest.raises(GuaranteeError, match=r"no counter .payd. is declared; did you mean .paid."):
        decided([OVER, PAY], {"at_most": {"total": "payd", "per": "day", "is": 1}})


@pytest.mark.parametrize(
    "wrong", [{**NEVER, **at_most(1)}, {"never": {"after": READ}}, {**at_most(1), "when": {}}]
)
def test_a_mistake_in_a_guarantee_is_told(wrong: dict[str, Any]) -> None:
    with pytest.raises((FormatError, SeveralErrors)):
        decided([GET], wrong)
