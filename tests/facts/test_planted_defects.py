"""Twelve defects, each planted in a sound policy and found by findings, diff or guarantees."""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import date
from typing import Any

import pytest
from support.projects import planted, shipped

from ironcurtain.analysis.diff.difference import difference
from ironcurtain.analysis.diff.report import Difference
from ironcurtain.analysis.engine.policy_analysis import analyse_policy
from ironcurtain.analysis.findings import findings
from ironcurtain.analysis.findings.report import Finding
from ironcurtain.analysis.findings.waivers import Waivers
from ironcurtain.analysis.guarantees.guarantees import check_guarantees
from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.annotate.embedded_languages import languages
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.model.guarantees import GuaranteeReport, Guarantees
from ironcurtain.model.scenarios import Scenarios
from ironcurtain.system import json_text
from ironcurtain.system.files import load, parse_document

Document = dict[str, Any]

SOUND: Document = {
    "tools": ["read_file", "edit_file", "delete_file", "send_mail"],
    "clauses": [
        {"id": "C1", "text": "The archive is never changed."},
        {"id": "C2", "text": "Files in Drafts and in the workspace may be edited and deleted."},
        {
            "id": "C3",
            "text": "Never mail rivals; ask before urgent mail; colleagues may be mailed.",
        },
    ],
    "rules": [
        {
            "name": "deny-archive",
            "clause": "C1",
            "then": "deny",
            "if": {"paths": {"roles": ["write-path", "delete-path"], "within": ["~/Drafts/archive"]}},
        },
        {
            "name": "allow-drafts",
            "clause": "C2",
            "then": "allow",
            "if": {
                "tool": ["read_file", "edit_file", "delete_file"],
                "paths": {"roles": ["read-path", "write-path", "delete-path"], "within": ["~/Drafts"]},
            },
        },
        {
            "name": "deny-rivals",
            "clause": "C3",
            "then": "deny",
            "if": {"tool": ["send_mail"], "lists": {"roles": ["recipient"], "allowed": ["@rivals"]}},
        },
        {
            "name": "ask-urgent",
            "clause": "C3",
            "then": "escalate",
            "if": {
                "tool": ["send_mail"],
                "args": [{"name": "priority", "op": "gt", "value": 5, "or_absent": True}],
            },
        },
        {
            "name": "allow-colleagues",
            "clause": "C3",
            "then": "allow",
            "if": {"tool": ["send_mail"], "lists": {"roles": ["recipient"], "allowed": ["*@acme.example"]}},
        },
    ],
    "lists": {"rivals": {"type": "recipient", "added": ["*@rival.example"]}},
    "scenarios": [
        *(
            {
                "id": f"{verb}-in-workspace",
                "call": {
                    "server": "files",
                    "tool": f"{verb}_file",
                    "arguments": {"path": "/home/user/sandbox/a"},
                },
                "expect": "allow",
                "clause": "C2",
            }
            for verb in ("edit", "delete")
        ),
        {
            "id": "edit-draft",
            "call": {"server": "files", "tool": "edit_file", "arguments": {"path": "/home/user/Drafts/a"}},
            "expect": "allow",
        },
        {
            "id": "delete-archived",
            "call": {
                "server": "files",
                "tool": "delete_file",
                "arguments": {"path": "/home/user/Drafts/archive/a"},
            },
            "expect": "deny",
        },
        {
            "id": "urgent",
            "call": {
                "server": "files",
                "tool": "send_mail",
                "arguments": {"to": ["a@acme.example"], "priority": 9},
            },
            "expect": "escalate",
        },
    ],
}


def with_change(change: Callable[[Document], object]) -> Document:
    document = copy.deepcopy(SOUND)
    change(document)
    return document


def rule(document: Document, name: str) -> Document:
    return next(each for each in document["rules"] if each["name"] == name)


def found(change: Callable[[Document], object]) -> list[Finding]:
    return list(planted.findings_of(with_change(change)).findings)


def compared(change: Callable[[Document], object]) -> Difference:
    old, new = planted.bundle_of(SOUND), planted.bundle_of(with_change(change))
    return difference(old, new, planted.WORLD, OpaCommand(find()))


def guaranteed(document: Document, **guarantee: Any) -> GuaranteeReport:
    text = json_text.pretty(
        {"format": "ironcurtain/guarantees/v1", "guarantees": [{"id": "G1", **guarantee}]}
    )
    demanded = parse_document(text, "guarantees.yaml", Guarantees)
    return check_guarantees(planted.bundle_of(document), demanded, planted.WORLD, OpaCommand(find()))


def test_nothing_stands_out_in_the_sound_policy() -> None:
    assert found(lambda _: None) == []


def test_dead_rule() -> None:
    (finding,) = found(lambda d: rule(d, "ask-urgent")["if"]["args"][0].update(value=50, or_absent=False))
    assert (finding.kind, finding.where) == ("dead-rule", "rule ask-urgent")
    assert "no call can meet its test priority > 50" in finding.message


def test_shadowed_rule() -> None:
    def plant(document: Document) -> None:
        document["rules"].insert(0, {**rule(document, "allow-colleagues"), "name": "allow-early"})

    shadowed = [each for each in found(plant) if each.kind == "shadowed-rule"]
    assert [(each.where, each.severity) for each in shadowed] == [("rule allow-colleagues", "warning")]
    assert "allow-early" in shadowed[0].message
    assert shadowed[0].witness is not None
    assert shadowed[0].witness.rule == "allow-early"


def test_vacuous_condition() -> None:
    (finding,) = [
        each
        for each in found(lambda d: rule(d, "ask-urgent")["if"]["args"][0].update(value=-1))
        if each.kind == "vacuous-condition"
    ]
    assert finding.where == "rule ask-urgent"
    assert "holds for every call" in finding.message


def test_misspelt_value() -> None:
    def plant(document: Document) -> None:
        tests = [{"name": "mode", "op": "equals", "value": "replcae"}]
        asking = {
            "name": "ask-replace",
            "clause": "C2",
            "then": "escalate",
            "if": {"tool": ["edit_file"], "args": tests},
        }
        document["rules"].insert(1, asking)

    (finding,) = found(plant)
    assert (finding.kind, finding.severity) == ("unknown-name", "error")
    assert finding.suggestion == 'Did you mean "replace"?'


def test_widened_directory() -> None:
    def plant(document: Document) -> None:
        rule(document, "allow-drafts")["if"]["paths"]["within"] = ["~"]

    difference_ = compared(plant)
    assert difference_.loosened
    assert all(change.direction == "loosened" for change in difference_.changes)
    elsewhere = {"roles": ["delete-path"], "outside": ["sandbox", "~/Drafts"]}
    assert guaranteed(SOUND, never="allow", when=elsewhere).ok
    assert not guaranteed(with_change(plant), never="allow", when=elsewhere).ok


def test_lost_clause() -> None:
    def plant(document: Document) -> None:
        document["rules"].remove(rule(document, "deny-archive"))

    lost = [each for each in found(plant) if each.kind == "clause-without-rule"]
    assert [(each.clause, each.severity) for each in lost] == [("C1", "error")]


def test_reordered_pair() -> None:
    def plant(document: Document) -> None:
        document["rules"][0], document["rules"][1] = document["rules"][1], document["rules"][0]

    # The archive lies in Drafts: now writing there is allowed before it can be denied.
    assert compared(plant).loosened
    (finding,) = [each for each in found(plant) if each.kind == "shadowed-rule"]
    assert (finding.severity, finding.where) == ("error", "rule deny-archive")
    assert finding.witness is not None
    assert (finding.witness.rule, finding.witness.verdict) == ("allow-drafts", "allow")


def test_list_emptied() -> None:
    (finding,) = [
        each
        for each in found(lambda d: d["lists"]["rivals"].update(added=[], resolved=[]))
        if each.kind == "empty-list"
    ]
    assert (finding.where, finding.severity) == ("list @rivals", "error")
    assert "deny-rivals" in finding.message
    assert compared(lambda d: d["lists"]["rivals"].update(added=[], resolved=[])).changes


def test_co_active_role_uncovered() -> None:
    def plant(document: Document) -> None:
        rule(document, "allow-drafts")["if"]["paths"]["roles"] = ["write-path", "delete-path"]

    uncovered = [each for each in found(plant) if each.kind == "uncovered-role"]
    (finding,) = [each for each in uncovered if each.where == "files/edit_file"]
    assert "no rule speaks of read-path" in finding.message
    assert finding.witness is not None
    assert (finding.witness.rule, finding.witness.verdict) == ("default-deny", "deny")


def test_contradictory_scenarios() -> None:
    def plant(document: Document) -> None:
        spelt = {"server": "files", "tool": "edit_file", "arguments": {"path": "/home/user/Drafts/./a"}}
        document["scenarios"].append({"id": "keep-draft", "call": spelt, "expect": "deny"})

    (finding,) = found(plant)
    assert (finding.kind, finding.severity) == ("contradictory-scenarios", "error")
    assert "edit-draft" in finding.message
    assert "keep-draft" in finding.message


def test_guarantee_violated() -> None:
    def plant(document: Document) -> None:
        rule(document, "deny-rivals")["then"] = "escalate"

    demand = {"never": "escalate", "when": {"roles": ["recipient"], "within": ["*@rival.example"]}}
    assert guaranteed(SOUND, **demand).ok
    (result,) = guaranteed(with_change(plant), **demand).results
    assert result.witness is not None
    assert (result.witness.rule, result.witness.verdict) == ("deny-rivals", "escalate")


def test_loosened_by_renaming() -> None:
    def rename(document: Document) -> None:
        rule(document, "deny-archive")["name"] = "keep-the-archive"

    def plant(document: Document) -> None:
        rename(document)
        rule(document, "keep-the-archive")["then"] = "escalate"

    assert compared(rename).changes == ()
    (change,) = {(each.direction, each.old, each.new) for each in compared(plant).changes}
    assert change == ("loosened", "deny", "escalate")


@pytest.mark.parametrize("directory", ["", "examples/office"], ids=["shipped", "office"])
def test_nothing_unwaived_stands_out_in_the_shipped_policies(directory: str) -> None:
    root = shipped.ROOT / directory
    generated = root / "generated"
    scenarios = load(generated / "test-scenarios.json", Scenarios)
    opa = OpaCommand(find())
    examined = analyse_policy(Bundle.read(generated / "bundle"), scenarios.world, opa)
    report = findings.find(examined, findings.Material(languages, scenarios.scenarios), opa)
    file = root / "waivers.yaml"
    waivers = load(file, Waivers) if file.exists() else Waivers(format="ironcurtain/waivers/v1")
    judged = findings.waived(report, waivers, date(2027, 1, 1))
    assert judged.unwaived("note") == ()
    assert judged.stale == ()
    assert judged.reasons == {}
