"""What an answer claims of clauses counts as far as it holds over all calls."""

from __future__ import annotations

from typing import Any

import pytest
from support.projects.planted import WORLD, bundle_of, findings_of

from ironcurtain.analysis.clauses.outcomes import clause_report
from ironcurtain.analysis.clauses.outcomes_text import outcome_words
from ironcurtain.analysis.clauses.report import ClauseOutcome
from ironcurtain.analysis.coverage.coverage import coverage
from ironcurtain.analysis.engine.policy_analysis import analyse_policy
from ironcurtain.analysis.engine.proof import Proof
from ironcurtain.analysis.guarantees.guarantees import check_guarantees, report_lines
from ironcurtain.analysis.matrix.matrix import matrix_of
from ironcurtain.analysis.matrix.text import text_lines
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.model.guarantees import Guarantees
from ironcurtain.model.scenarios import Scenarios
from ironcurtain.system import json_text
from ironcurtain.system.files import parse_document

CLAUSES = [{"id": "C1", "text": "Mail goes to colleagues."}, {"id": "C2", "text": "Nothing secret is sent."}]
COLLEAGUES = {"tool": ["send_mail"], "lists": {"roles": ["recipient"], "allowed": ["*@example.com"]}}
ALLOW = {"name": "allow-mail", "then": "allow", "if": COLLEAGUES}
SECRET = {"name": "subject", "op": "matches", "value": ".*secret.*"}
ASK_SECRET = {
    "name": "ask-secret",
    "clause": "C2",
    "then": "escalate",
    "if": {"tool": ["send_mail"], "args": [SECRET]},
}
ASK_ALL = {"name": "ask-mail", "clause": "C2", "then": "escalate", "if": {"tool": ["send_mail"]}}
CLAIM = {
    "clause": "C2",
    "server": "files",
    "kind": "judgement",
    "tools": ["send_mail"],
    "reason": "Nobody can tell.",
}
MERGED = {"clause": "C2", "server": "files", "kind": "merged", "into": ["C1"], "reason": "It is there."}
STRUCTURAL = {"clause": "C2", "server": "files", "kind": "structural", "reason": "It holds."}
KEY = {"server": "files", "tool": "read_file", "arguments": {"path": "/home/user/.ironcurtain/key"}}
OTHER = {"server": "files", "tool": "read_file", "arguments": {"path": "/etc/passwd"}}


def document(*rules: Any, claims: Any = (), scenarios: Any = (), **more: Any) -> dict[str, Any]:
    return {
        "clauses": CLAUSES,
        "rules": list(rules),
        "claims": list(claims),
        "scenarios": list(scenarios),
        "tools": ["read_file", "send_mail"],
        **more,
    }


def outcome(written: dict[str, Any], clause: str = "C2") -> ClauseOutcome:
    scenarios: dict[str, Any] = {"format": "ironcurtain/scenarios/v1", "world": WORLD.model_dump(mode="json")}
    text = json_text.pretty({**scenarios, "scenarios": written["scenarios"]})
    demanded = parse_document(text, "scenarios.yaml", Scenarios)
    report = clause_report(bundle_of(written), demanded, OpaCommand(find()))
    return next(each for each in report.clauses if each.clause.id == clause)


def kinds(written: dict[str, Any]) -> set[str]:
    return {finding.kind for finding in findings_of(written).findings}


def test_a_tool_that_is_asked_about_in_every_call_is_proved_to_be() -> None:
    found = outcome(document(ASK_ALL, claims=[CLAIM]))
    (asked,) = found.asked
    assert (asked.holds, asked.proof) == ("always", Proof.PROVED)
    assert "every call of files/send_mail is asked about" in outcome_words(found)


def test_a_tool_that_no_rule_allows_is_asked_about_or_denied() -> None:
    found = outcome(document(claims=[CLAIM]))
    assert found.outcome == "asked"
    assert "every call of files/send_mail is denied" in outcome_words(found)
    assert not {"false-claim", "unkept-clause"} & kinds(document(claims=[CLAIM]))


def test_what_is_asked_about_in_part_is_told_with_the_condition() -> None:
    found = outcome(document(ASK_SECRET, ALLOW, claims=[CLAIM]))
    (asked,) = found.asked
    assert asked.holds == "partly"
    words = outcome_words(found)
    assert (
        "a person is asked about files/send_mail where recipient is in *@example.com and subject matches"
        in words
    )
    assert ".*secret.*" in words
    assert not [untrue for untrue in ("every call", "only", "none is in") if untrue in words]
    assert asked.proof is Proof.FOUND


def test_a_condition_with_an_escape_of_its_own_is_escaped_once() -> None:
    odd = {**ASK_SECRET, "if": {"tool": ["send_mail"], "args": [{**SECRET, "value": "[^\\x00-\\x7F]"}]}}
    words = outcome_words(outcome(document(odd, ALLOW, claims=[CLAIM])))
    assert "x7F]" in words
    assert "\\\\\\" not in words


def test_a_clause_merged_into_rules_that_only_allow_is_told_until_a_scenario_shows_it() -> None:
    written = document(ALLOW, claims=[MERGED])
    (finding,) = (each for each in findings_of(written).findings if each.kind == "unkept-clause")
    assert finding.severity == "note"
    assert "the rules of C1 are said to keep the clause C2: they only allow" in finding.message
    shown = {"id": "other", "call": OTHER, "expect": "deny", "clause": "C2"}
    assert "unkept-clause" not in kinds(document(ALLOW, claims=[MERGED], scenarios=[shown]))
    deny = {**ASK_SECRET, "clause": "C1", "then": "deny", "name": "deny-secret"}
    assert "unkept-clause" not in kinds(document(deny, ALLOW, claims=[MERGED]))


def test_what_a_clause_denies_is_not_said_to_be_asked_about() -> None:
    deny_secret = {**ASK_SECRET, "name": "deny-secret", "then": "deny"}
    found = outcome(document(deny_secret, ALLOW, claims=[CLAIM]))
    assert "its rules deny files/send_mail where recipient is in" in outcome_words(found)
    assert "ask about" not in outcome_words(found)


def test_a_claim_that_no_rule_keeps_is_shown_false_by_a_call() -> None:
    written = document(ALLOW, claims=[CLAIM])
    assert outcome(written).outcome == "not-kept"
    (finding,) = (each for each in findings_of(written).findings if each.kind == "false-claim")
    assert finding.severity == "error"
    assert finding.witness is not None
    assert (finding.witness.tool, finding.witness.verdict) == ("send_mail", "allow")


def test_what_was_not_proved_is_not_said_to_hold() -> None:
    # A set of Unicode is followed in part only, so calls may have been missed.
    letters = {"tool": ["send_mail"], "args": [{**SECRET, "value": "\\pL+"}]}
    ask_letters = {"name": "ask-letters", "clause": "C2", "then": "escalate", "if": letters}
    found = outcome(document(ask_letters, ASK_ALL, claims=[CLAIM]))
    (asked,) = found.asked
    assert (asked.holds, asked.proof) == ("always", Proof.NOT_FOUND)
    assert "no call of files/send_mail was found that is allowed (not proved)" in outcome_words(found)


def test_a_merged_clause_counts_as_what_is_checked_of_the_other() -> None:
    assert outcome(document(ALLOW, claims=[MERGED])).outcome == "merged"
    lost = document(ASK_ALL, ALLOW, claims=[{**MERGED, "clause": "C1", "into": ["C2"]}, CLAIM])
    assert outcome(lost, "C1").outcome == "merged"
    unkept = document(claims=[MERGED, {**CLAIM, "clause": "C1", "tools": []}])
    assert outcome(unkept).outcome == "not-kept"
    assert "false-claim" in kinds(unkept)


def test_rules_that_never_decide_are_not_said_to_be_no_concern_of_the_tools() -> None:
    elsewhere = {"clause": "C2", "server": "other", "kind": "not-here", "reason": "No mail there."}
    written = document({**ASK_ALL, "clause": "C1"}, ASK_SECRET, claims=[elsewhere])
    found = outcome(written)
    assert (found.outcome, found.idle) == ("not-kept", ("ask-secret",))
    assert outcome_words(found) == "has rules that decide no call; ask-secret never decides"
    assert "unkept-clause" not in kinds(written)
    assert "shadowed-rule" in kinds(written)


def test_a_rule_that_is_not_proved_to_decide_nothing_is_not_said_to() -> None:
    # A set of Unicode is followed in part only, so calls may have been missed.
    letters = {**ASK_SECRET, "if": {"tool": ["send_mail"], "args": [{**SECRET, "value": "\\pL+"}]}}
    found = outcome(document({**ASK_ALL, "clause": "C1"}, letters))
    assert (found.idle, found.unproved) == (("ask-secret",), {"ask-secret": "sampled"})
    words = outcome_words(found)
    assert words == (
        "has rules, and no call was found that they decide; no call was found that ask-secret decides "
        "(not proved)"
    )


def test_a_rule_that_the_rest_of_every_call_overrules_enforces_nothing() -> None:
    def role(name: str, then: str, clause: str) -> dict[str, Any]:
        condition = {"tool": ["edit_file"], "roles": [name], "in_sandbox": True}
        return {"name": f"{then}-{name}", "clause": clause, "then": then, "if": condition}

    asking, denying = role("read-path", "escalate", "C2"), role("write-path", "deny", "C1")
    found = outcome(document(asking, denying, tools=["edit_file"]))
    assert (found.outcome, found.rules, found.idle) == ("not-kept", (), ("escalate-read-path",))
    assert found.unproved == {}
    assert "escalate-read-path never decides" in outcome_words(found)
    assert "dead-rule" in kinds(document(asking, denying, tools=["edit_file"]))
    beside = outcome(document(asking, {**denying, "then": "allow"}, tools=["edit_file"]))
    assert (beside.outcome, beside.rules, beside.idle) == ("enforced", ("escalate-read-path",), ())


def test_a_rule_that_asks_on_one_server_is_not_lost_where_another_has_a_claim() -> None:
    claim = {**CLAIM, "server": "crm", "kind": "judgement", "tools": ["add_note"]}
    noting = {"name": "allow-notes", "then": "allow", "if": {"server": ["crm"]}}
    found = outcome(document(ASK_ALL, noting, claims=[claim], facts={}))
    assert (found.outcome, found.rules) == ("enforced", ("ask-mail",))
    words = outcome_words(found)
    assert "is enforced by ask-mail; crm/add_note is not asked about" in words


@pytest.mark.parametrize(
    ("scenarios", "is_kept"),
    [
        ([], True),
        ([{"id": "key", "call": KEY, "expect": "deny", "clause": "C2"}], True),
        ([{"id": "other", "call": OTHER, "expect": "deny", "clause": "C2"}], False),
        (
            [
                {"id": "key", "call": KEY, "expect": "deny", "clause": "C2"},
                {"id": "other", "call": OTHER, "expect": "deny", "clause": "C2"},
            ],
            False,
        ),
    ],
    ids=["unshown", "shown", "contradicted", "contradicted-by-one"],
)
def test_what_is_said_to_hold_by_structure_is_held_against_its_scenarios(
    scenarios: Any, *, is_kept: bool
) -> None:
    written = document(ALLOW, claims=[STRUCTURAL], scenarios=scenarios)
    assert (outcome(written).outcome == "structural") == is_kept
    assert ("false-claim" in kinds(written)) != is_kept
    unshown = "which no scenario shows" in outcome_words(outcome(written))
    assert unshown == (is_kept and not scenarios)


def test_what_structure_cannot_permit_in_the_workspace_is_shown_by_a_call() -> None:
    clauses = [CLAUSES[0], {"id": "C2", "text": "The agent may send mail in its workspace."}]
    claim = {**STRUCTURAL, "tools": ["send_mail"]}
    written = document(claims=[claim], clauses=clauses)
    (finding,) = (each for each in findings_of(written).findings if each.kind == "false-claim")
    assert finding.severity == "error"
    assert finding.witness is not None
    assert (finding.witness.tool, finding.witness.verdict) == ("send_mail", "deny")
    exempt = document(claims=[STRUCTURAL], clauses=clauses, tools=["read_file"])
    assert "false-claim" not in kinds(exempt)


IN_SANDBOX = {"server": "files", "tool": "read_file", "arguments": {"path": "/home/user/sandbox/a"}}


@pytest.mark.parametrize("call", [KEY, IN_SANDBOX], ids=["denied", "allowed"])
def test_a_scenario_that_a_structural_check_decides_keeps_no_clause_of_which_nobody_says_so(
    call: Any,
) -> None:
    scenario = {"id": "s", "call": call, "expect": "deny" if call is KEY else "allow", "clause": "C2"}
    written = document(ALLOW, claims=[{**CLAIM, "tools": []}], scenarios=[scenario])
    assert outcome(written).outcome == "not-kept"
    assert "unkept-clause" in kinds(written)
    said = document(ALLOW, claims=[STRUCTURAL], scenarios=[scenario])
    assert outcome(said).outcome == "structural"
    assert "in its scenarios (structural-" in outcome_words(outcome(said))


# -- asked, and of whom -------------------------------------------------------------------------

ASK_OF_C1 = {"name": "ask-mail", "clause": "C1", "then": "escalate", "if": {"tool": ["send_mail"]}}
CUSTOMER = {"customer": {"meaning": "whom the agent acts for", "is_caller": True}}


def test_a_clause_that_no_rule_can_test_is_asked_where_the_rule_of_another_clause_asks() -> None:
    written = document(ASK_OF_C1, claims=[CLAIM])
    found = outcome(written)
    assert (found.outcome, found.rules) == ("asked", ())
    assert "every call of files/send_mail is asked about" in outcome_words(found)
    assert not {"false-claim", "unkept-clause", "dead-rule", "shadowed-rule"} & kinds(written)


def test_a_rule_that_only_asks_about_what_no_rule_can_test_is_asked_and_not_enforced() -> None:
    assert outcome(document(ASK_ALL, claims=[CLAIM])).outcome == "asked"
    assert outcome(document(ASK_ALL)).outcome == "enforced"


def test_a_rule_that_asks_behind_another_one_that_asks_is_not_reported() -> None:
    twice = {**ASK_ALL, "name": "ask-again"}
    assert "shadowed-rule" not in kinds(document(ASK_OF_C1, twice, claims=[CLAIM]))
    assert "shadowed-rule" in kinds(document(ASK_OF_C1, twice))
    allowed = {**ASK_OF_C1, "name": "allow-all", "then": "allow"}
    assert "shadowed-rule" in kinds(document(allowed, twice, claims=[CLAIM]))


def test_a_claim_without_tools_concerns_the_escalated_calls_of_its_server() -> None:
    found = outcome(document(ASK_OF_C1, claims=[{**CLAIM, "tools": []}]))
    assert [(each.tool, each.holds) for each in found.asked] == [("send_mail", "always")]


def test_reports_say_what_is_asked_and_what_is_asked_of_the_principal() -> None:
    written = document({**ASK_OF_C1, "approver": "customer"}, claims=[CLAIM], approvers=CUSTOMER)
    opa = OpaCommand(find())
    bundle = bundle_of(written)
    analysis = analyse_policy(bundle, WORLD, opa)
    text = "\n".join(text_lines(matrix_of(analysis)))
    assert "whoever is asked must check: C2" in text
    assert "C1 asked of customer, so not enforced against customer" in text
    covered = coverage(analysis, (), opa)
    assert {each.clause: each.asked for each in covered.clauses}["C2"] == ("files/send_mail",)
    assert {each.clause: each.asked_of_caller for each in covered.clauses} == {"C1": ("customer",), "C2": ()}
    demanded = Guarantees.model_validate_json(
        json_text.canonical(
            {
                "format": "ironcurtain/guarantees/v1",
                "guarantees": [{"id": "g", "never": "allow", "when": {"tool": ["send_mail"]}}],
            }
        )
    )
    report = check_guarantees(bundle, demanded, WORLD, opa)
    assert (report.results[0].status, report.results[0].asked_of_caller) == ("proved", ("customer",))
    assert "asked of customer, so not enforced against customer" in "\n".join(report_lines(report))
