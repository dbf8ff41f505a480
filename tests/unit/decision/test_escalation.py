"""What a person who is asked must check, and who they must be."""

from __future__ import annotations

from typing import Any

import pytest
from support.called import answering, bundle, decide_with, load
from support.projects.policies import compiled, rule, tool
from support.records.approvals import written

from ironcurtain.bundle.content import PolicyContent
from ironcurtain.cli.review.decisions import as_json, as_text
from ironcurtain.decision.decide import Call
from ironcurtain.enforcement.approvals.describe import describe
from ironcurtain.enforcement.approvals.elicitation import elicitation_schema
from ironcurtain.enforcement.approvals.hook import notice_of
from ironcurtain.model.decision import ClauseCheck, Decision
from ironcurtain.system import json_text

CLAUSES = [
    {"id": "C1", "text": "Ask before a booking is cancelled."},
    {"id": "C2", "text": "No portion was flown."},
    {"id": "C3", "text": "Be polite."},
]
TOOLS = [tool("cancel", path=["read-path"], to=["write-path"]), tool("look", path=["read-path"])]
APPROVERS: dict[str, dict[str, Any]] = {
    "supervisor": {"meaning": "a supervisor"},
    "user": {"meaning": "the customer", "is_caller": True},
}
FLOWN = {"clause": "C2", "server": "s", "kind": "judgement", "tools": ["cancel"], "reason": "Nobody knows."}
POLITE = {"clause": "C3", "server": "s", "kind": "judgement", "reason": "A text must be judged."}
ASK = rule("ask", "escalate", tool=["cancel"])
GIVEN = {"path": "/srv/a", "to": "/srv/b"}


def decided(rules: list[dict[str, Any]], name: str = "cancel", given: Any = None, **policy: Any) -> Decision:
    made = bundle({"s": TOOLS}, rules, policy={"clauses": CLAUSES} | policy)
    call = Call("s", name, given if given is not None else GIVEN)
    return decide_with(load(made), call, answering(rules))


def test_what_no_rule_can_test_is_to_be_checked_where_another_clause_asks() -> None:
    found = decided([ASK], claims=[FLOWN, POLITE])
    assert [(each.clause, each.text) for each in found.checks] == [
        ("C2", "No portion was flown."),
        ("C3", "Be polite."),
    ]
    assert "check:   C2 No portion was flown." in as_text(found)


def test_a_claim_concerns_the_tools_that_it_names_or_all_of_its_server() -> None:
    look = rule("ask-look", "escalate", tool=["look"])
    found = decided([look], "look", {"path": "/srv/a"}, claims=[FLOWN, POLITE])
    assert [each.clause for each in found.checks] == ["C3"]


@pytest.mark.parametrize(
    "claim",
    [
        {**FLOWN, "kind": "structural", "tools": []},
        {**FLOWN, "kind": "not-here", "tools": []},
        {**FLOWN, "kind": "merged", "into": ["C1"]},
        {**FLOWN, "server": "other"},
    ],
)
def test_what_rules_keep_or_what_concerns_another_server_is_not_asked(claim: dict[str, Any]) -> None:
    assert decided([ASK], claims=[claim]).checks == ()


@pytest.mark.parametrize("then", ["allow", "deny"])
def test_a_call_of_which_nobody_is_asked_has_no_checklist(then: str) -> None:
    found = decided([rule("say", then, tool=["cancel"])], claims=[FLOWN])
    assert (found.verdict, found.checks, found.approvers) == (then, (), ())
    assert not {"checks", "approvers"} & json_text.parse_object(as_json(found)).keys()


def test_every_approver_whom_a_rule_of_the_call_names_is_asked() -> None:
    rules = [
        {**rule("ask-read", "escalate", roles=["read-path"]), "approver": "user"},
        {**rule("ask-write", "escalate", roles=["write-path"]), "approver": "supervisor"},
    ]
    found = decided(rules, approvers=APPROVERS)
    assert found.approvers == ("supervisor", "user")
    assert "The approval of this call by supervisor and user." in as_text(found)
    plain = [rule("ask-read", "escalate", roles=["read-path"]), rules[1]]
    assert decided(plain, approvers=APPROVERS).approvers == ("supervisor",)


def test_one_approver_whose_approvals_are_for_one_call_makes_it_so_for_all() -> None:
    rules = [
        {**rule("ask-read", "escalate", roles=["read-path"]), "approver": "user"},
        {**rule("ask-write", "escalate", roles=["write-path"]), "approver": "supervisor"},
    ]
    each_time = {**APPROVERS, "supervisor": {**APPROVERS["supervisor"], "once": True}}
    assert decided(rules, approvers=each_time).once_only
    assert not decided(rules, approvers=APPROVERS).once_only
    assert "once_only" not in json_text.parse_object(as_json(decided(rules, approvers=APPROVERS)))


def test_an_approver_of_a_rule_that_does_not_escalate_this_call_is_not_asked() -> None:
    rules = [
        {**rule("ask-read", "escalate", roles=["read-path"]), "approver": "user"},
        rule("no-write", "deny", roles=["write-path"]),
    ]
    found = decided(rules, approvers=APPROVERS)
    assert (found.verdict, found.approvers) == ("deny", ())


def test_a_policy_without_approvers_and_checks_has_the_data_that_it_always_had() -> None:
    made = bundle({"s": TOOLS}, [ASK])
    document = json_text.parse_object(made.files["ironcurtain/rules/data.json"])
    assert set(document) == {"rules", "clauses", "claims", "caller"}
    assert "approver" not in str(document)
    assert "approver" not in compiled([ASK]).model_dump_json(by_alias=True)


def test_a_bundle_holds_whose_approval_its_rules_ask_for() -> None:
    made = bundle({"s": TOOLS}, [{**ASK, "approver": "user"}], policy={"approvers": APPROVERS})
    content = PolicyContent.of(made)
    assert content.rules["ask"].approver == "user"
    assert content.approvers["user"].is_caller
    assert not content.approvers["supervisor"].is_caller


def test_a_request_tells_the_checklist_everywhere() -> None:
    hidden = ClauseCheck(clause="C2", text="No portion\u202e was flown.")
    request = written().model_copy(update={"checks": (hidden,), "approver": "supervisor"})
    text = describe(request)
    assert "check C2: | No portion\\u202e was flown." in text
    assert "approval of: | supervisor (who answers here)" in text
    notice = notice_of(request)
    assert notice.approver == "supervisor"
    assert [each.text for each in notice.checks] == ["No portion\\u202e was flown."]
    form = json_text.canonical(elicitation_schema(request)).decode()
    assert "C2: No portion\\\\u202e was flown." in form
