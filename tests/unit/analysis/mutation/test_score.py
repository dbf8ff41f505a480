"""The mutation score of small policies: what notices a mutant, what is equivalent, what is missing."""

from __future__ import annotations

from typing import Any

import pytest
from support.documents import text_at
from support.projects.policies import annotations_of, compiled, rule, tool

from ironcurtain.analysis.mutation.report import MutationReport
from ironcurtain.analysis.mutation.score import mutation_score, survivors
from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.compiler.render.custom_modules import check_modules
from ironcurtain.decision.roles import Registry
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.errors import VerificationError
from ironcurtain.model.guarantees import Guarantees
from ironcurtain.model.scenarios import Scenarios
from ironcurtain.system import json_text
from ironcurtain.system.files import parse_document

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
READ = tool("read", contained=False, side_effects=False, path=["read-path"]) | {"input_schema": SCHEMA}
RULES = [
    rule("keep-out", "deny", paths={"roles": ["read-path"], "within": ["~/docs/private"]}),
    rule("docs", "allow", tool=["read"], paths={"roles": ["read-path"], "within": ["~/docs"]}),
]
CALLS = {
    "docs": ("~/docs/a", "allow", "docs"),
    "private": ("~/docs/private/a", "deny", "keep-out"),
    "home": ("~/a", "deny", None),
    "inside": ("~/docs/deep/er/a", "allow", None),
    "private-inside": ("~/docs/private/deep/er/a", "deny", None),
}


def scenarios(*names: str, origin: str = "handwritten") -> Scenarios:
    items = [
        {
            "id": name,
            "call": {"server": "files", "tool": "read", "arguments": {"path": CALLS[name][0]}},
            "expect": CALLS[name][1],
            "origin": origin,
            **({"rule": CALLS[name][2]} if CALLS[name][2] else {}),
        }
        for name in names
    ]
    document: dict[str, Any] = {
        "format": "ironcurtain/scenarios/v1",
        "world": {"sandbox": None},
        "scenarios": items,
    }
    return parse_document(json_text.pretty(document), "scenarios.yaml", Scenarios)


def guarantees(*items: dict[str, Any]) -> Guarantees:
    document: dict[str, Any] = {"format": "ironcurtain/guarantees/v1", "guarantees": list(items)}
    return parse_document(json_text.pretty(document), "guarantees.yaml", Guarantees)


def bundle(modules: dict[str, str] | None = None) -> Bundle:
    annotated = annotations_of({"files": [READ]})
    return assemble(
        compiled(RULES),
        annotated,
        registry=Registry(annotated.roles),
        release=Release(engine_version="test"),
        custom=check_modules(modules or {}, OpaCommand(find()), Registry(annotated.roles)),
    )


def score(
    known: Scenarios, promised: Guarantees | None = None, modules: dict[str, str] | None = None
) -> MutationReport:
    return mutation_score(bundle(modules), known, promised, OpaCommand(find()))


def outcome(report: MutationReport, change: str) -> tuple[str, str | None]:
    found = next(each for each in report.mutants if each.change == change)
    return found.outcome, found.by


@pytest.fixture(scope="module")
def report() -> MutationReport:
    """What two scenarios notice."""
    return score(scenarios("docs", "private"))


def test_scenarios_notice_mutants_by_verdict_and_by_rule(report: MutationReport) -> None:
    assert outcome(report, "without docs") == ("killed", "scenario docs")
    assert outcome(report, "docs: allow becomes deny") == ("killed", "scenario docs")
    assert outcome(report, "keep-out: deny becomes allow") == ("killed", "scenario private")
    assert outcome(report, "keep-out after docs") == ("killed", "scenario private")


def test_what_nothing_notices_survives_with_the_scenario_that_is_missing(report: MutationReport) -> None:
    assert outcome(report, "docs: ~/docs becomes ~") == ("survived", None)
    missing = next(each for each in report.mutants if each.change == "docs: ~/docs becomes ~").scenario
    assert missing is not None
    assert missing.expect.value == "deny"
    assert not text_at(missing.call.arguments, "path").startswith("/home/user/docs")
    complete = score(scenarios(*CALLS))
    assert (complete.score, complete.survived) == (100, 0)


def test_the_missing_scenarios_make_the_score_whole() -> None:
    known = scenarios("docs")
    report = score(known)
    assert report.survived > 0
    added = known.with_more(survivors(report))
    assert score(added).score == 100


def test_a_mutant_that_decides_no_call_otherwise_is_equivalent(report: MutationReport) -> None:
    # Without its rule, the private directory is still denied: but by another rule, and so noticed.
    assert outcome(report, "without keep-out") == ("killed", "scenario private")
    without_rules = scenarios("home")
    assert score(without_rules).equivalent == report.equivalent


def test_a_guarantee_notices_what_no_scenario_does() -> None:
    promised = guarantees(
        {"id": "G1", "never": "allow", "when": {"roles": ["read-path"], "outside": ["~/docs"]}}
    )
    assert outcome(score(scenarios("docs"), promised), "docs: ~/docs becomes ~") == ("killed", "guarantee G1")


def test_a_test_of_a_custom_module_notices_what_no_scenario_does() -> None:
    module = """package ironcurtain.custom.own

deny contains {"id": "x", "reason": "no"} if input.tool == "none"
"""
    asked = """package ironcurtain.custom.own_test

import data.ironcurtain.rules

test_docs_is_allowed if rules.rules.docs.then == "allow"
"""
    report = score(scenarios("private"), modules={"own.rego": module, "own_test.rego": asked})
    killed = outcome(report, "docs: allow becomes escalate")
    assert killed[0] == "killed"
    assert "test_docs_is_allowed" in str(killed[1])


def test_records_taken_from_the_policy_do_not_count() -> None:
    report = score(scenarios(*CALLS, origin="generated"))
    assert (report.scenarios, report.killed) == (0, 0)
    assert report.survived > 0
    assert report.score == 0


def test_a_policy_that_fails_its_own_scenarios_has_no_score() -> None:
    wrong = scenarios("docs")
    spoilt = wrong.scenarios[0].model_copy(update={"expect": "deny", "rule": None})
    with pytest.raises(VerificationError, match="the scenario docs expects deny"):
        score(wrong.model_copy(update={"entries": (spoilt,)}))


PEOPLE = {
    "customer": {"meaning": "Whom the agent acts for.", "is_caller": True},
    "supervisor": {"meaning": "Who leads the desk."},
}
ASKING = [{**rule("ask", "escalate", tool=["read"]), "approver": "supervisor"}]


def asking(approvers: list[str] | None) -> MutationReport:
    annotated = annotations_of({"files": [READ]})
    made = assemble(
        compiled(ASKING, approvers=PEOPLE),
        annotated,
        registry=Registry(annotated.roles),
        release=Release(engine_version="test"),
    )
    call = {"server": "files", "tool": "read", "arguments": {"path": "~/a"}}
    asked = {"id": "asked", "call": call, "expect": "escalate", "rule": "ask"}
    document: dict[str, Any] = {
        "format": "ironcurtain/scenarios/v1",
        "world": {"sandbox": None},
        "scenarios": [asked if approvers is None else {**asked, "approvers": approvers}],
    }
    known = parse_document(json_text.pretty(document), "scenarios.yaml", Scenarios)
    return mutation_score(made, known, None, OpaCommand(find()))


def test_a_scenario_that_names_who_is_asked_notices_that_somebody_else_is() -> None:
    for other in ("anybody", "customer"):
        assert outcome(asking(["supervisor"]), f"ask: asks {other}, not supervisor") == (
            "killed",
            "scenario asked",
        )
        survived = asking(None)
        change = f"ask: asks {other}, not supervisor"
        assert outcome(survived, change) == ("survived", None)
        missing = next(each.scenario for each in survived.mutants if each.change == change)
        assert missing is not None
        assert missing.approvers == ("supervisor",)


def test_a_scenario_that_names_somebody_else_fails() -> None:
    with pytest.raises(VerificationError, match="asked"):
        asking(["customer"])
