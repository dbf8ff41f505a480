"""Findings: ids that stay, severities, waivers, what is left out, and what cannot be exact."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from support.documents import text_at
from support.projects.planted import findings_of

from ironcurtain.analysis.findings.findings import waived
from ironcurtain.analysis.findings.report import Finding, FindingReport, markdown_lines, text_lines
from ironcurtain.analysis.findings.waivers import Waiver, Waivers
from ironcurtain.errors import FormatError, NewerFormatError
from ironcurtain.system.files import parse_document

READ = {"tool": ["read_file"], "paths": {"roles": ["read-path"], "within": ["~/Documents"]}}
GUEST = {"name": "/groups/*", "op": "equals", "value": "guests", "over": "some"}
DENY_GUESTS: dict[str, Any] = {
    "name": "deny-guests",
    "then": "deny",
    "if": {"roles": ["read-path"], "caller": [GUEST]},
}
ALLOW_READ: dict[str, Any] = {"name": "allow-read", "then": "allow", "if": READ}
TWICE: dict[str, Any] = {"name": "allow-again", "then": "allow", "if": READ}
TOOLS = ["read_file", "edit_file", "delete_file", "send_mail"]


def found(*rules: dict[str, Any], **more: Any) -> FindingReport:
    return findings_of({"tools": TOOLS, "rules": list(rules), **more})


def kinds(report: FindingReport) -> list[tuple[str, str]]:
    return [(finding.kind, finding.severity) for finding in report.findings]


# -- ids --------------------------------------------------------------------------------------------


def test_ids_stay_when_rules_and_clauses_are_renamed_moved_and_reworded() -> None:
    first = found(DENY_GUESTS, ALLOW_READ, TWICE)
    other = {"id": "C9", "text": "As said."}
    renamed = [
        {**each, "name": f"renamed-{number}", "clause": "C9", "reason": "Otherwise."}
        for number, each in enumerate([DENY_GUESTS, ALLOW_READ, TWICE])
    ]
    second = found(*renamed, clauses=[other])
    unrelated = {"name": "ask-mail", "then": "escalate", "if": {"roles": ["recipient"]}}
    third = found(unrelated, DENY_GUESTS, ALLOW_READ, TWICE)
    ids = [[finding.id for finding in each.findings] for each in (first, second, third)]
    assert ids[0] == ids[1] == ids[2]
    assert len(ids[0]) == 2


def test_equal_findings_have_ids_of_their_own() -> None:
    report = found(ALLOW_READ, TWICE, {**TWICE, "name": "allow-a-third-time"})
    ids = [finding.id for finding in report.findings]
    assert len(set(ids)) == 2
    assert max(ids) == f"{min(ids)}-2"


def test_two_runs_find_the_same() -> None:
    assert found(DENY_GUESTS, ALLOW_READ) == found(DENY_GUESTS, ALLOW_READ)


# -- kinds ------------------------------------------------------------------------------------------


def test_every_witness_is_a_whole_call_with_its_decision() -> None:
    (finding,) = found(DENY_GUESTS, ALLOW_READ).findings
    assert finding.kind == "evadable-rule"
    assert finding.witness is not None
    assert finding.witness.caller == {"groups": []}
    assert text_at(finding.witness.arguments, "path").startswith("/home/user/Documents/")
    assert (finding.witness.verdict, finding.witness.rule) == ("allow", "allow-read")


def test_a_rule_whose_calls_are_denied_for_what_else_they_hold_opens_nothing() -> None:
    denying = {"name": "deny-read", "then": "deny", "if": {"roles": ["read-path"], "in_sandbox": True}}
    allowing = {"name": "allow-all", "then": "allow", "if": {"tool": ["edit_file"]}}
    assert kinds(found(denying, allowing, tools=["edit_file"])) == [("dead-rule", "warning")]
    assert ("open-allow", "error") in kinds(found(allowing, tools=["edit_file"]))


@pytest.mark.parametrize(
    "test",
    [
        {"name": "kind", "op": "equals", "value": "guest"},
        {"name": "kind", "op": "not_in", "value": ["staff", "admin"]},
        {"name": "age", "op": "lt", "value": 18},
        {"name": "kind", "op": "present", "value": False},
    ],
    ids=["equals", "not_in", "lt", "missing"],
)
def test_a_caller_who_says_nothing_does_not_get_around_a_rule(test: dict[str, Any]) -> None:
    denying = {"name": "deny", "then": "deny", "if": {"roles": ["read-path"], "caller": [test]}}
    assert found(denying, ALLOW_READ).findings == ()


def test_a_list_of_facts_that_is_empty_gets_around_a_rule_and_a_missing_one_does_not() -> None:
    (finding,) = found(DENY_GUESTS, ALLOW_READ).findings
    assert "where that is empty" in finding.message


def test_a_rule_that_asks_whether_a_fact_is_given_tests_nothing_where_it_denies() -> None:
    given = {"name": "kind", "op": "present", "value": True}
    denying = {"name": "deny", "then": "deny", "if": {"roles": ["read-path"], "caller": [given]}}
    assert "vacuous-condition" in dict(kinds(found(denying, ALLOW_READ)))


OTHERS = {
    "an argument": {"args": [{"name": "subject", "op": "not_equals", "value": {"caller": "/sub"}}]},
    "a fact": {"caller": [{"name": "/sub", "op": "not_equals", "value": {"arg": "subject"}}]},
}


@pytest.mark.parametrize("condition", OTHERS.values(), ids=OTHERS)
def test_an_absent_argument_gets_around_a_comparison_with_a_fact(condition: dict[str, Any]) -> None:
    denying = {"name": "deny", "then": "deny", "if": {"tool": ["send_mail"], **condition}}
    (finding,) = found(denying, ALLOW_MAIL).findings
    assert finding.kind == "evadable-rule"
    assert finding.witness is not None
    assert "subject" not in finding.witness.arguments
    assert finding.witness.caller["sub"] is not None


def test_nothing_gets_around_a_comparison_with_a_fact_that_counts_absence() -> None:
    test = {"name": "subject", "op": "not_equals", "value": {"caller": "/sub"}, "or_absent": True}
    denying = {"name": "deny", "then": "deny", "if": {"tool": ["send_mail"], "args": [test]}}
    assert found(denying, ALLOW_MAIL).findings == ()


LABELLING = {"tool": ["label_file"], "roles": ["read-path"]}


@pytest.mark.parametrize(
    ("test", "how", "argument", "value"),
    [
        ({"name": "label", "op": "equals", "value": "secret"}, "of another type", "label", 7),
        ({"name": "label", "op": "lt", "value": 5}, "of another type", "label", "other"),
        ({"name": "/tags/*", "op": "equals", "value": "secret", "over": "some"}, "empty", "tags", []),
        ({"name": "tags", "op": "ge", "value": 1, "measure": "count"}, "empty", "tags", []),
    ],
    ids=["text", "number", "element", "count"],
)
def test_an_argument_that_must_be_given_is_emptied_or_of_another_type(
    test: dict[str, Any], how: str, argument: str, value: object
) -> None:
    asking = {"name": "ask", "then": "escalate", "if": {**LABELLING, "args": [test]}}
    allowing = {"name": "allow", "then": "allow", "if": LABELLING}
    (finding,) = found(asking, allowing, tools=["label_file"]).findings
    assert finding.kind == "evadable-rule"
    assert f"where that is {how}" in finding.message
    assert finding.witness is not None
    assert (finding.witness.arguments[argument], finding.witness.rule) == (value, "allow")


ASK_URGENT = {
    "name": "ask",
    "then": "escalate",
    "if": {"tool": ["send_mail"], "args": [{"name": "priority", "op": "gt", "value": 5}]},
}
ALLOW_MAIL: dict[str, Any] = {
    "name": "allow-mail",
    "then": "allow",
    "if": {"tool": ["send_mail"], "lists": {"roles": ["recipient"], "allowed": ["*@acme.example"]}},
}
ODD = {"name": "subject", "op": "matches", "value": "\\pL+"}
CLOSED = {
    **ASK_URGENT,
    "if": {"tool": ["send_mail"], "args": [{"name": "priority", "op": "gt", "value": 5, "or_absent": True}]},
}


def test_or_absent_closes_the_way_around() -> None:
    # The schema takes integers only, so leaving the priority out is the one way around.
    (finding,) = found(ASK_URGENT, ALLOW_MAIL).findings
    assert finding.witness is not None
    assert "priority" not in finding.witness.arguments
    assert kinds(found(CLOSED, ALLOW_MAIL)) == []


def test_no_way_around_where_nothing_allows_the_call() -> None:
    assert kinds(found(ASK_URGENT)) == []


def test_a_rule_about_what_lies_in_the_sandbox_is_dead_and_says_why() -> None:
    inside = {"roles": ["delete-path"], "within": ["/home/user/sandbox/keep"]}
    (finding,) = found({"name": "deny-keep", "then": "deny", "if": {"paths": inside}}).findings
    assert finding.kind == "dead-rule"
    assert "lies in the sandbox" in finding.message


def test_a_role_that_no_tool_of_the_rule_has_is_named() -> None:
    roles = {"roles": ["read-path", "delete-path"], "within": ["~/Documents"]}
    report = found({"name": "allow", "then": "allow", "if": {"tool": ["read_file"], "paths": roles}})
    assert kinds(report) == [("unknown-name", "error")]
    assert 'the role "delete-path"' in report.findings[0].message


def test_no_key_of_an_object_with_free_keys_is_unknown() -> None:
    keys = [{"name": "options", "of": "keys", "op": "in", "value": ["colour", "size"]}]
    report = found(
        {"name": "allow", "then": "allow", "if": {**LABELLING, "args": keys}}, tools=["label_file"]
    )
    assert "unknown-name" not in dict(kinds(report))


def test_a_tool_that_only_reads_may_be_allowed_as_a_whole() -> None:
    assert kinds(found({"name": "allow", "then": "allow", "if": {"tool": ["read_file"]}})) == []
    assert kinds(found({"name": "allow", "then": "allow", "if": {"tool": ["delete_file"]}})) == [
        ("open-allow", "error")
    ]


@pytest.mark.parametrize(
    "limit",
    [
        {"args": [{"name": "priority", "op": "le", "value": 5}]},
        {"caller": [{"name": "/team", "op": "equals", "value": "it"}]},
    ],
    ids=["bound", "caller"],
)
def test_a_bound_or_a_fact_about_the_caller_is_a_limit(limit: dict[str, Any]) -> None:
    rule = {"name": "allow", "then": "allow", "if": {"tool": ["send_mail"], **limit}}
    assert "open-allow" not in dict(kinds(found(rule)))


def test_a_clause_that_the_structural_checks_keep_needs_no_rule() -> None:
    clauses = [{"id": "C1", "text": "Read."}, {"id": "C2", "text": "The sandbox is free."}]
    call = {"server": "files", "tool": "delete_file", "arguments": {"path": "/home/user/sandbox/a"}}
    scenario = {"id": "in-sandbox", "call": call, "expect": "allow", "clause": "C2"}
    read = {"server": "files", "tool": "read_file", "arguments": {"path": "/home/user/Documents/a"}}
    tested = [scenario, {"id": "read", "call": read, "expect": "allow"}]
    tools = ["read_file", "delete_file"]
    said = {"clause": "C2", "server": "files", "kind": "structural", "reason": "Structural."}
    assert kinds(found(ALLOW_READ, tools=tools, clauses=clauses, scenarios=tested, claims=[said])) == []
    unsaid = found(ALLOW_READ, tools=tools, clauses=clauses, scenarios=tested)
    assert kinds(unsaid) == [("clause-without-rule", "error")]
    assert kinds(found(ALLOW_READ, tools=tools, clauses=clauses, scenarios=tested[1:])) == [
        ("clause-without-rule", "error"),
        ("unstated-exemption", "warning"),
    ]


def test_principles_need_neither_rule_nor_scenario() -> None:
    clauses = [{"id": "C1", "text": "Read."}, {"id": "C2", "text": "Be kind.", "principle": True}]
    assert kinds(found(ALLOW_READ, clauses=clauses)) == []


def test_a_record_tests_no_clause() -> None:
    read = {"server": "files", "tool": "read_file", "arguments": {"path": "/home/user/Documents/a"}}
    record = {"id": "read", "call": read, "expect": "allow", "origin": "generated"}
    assert kinds(found(ALLOW_READ, tools=["read_file"], scenarios=[record])) == [
        ("untested-clause", "warning")
    ]
    assert kinds(found(ALLOW_READ, tools=["read_file"], scenarios=[{**record, "origin": "intent"}])) == []


def test_what_the_workspace_permits_and_no_scenario_of_a_clause_demands_is_reported_by_server_and_role() -> (
    None
):
    def scenario(tool: str, expect: str = "allow", path: str = "/home/user/sandbox/a", **more: Any) -> Any:
        call = {"server": "files", "tool": tool, "arguments": {"path": path}}
        return {"id": tool.replace("_", "-"), "call": call, "expect": expect, **more}

    def unstated(*scenarios: Any, **more: Any) -> dict[str, str]:
        tools = ["read_file", "edit_file", "delete_file"]
        report = findings_of({"tools": tools, "rules": [], "scenarios": list(scenarios), **more})
        return {
            role: finding.witness.tool
            for finding in report.findings
            for role in ("read-path", "write-path", "delete-path")
            if finding.kind == "unstated-exemption" and role in finding.message
            if finding.witness is not None and finding.witness.rule == "structural-sandbox-allow"
        }

    looking = scenario("read_file", clause="C1")
    assert unstated(looking) == {"write-path": "edit_file", "delete-path": "delete_file"}
    # An edit reads and writes what it names; what nobody said, or no clause does, permits nothing.
    assert unstated(looking, scenario("edit_file", clause="C1")) == {"delete-path": "delete_file"}
    assert "write-path" in unstated(looking, scenario("edit_file"))
    assert "write-path" in unstated(scenario("edit_file", clause="C1", origin="generated"))
    assert "write-path" in unstated(scenario("edit_file", "deny", "/etc/passwd", clause="C1"))
    asking = {"name": "ask", "then": "escalate", "if": {"roles": ["write-path"], "in_sandbox": True}}
    assert unstated(looking, rules=[asking]) == {"delete-path": "delete_file"}
    unknown = findings_of({"tools": ["edit_file"], "rules": []})
    assert "unstated-exemption" not in dict(kinds(unknown))


# -- waivers ----------------------------------------------------------------------------------------


def accepting(report: FindingReport, expires: date) -> Waivers:
    listed = tuple(Waiver(id=each.id, reason="Known.", expires=expires) for each in report.findings)
    return Waivers(format="ironcurtain/waivers/v1", waivers=listed)


def test_a_waiver_counts_until_the_end_of_its_day() -> None:
    report = found(DENY_GUESTS, ALLOW_READ)
    waivers = accepting(report, date(2030, 6, 30))
    judged = waived(report, waivers, date(2030, 6, 30))
    assert (judged.unwaived(), judged.stale) == ((), ())
    late = waived(report, waivers, date(2030, 7, 1))
    assert len(late.unwaived()) == 1
    assert [each.problem for each in late.stale] == ["expired"]


def test_a_waiver_for_a_finding_that_is_gone_is_told_of() -> None:
    waivers = accepting(found(DENY_GUESTS, ALLOW_READ), date(2030, 6, 30))
    judged = waived(found(ALLOW_READ), waivers, date(2030, 1, 1))
    assert [each.problem for each in judged.stale] == ["gone"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            "format: ironcurtain/waivers/v1\nwaivers: [{id: x-12345678, reason: '', expires: '2030-01-01'}]",
            "reason",
        ),
        (
            "format: ironcurtain/waivers/v1\nwaivers: [{id: x-12345678, reason: y, expires: 'soon'}]",
            "expires",
        ),
        ("format: ironcurtain/waivers/v1\nwaivers: [{id: nothing, reason: y, expires: '2030-01-01'}]", "id"),
        ("format: ironcurtain/waivers/v1\nwaivers: [{id: x-12345678, reason: y}]", "expires"),
    ],
    ids=["no reason", "no date", "no id", "no expiry"],
)
def test_a_waiver_that_says_too_little_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(FormatError, match=complaint):
        parse_document(text, "waivers.yaml", Waivers)


def test_waivers_of_a_newer_format_are_refused() -> None:
    with pytest.raises(NewerFormatError):
        parse_document("format: ironcurtain/waivers/v2\nwaivers: []", "waivers.yaml", Waivers)


# -- text -------------------------------------------------------------------------------------------


def test_reports_show_what_somebody_wrote_only_visibly() -> None:
    clauses = [{"id": "C1", "text": "Evil \u202etext\x1b[31m | <b>"}]
    report = found({**ALLOW_READ, "name": "allow-read"}, clauses=clauses, scenarios=[])
    for lines in (list(text_lines(report)), list(markdown_lines(report))):
        assert not {"\u202e", "\x1b"} & set("\n".join(lines))
        assert any("untested-clause" in line for line in lines)
    assert not any("<b>" in line for line in markdown_lines(report))


def test_waived_findings_stand_in_markdown_with_their_reason_and_not_in_text() -> None:
    report = found(DENY_GUESTS, ALLOW_READ)
    judged = waived(report, accepting(report, date(2030, 6, 30)), date(2030, 1, 1))
    assert list(text_lines(judged)) == ["0 errors, 0 warnings, 0 notes, 1 waived"]
    assert "Waived until 2030-06-30: Known." in list(markdown_lines(judged))


def test_each_finding_names_a_page_that_exists() -> None:
    finding: Finding = found(DENY_GUESTS, ALLOW_READ).findings[0]
    assert (Path(__file__).parents[4] / finding.docs).is_file()


# -- what cannot be exact ---------------------------------------------------------------------------


def test_findings_about_a_tool_that_cannot_be_examined_are_sampled_and_the_report_says_why() -> None:
    rules = [ASK_URGENT, ALLOW_MAIL]
    exact = found(*rules, schema={"dependentRequired": {"priority": ["subject"]}})
    assert ("not found" in {each.proof for each in exact.findings}, exact.reasons) == (False, {})
    odd = {**ALLOW_MAIL, "name": "odd", "if": {**ALLOW_MAIL["if"], "args": [ODD]}}
    sampled = found(*rules, odd)
    assert ("dead-rule", "note", "not found") in {(f.kind, f.severity, f.proof) for f in sampled.findings}
    assert "a set of Unicode" in sampled.reasons["files/send_mail"][0]
    assert any(line.startswith("sampled: files/send_mail: ") for line in text_lines(sampled))
