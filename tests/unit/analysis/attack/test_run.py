"""Attacks on small policies: planted weaknesses are found with their smallest pair."""

from __future__ import annotations

from typing import Any

import pytest
from support.called import HOME, SANDBOX, bundle, described
from support.documents import text_at
from support.projects.policies import rule, tool

from ironcurtain.analysis.attack import MAXIMUM
from ironcurtain.analysis.attack.bases import RecordedCalls, places_of
from ironcurtain.analysis.attack.report import AttackReport, report_lines
from ironcurtain.analysis.attack.run import attack
from ironcurtain.analysis.engine.policy_analysis import analyse_policy
from ironcurtain.enforcement.audit.record_types import DecisionRecord
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.model.scenarios import Scenario

SECRET = f"{HOME}/secrets/key"
READ = tool("read", side_effects=False, path=["read-path"])
FREE = {"type": "object", "properties": {"mode": {"type": "string"}}}
KEEP_OUT = rule("keep-out", "deny", paths={"roles": ["read-path"], "within": ["~/secrets"]})
ELSEWHERE = rule("elsewhere", "allow", paths={"roles": ["read-path"], "within": ["~"]})


def scenario(tool: str, arguments: dict[str, Any], expect: str = "deny") -> Scenario:
    document = {
        "id": f"{tool}-it",
        "call": {"server": "s", "tool": tool, "arguments": arguments},
        "expect": expect,
    }
    return Scenario.model_validate(document, strict=False)


def attacked(
    tools: list[dict[str, Any]],
    rules: list[dict[str, Any]],
    scenarios: list[Scenario],
    maximum: int = MAXIMUM,
    recorded: RecordedCalls = RecordedCalls(),  # noqa: B008 - immutable
    **world: Any,
) -> AttackReport:
    opa = OpaCommand(find())
    examined = analyse_policy(bundle({"s": tools}, rules), described(**world), opa)
    return attack(examined, scenarios, opa, maximum=maximum, recorded=recorded)


def test_nothing_is_found_in_a_sound_policy() -> None:
    calls = [scenario("read", {"path": SECRET}), scenario("read", {"path": f"{HOME}/a"}, "allow")]
    report = attacked([READ], [KEEP_OUT, ELSEWHERE], calls)
    assert report.breaks == ()
    assert report.outcome == "not found"
    assert {"dot segments", "symbolic link", "case", "~", "relative form"} <= set(report.tried)
    assert "a search, no proof" in list(report_lines(report))[-1]


def test_a_path_that_is_annotated_as_nothing_is_reached() -> None:
    weak = tool("show", side_effects=False, place=["none"])
    calls = [scenario("read", {"path": SECRET}), scenario("show", {"place": f"{HOME}/docs/a"}, "allow")]
    show = rule("show", "allow", tool=["show"])
    report = attacked([READ, weak], [KEEP_OUT, ELSEWHERE, show], calls)
    reached = [each for each in report.breaks if each.kind == "reached"]
    assert report.outcome == "found"
    assert {call.tool for each in reached for call in each.calls} == {"show"}
    assert reached[0].base.verdict == "deny"
    assert any(text_at(each.calls[0].arguments, "place").startswith(f"{HOME}/secrets") for each in reached)


def test_a_rule_on_a_value_is_evaded_by_its_case() -> None:
    push = tool("push", mode=["none"]) | {"input_schema": FREE}
    rules = [
        rule("no-force", "deny", tool=["push"], args=[{"name": "mode", "op": "equals", "value": "force"}]),
        rule("push", "allow", tool=["push"]),
    ]
    report = attacked([push], rules, [scenario("push", {"mode": "force"})])
    by_case = next(each for each in report.breaks if each.respelling == "value: case")
    assert by_case.base.rule == "no-force"
    assert by_case.calls[0].arguments == {"mode": "FORCE"}
    assert by_case.calls[0].verdict == "allow"


def test_a_value_that_the_schema_fixes_is_not_evaded() -> None:
    schema = {"type": "object", "properties": {"mode": {"type": "string", "enum": ["force", "plain"]}}}
    push = tool("push", mode=["none"]) | {"input_schema": schema}
    rules = [
        rule("no-force", "deny", tool=["push"], args=[{"name": "mode", "op": "equals", "value": "force"}]),
        rule("push", "allow", tool=["push"]),
    ]
    report = attacked([push], rules, [scenario("push", {"mode": "force"})])
    assert report.breaks == ()
    assert report.tried["value: case"] > 0


def test_a_value_that_only_a_rule_that_allows_names_is_no_way_around() -> None:
    push = tool("push", mode=["none"]) | {"input_schema": FREE}
    rules = [rule("plain", "allow", tool=["push"], args=[{"name": "mode", "op": "equals", "value": "plain"}])]
    assert attacked([push], rules, [scenario("push", {"mode": "PLAIN"})]).breaks == ()


def test_what_may_not_be_read_is_moved_and_read() -> None:
    move = tool("move", source=["read-path", "delete-path"], destination=["write-path"])
    rules = [
        rule("keep-out", "deny", tool=["read"], paths={"roles": ["read-path"], "within": ["~/secrets"]}),
        rule("move", "allow", tool=["move"]),
    ]
    calls = [
        scenario("read", {"path": SECRET}),
        scenario("move", {"source": f"{HOME}/a", "destination": f"{SANDBOX}/a"}, "allow"),
    ]
    report = attacked([READ, move], rules, calls)
    found = [each for each in report.breaks if each.respelling == "moved first"]
    assert [call.tool for call in found[0].calls] == ["move", "read"]
    assert found[0].base.verdict == "deny"


def test_a_list_is_decided_in_two_calls() -> None:
    mail = tool("mail", to=["recipient"])
    mates = rule("mates", "allow", lists={"roles": ["recipient"], "allowed": ["*@example.com"]})
    call = scenario("mail", {"to": ["a@example.com", "b@example.org", "c@example.com"]})
    report = attacked([mail], [mates], [call])
    assert report.tried["split over two calls"] >= 1
    assert report.breaks == ()


def test_a_second_name_of_a_protected_file_stays_protected() -> None:
    protected = f"{HOME}/.ironcurtain"
    calls = [scenario("read", {"path": f"{protected}/key"})]
    report = attacked([READ], [rule("all", "allow", roles=["read-path"])], calls, protected=(protected,))
    assert report.tried["hard link"] > 0
    assert report.breaks == ()


def test_the_same_attack_twice_tells_the_same_and_says_what_it_left_out() -> None:
    calls = [scenario("read", {"path": SECRET})]
    one, two = (attacked([READ], [KEEP_OUT, ELSEWHERE], calls, maximum=40) for _ in range(2))
    assert one == two
    assert sum(one.tried.values()) == 40
    assert any("for want of room" in each.what for each in one.left_out)


@pytest.mark.parametrize("redacted", [(), ("/arguments/path",)])
def test_recorded_calls_are_attacked_where_their_places_stand(redacted: tuple[str, ...]) -> None:
    record = DecisionRecord.model_validate(
        {
            "time": "2026-01-01T00:00:00.000000Z",
            "id": "c1",
            "server": "s",
            "tool": "read",
            "raw_digest": "sha256:" + "0" * 64,
            "arguments": {"path": "/Users/ann/secrets/key"},
            "redacted": redacted,
            "verdict": "deny",
            "rule": "keep-out",
            "reason": "so",
            "forwarded": False,
            "revision": "sha256:" + "0" * 64,
        },
        strict=False,
    )
    recorded = RecordedCalls((record,), places_of(described(), "/Users/ann", None))
    report = attacked([READ], [KEEP_OUT, ELSEWHERE], [], recorded=recorded)
    if redacted:
        assert "recorded" not in report.bases
        assert any("redacted" in each.what for each in report.left_out)
    else:
        assert report.bases["recorded"] == 1


@pytest.mark.parametrize("file", ["secret", "./secret", f"{SANDBOX}/secret", f"{HOME}/repo/secret"])
def test_a_path_that_starts_at_another_argument_is_respelled_from_there(file: str) -> None:
    """A false alarm on the stock git server: `secret` of a repository was taken for one of the workspace."""
    both = tool("add", repo=["read-path"], file=["read-path"])
    both["args"][1]["relative_to"] = "repo"
    rules = [
        rule("keep-out", "deny", paths={"roles": ["read-path"], "within": ["~/repo/secret"]}),
        rule("own", "deny", paths={"roles": ["read-path"], "within": ["~/sandbox/secret"]}),
        rule("rest", "allow", paths={"roles": ["read-path"], "within": ["~"]}),
    ]
    calls = [scenario("add", {"repo": f"{HOME}/repo", "file": file})]
    report = attacked([both], rules, calls)
    assert [(one.kind, one.calls) for one in report.breaks] == []
    assert "relative form" in report.tried
