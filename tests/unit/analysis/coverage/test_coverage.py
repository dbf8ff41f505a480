"""Coverage: what scenarios and guarantees reach, and that records reach nothing."""

from __future__ import annotations

from typing import Any

from support.projects import planted, shipped

from ironcurtain.analysis.coverage.coverage import coverage
from ironcurtain.analysis.coverage.report import CoverageReport, Share
from ironcurtain.analysis.engine.policy_analysis import analyse_policy, analyse_with_guarantees
from ironcurtain.bundle.archive import Bundle
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.model.guarantees import Guarantees
from ironcurtain.model.scenarios import Scenarios
from ironcurtain.system import json_text
from ironcurtain.system.files import load, parse_document

POLICY: dict[str, Any] = {
    "tools": ["read_file", "send_mail"],
    "clauses": [{"id": f"C{number}", "text": f"Clause {number}."} for number in (1, 2, 10)],
    "rules": [
        {
            "name": "allow-read",
            "clause": "C2",
            "then": "allow",
            "if": {"tool": ["read_file"], "paths": {"roles": ["read-path"], "within": ["~/Documents"]}},
        },
        {
            "name": "ask-urgent",
            "clause": "C10",
            "then": "escalate",
            "if": {"roles": ["recipient"], "args": [{"name": "priority", "op": "gt", "value": 5}]},
        },
        {"name": "deny-mail", "clause": "C10", "then": "deny", "if": {"roles": ["recipient"]}},
    ],
}
READ = {
    "server": "files",
    "tool": "read_file",
    "arguments": {"path": "/home/user/Documents/a"},
}
MAIL: dict[str, Any] = {"server": "files", "tool": "send_mail", "arguments": {"to": ["a@acme.example"]}}
URGENT = {**MAIL, "arguments": {**MAIL["arguments"], "priority": 9}}


def covered(*scenarios: dict[str, Any], guarantees: list[dict[str, Any]] | None = None) -> CoverageReport:
    listed = [{"id": f"s{number}", **each} for number, each in enumerate(scenarios)]
    text = json_text.pretty({"format": "ironcurtain/scenarios/v1", "scenarios": listed})
    demands = None
    if guarantees is not None:
        document: dict[str, Any] = {"format": "ironcurtain/guarantees/v1", "guarantees": guarantees}
        demands = parse_document(json_text.pretty(document), "guarantees.yaml", Guarantees)
    opa = OpaCommand(find())
    examined = analyse_with_guarantees(planted.bundle_of(POLICY), planted.WORLD, opa, demands)
    return coverage(examined, parse_document(text, "scenarios.yaml", Scenarios).scenarios, opa)


def test_cells_and_rules_are_counted_once_each() -> None:
    nothing = covered()
    # read_file: Documents, elsewhere, the sandbox; send_mail: recipients.
    assert nothing.cells == Share(reached=0, total=4)
    assert nothing.rules == Share(reached=0, total=3)
    assert nothing.percent == 0
    one = covered({"call": READ, "expect": "allow"}, {"call": READ, "expect": "allow"})
    assert (one.cells.reached, one.rules.reached) == (1, 1)
    assert one.percent == 25


def test_a_mode_reaches_only_the_rule_that_decides_it() -> None:
    plain, urgent = covered({"call": MAIL, "expect": "deny"}), covered({"call": URGENT, "expect": "escalate"})
    assert plain.clauses[-1].missed == ("ask-urgent",)
    assert urgent.clauses[-1].missed == ("deny-mail",)
    assert plain.cells == urgent.cells


def test_a_rule_that_a_scenario_shows_to_decide_counts_where_nothing_was_examined() -> None:
    made = planted.bundle_of(POLICY)
    examined = analyse_policy(made, planted.WORLD, OpaCommand(find()))
    for one in examined.tools.values():
        one.answers.clear()
        one.gaps |= {"nothing was tried"}
    document: dict[str, Any] = {
        "format": "ironcurtain/scenarios/v1",
        "scenarios": [{"id": "s0", "call": READ, "expect": "allow"}],
    }
    listed = parse_document(json_text.pretty(document), "scenarios.yaml", Scenarios).scenarios
    report = coverage(examined, listed, OpaCommand(find()))
    assert (report.rules, report.cells.reached) == (Share(reached=1, total=1), report.cells.total)


def test_clauses_stand_in_the_order_of_their_numbers() -> None:
    report = covered({"call": READ, "expect": "allow", "clause": "C1"})
    assert [(each.clause, each.scenarios) for each in report.clauses] == [("C1", 1), ("C2", 1), ("C10", 0)]


def test_a_record_counts_for_nothing_and_intent_does() -> None:
    record = covered({"call": READ, "expect": "allow", "origin": "generated"})
    assert (record.scenarios, record.records, record.cells.reached, record.rules.reached) == (0, 1, 0, 0)
    assert covered({"call": READ, "expect": "allow", "origin": "intent"}).rules.reached == 1


def test_a_guarantee_reaches_what_it_speaks_of() -> None:
    urgent = {"name": "priority", "op": "gt", "value": 7}
    demand = {
        "id": "G1",
        "clause": "C10",
        "never": "allow",
        "when": {"roles": ["recipient"], "args": [urgent]},
    }
    report = covered(guarantees=[demand])
    assert (report.guarantees, report.cells.reached, report.rules.reached) == (1, 1, 1)
    assert report.cells.total == 4
    assert report.clauses[-1].missed == ("deny-mail",)
    narrow = {
        "id": "G2",
        "never": "allow",
        "when": {"roles": ["read-path"], "within": ["~/Documents/secret"]},
    }
    # A part of Documents is told apart for the guarantee, and still counts as one cell of the policy.
    assert covered(guarantees=[narrow]).cells == Share(reached=1, total=4)


def test_every_scenario_of_the_shipped_policy_is_found_among_the_cells() -> None:
    generated = shipped.ROOT / "generated"
    scenarios = load(generated / "test-scenarios.json", Scenarios)
    opa = OpaCommand(find())
    examined = analyse_policy(Bundle.read(generated / "bundle"), scenarios.world, opa)
    report = coverage(examined, scenarios.scenarios, opa)
    assert report.rules.reached == report.rules.total == len(examined.content.rules)
    assert report.missed
    assert all(each.where for each in report.missed)
