"""What compile publishes, verify accepts; what it cannot keep of what people demand it refuses, and why."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import pytest
from fixtures.tiny_project import SCENARIOS
from support.projects.modelled import Place
from support.projects.notes_project import READ, TOOLS, Notes

LAX: tuple[str, ...] = ("", "matrix = true", "scenarios = 3", "coverage = 50")
STRICT: dict[str, str] = {
    'findings = "warning"': "findings",
    "scenarios = 4": "scenarios",
    "tests = 50": "opa check, opa test",
    "guarantees = 1": "guarantees",
    "mutation = 100": "mutation",
}
"""Settings of [verify] that the tiny project meets, and those that it does not, with the check that fails."""


@pytest.fixture
def project(place: Place) -> Notes:
    return Notes(place)


def demand(project: Notes, setting: str) -> None:
    (project.directory / "ironcurtain.toml").write_text(
        f'model = "manual"\nserial = 3\n[verify]\n{setting}\n'
    )


def failing(project: Notes) -> list[str]:
    report = json.loads(project.run("verify", "generated/bundle", "--format", "json").out)
    return [check["name"] for check in report["checks"] if check["status"] == "failed"]


def add_scenario(project: Notes, text: str) -> None:
    (project.directory / "scenarios.yaml").write_text(f"{SCENARIOS}  - {text}\n")


# -- what is published is what verify accepts -----------------------------------------------------


@pytest.mark.parametrize("setting", LAX)
def test_what_a_compile_publishes_verify_accepts(project: Notes, setting: str) -> None:
    demand(project, setting)
    result = project.compile()
    assert result.code == 0, result.err
    assert project.run("verify", "generated/bundle").code == 0


def test_a_compile_counts_the_records_that_verify_finds(project: Notes) -> None:
    assert project.compile().code == 0
    listed = json.loads((project.directory / "generated" / "test-scenarios.json").read_text())["scenarios"]
    recorded = next(each for each in listed if each.get("origin") == "generated")
    call, expect = json.dumps(recorded["call"]), recorded["expect"]
    add_scenario(project, f"{{id: demanded, call: {call}, expect: {expect}, why: It was recorded.}}")
    result = project.compile()
    told = re.search(r"\b(\d+) calls recorded\b", result.err)
    verified = project.run("verify", "generated/bundle", "--format", "json").out
    counts = {check["name"]: check["summary"] for check in json.loads(verified)["checks"]}
    assert told is not None, result.err
    assert counts["records"].startswith(f"{told[1]}, ")


@pytest.mark.parametrize("setting", STRICT)
def test_what_verify_would_refuse_a_compile_does_not_publish(project: Notes, setting: str) -> None:
    assert project.compile().code == 0
    before = (project.directory / "generated" / "verification.json").read_bytes()
    demand(project, setting)
    assert failing(project) == [STRICT[setting]]
    result = project.compile()
    assert result.code == 1
    assert f"FAIL  {STRICT[setting]}: " in result.err
    assert f"error[IC2001]: the compiled policy does not verify: {STRICT[setting]} (" in result.err
    assert (project.directory / "generated" / "verification.json").read_bytes() == before


def test_a_finding_that_fails_names_the_id_that_a_waiver_needs(project: Notes) -> None:
    demand(project, 'findings = "warning"')
    refused = project.compile()
    assert refused.code == 1
    ids = [
        line.split("[")[1].split("]")[0] for line in refused.err.splitlines() if " error: clause C4" in line
    ]
    waivers = [{"id": id_, "reason": "A person looks at it.", "expires": "2999-12-31"} for id_ in ids]
    document = {"format": "ironcurtain/waivers/v1", "waivers": waivers}
    (project.directory / "waivers.yaml").write_text(json.dumps(document))
    result = project.compile()
    assert result.code == 0, result.err
    assert project.run("verify", "generated/bundle").code == 0


def test_a_rule_that_never_decides_is_told_before_it_is_published(project: Notes) -> None:
    demand(project, 'findings = "warning"')
    rules = copy.deepcopy(project.answers["rules"][0])
    again = {**rules["rules"][1], "name": "notes-allow-tags-again"}
    project.answers["rules"] = [{**rules, "rules": [*rules["rules"], again]}]
    result = project.compile()
    assert result.code == 1
    assert "the rule notes-allow-tags-again (allow) never decides" in result.err
    assert not (project.directory / "generated").exists()


def test_the_figures_of_findings_and_coverage_are_part_of_the_result(project: Notes) -> None:
    assert project.compile().code == 0
    checks = {each["name"]: each for each in project.published("verification.json")["checks"]}
    assert checks["findings"]["ok"]
    assert checks["coverage"]["count"] > 0


# -- ground truth ---------------------------------------------------------------------------------


def protected(expect: str) -> str:
    call = "{server: notes, tool: read_note, arguments: {path: /home/user/.ironcurtain/key}}"
    return f"{{id: key, call: {call}, expect: {expect}}}"


@pytest.mark.parametrize("expect", ["allow", "escalate"])
def test_a_scenario_against_the_structure_stops_the_compile(project: Notes, expect: str) -> None:
    add_scenario(project, protected(expect))
    result = project.compile()
    assert result.code == 2
    assert (
        f"error[IC1301]: scenario key expects {expect}, but structural-protected-path makes it deny"
        in result.err
    )
    assert "scenarios.yaml:9" in result.err
    assert "hint: Expect deny" in result.err
    assert project.calls == {"annotate": 1}
    assert not (project.directory / "generated").exists()


def test_a_scenario_with_the_structure_is_checked_like_any_other(project: Notes) -> None:
    add_scenario(project, protected("deny"))
    result = project.compile()
    assert result.code == 0, result.err
    assert project.scenarios("handwritten")["key"] == "deny"
    (check,) = (c for c in project.published("verification.json")["checks"] if c["name"] == "scenarios")
    assert check["count"] == 4


def test_a_published_scenario_that_the_structure_turns_round_fails(project: Notes) -> None:
    add_scenario(project, protected("deny"))
    assert project.compile().code == 0
    file = project.directory / "generated" / "test-scenarios.json"
    document = json.loads(file.read_text())
    for each in document["scenarios"]:
        each["expect"] = "allow" if each["id"] == "key" else each["expect"]
    file.write_text(json.dumps(document))
    result = project.run("verify", "generated/bundle")
    assert result.code == 1
    assert "scenario key: expected allow, got deny by structural-protected-path" in result.out


class Browser(Notes):
    """The tiny project with a tool that takes addresses without a scheme."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
        self.write_tools({**READ, "inputSchema": schema})
        (self.directory / "constitution.md").write_text("- Pages of example.com may be read.\n")
        call = "{server: notes, tool: read_note, arguments: {path: www.example.com/a}}"
        listed = "{server: notes, tool: list_tags, arguments: {}}"
        text = "format: ironcurtain/scenarios/v1\nscenarios:\n"
        text += f"  - {{id: page, call: {call}, expect: allow, clause: C1}}\n"
        text += f"  - {{id: tags, call: {listed}, expect: deny}}\n"
        (self.directory / "scenarios.yaml").write_text(text)
        domains = [{"roles": ["fetch-url"], "allowed": ["*.example.com"]}]
        rule: dict[str, Any] = {
            "name": "notes-read-pages",
            "description": "",
            "clause": "C1",
            "if": {"tool": ["read_note"], "domains": domains},
            "then": "allow",
            "reason": "Pages of example.com may be read.",
        }
        self.answers |= {"rules": [{"rules": [rule], "not_enforceable": []}]}
        self.annotate({})

    def annotate(self, more: dict[str, Any]) -> None:
        tools = copy.deepcopy(TOOLS)
        tools["tools"][1]["args"] = [{"name": "path", "roles": ["fetch-url"], **more}]
        self.answers["annotate"] = [tools]


def test_an_address_without_a_scheme_is_not_left_out_but_explained(place: Place) -> None:
    project = Browser(place)
    result = project.compile()
    assert result.code == 2
    assert "scenario page expects allow, but structural-unrepresentable-argument makes it deny" in result.err
    assert "is a URL without a scheme" in result.err
    assert "`assume_scheme`" in result.err
    project.annotate({"assume_scheme": "https"})
    assert project.compile("--refresh", "annotate").code == 0
    call = ("notes", "read_note", '{"path": "www.example.com/a"}')
    decided = project.run("decide", "--bundle", "generated/bundle", "--home", ".", *call)
    assert decided.code == 0, decided.err


# -- the clauses that scenarios name --------------------------------------------------------------


def of_clause(clause: str) -> str:
    call = "{server: notes, tool: read_note, arguments: {path: /home/user/notes/b}}"
    return f"{{id: read-b, call: {call}, expect: allow, clause: {clause}}}"


def test_a_scenario_of_no_clause_stops_the_compile_before_anything_is_asked(project: Notes) -> None:
    add_scenario(project, of_clause("C9"))
    result = project.compile()
    assert result.code == 2
    assert 'scenario read-b is of the clause "C9", which the constitution does not have' in result.err
    assert "scenarios.yaml:" in result.err
    assert 'Known: "C1", "C2", "C3", "C4".' in result.err
    assert project.calls == {}


def test_a_scenario_that_another_clause_decides_fails(project: Notes) -> None:
    """It came true, and showed nothing of the clause that it was written for."""
    add_scenario(project, of_clause("C3"))
    result = project.compile()
    assert result.code == 1
    said = "scenario read-b is of the clause C3, and what decides it is C2 (by notes-allow-read)"
    assert re.search(rf"scenarios.yaml:9:\d+: {re.escape(said)}\. Name C2 in the scenario", result.err)
    assert "does not verify: scenarios (1 of 4 fail)" in result.err
    assert project.calls == {"annotate": 1, "rules": 1}  # no model is asked to repair it
    assert not (project.directory / "generated").exists()


@pytest.mark.parametrize(
    ("clause", "said", "mend"),
    [
        (
            "C3",
            "scenario read-b is of the clause C3, and what decides it is C2 (by notes-allow-read)",
            "Name C2 in the scenario; or, if C3 has to decide, correct the rules.",
        ),
        ("C22", "scenario read-b is of the clause C22, which does not exist", 'Did you mean "C2"?'),
    ],
)
def test_verify_holds_scenarios_to_the_clauses_that_they_name(
    project: Notes, clause: str, said: str, mend: str
) -> None:
    add_scenario(project, of_clause("C2"))
    assert project.compile().code == 0
    # What a bundle was verified by lies beside it: somebody edits both files.
    recorded = project.directory / "generated" / "test-scenarios.json"
    document = json.loads(recorded.read_text())
    next(each for each in document["scenarios"] if each["id"] == "read-b")["clause"] = clause
    recorded.write_text(json.dumps(document))
    written = project.directory / "scenarios.yaml"
    written.write_text(written.read_text().replace("clause: C2", f"clause: {clause}"))
    result = project.run("verify", "generated/bundle", "--format", "json")
    assert result.code == 1
    checks = {check["name"]: check for check in json.loads(result.out)["checks"]}
    problem, altered = checks["scenarios"]["problems"]
    assert altered["id"] == "test-scenarios.json"
    assert problem["message"] == said
    assert (problem["file"], problem["line"]) == ("scenarios.yaml", 9)
    assert problem["suggestion"] == mend
    assert not [each for each in checks["findings"]["problems"] if "read-b" in each["message"]]
