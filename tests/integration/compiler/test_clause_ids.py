"""A constitution that changes from compile to compile: who cites a clause goes on citing it."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from fixtures.tiny_project import RULES, SCENARIOS, tree
from support.projects.modelled import Place
from support.projects.notes_project import Notes

NEW, OTHER = "Nobody writes notes.", "Mail is read by nobody at all."
DELETED = {"clause": "C3", "kind": "not-here", "reason": "no tool writes"}


@pytest.fixture
def project(place: Place) -> Notes:
    found = Notes(place)
    cited = SCENARIOS.replace("    expect: allow\n", "    expect: allow\n    clause: C2\n")
    cited = cited.replace("arguments: {}}, expect: allow}", "arguments: {}}, expect: allow, clause: C3}")
    (found.directory / "scenarios.yaml").write_text(cited)
    assert found.compile().code == 0
    return found


def answer_for(*clauses: str) -> dict[str, Any]:
    """Return the project's rules, and that further clauses need none."""
    answer = copy.deepcopy(RULES)
    answer["not_enforceable"] += [{**DELETED, "clause": clause} for clause in clauses]
    return answer


def edit(project: Notes, before: str, after: str) -> None:
    path = project.directory / "constitution.md"
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


def ids(project: Notes) -> list[str]:
    return [clause["id"] for clause in project.published("compiled-policy.json")["clauses"]]


def test_a_clause_that_is_inserted_moves_no_scenario_and_no_rule(project: Notes) -> None:
    """It did: each scenario behind it stopped the compile, or was of another clause in silence."""
    edit(project, "- Notes in", f"- {NEW}\n- Notes in")
    project.answers["rules"] = [answer_for("C5")]
    project.start_over("rules")
    result = project.compile()
    assert result.code == 0, result.err
    assert ids(project) == ["C1", "C5", "C2", "C3", "C4"]
    rules = project.published("compiled-policy.json")["rules"]
    assert [rule["clause"] for rule in rules] == ["C2", "C3"]
    assert f'constitution.md:7: clause C5 is new: "{NEW}"' in result.err
    before = tree(project.directory / "generated")
    assert project.compile("--locked").code == 0
    assert tree(project.directory / "generated") == before


def test_the_id_of_a_deleted_clause_is_not_given_to_the_next_one(project: Notes) -> None:
    edit(project, "- Notes in", f"- {NEW}\n- Notes in")
    project.answers["rules"] = [answer_for("C5"), RULES, answer_for("C6")]
    project.start_over("rules")
    assert project.compile().code == 0
    edit(project, f"- {NEW}\n", "")
    result = project.compile()
    assert f'clause C5 is gone, and no other one gets its id: "{NEW}"' in result.err
    edit(project, "- Notes in", f"- {OTHER}\n- Notes in")
    assert project.compile().code == 0
    assert ids(project) == ["C1", "C6", "C2", "C3", "C4"]
    assert [each["id"] for each in project.published("compiled-policy.json")["former"]] == ["C5"]
    before = tree(project.directory / "generated")
    assert project.compile("--locked").code == 0
    assert tree(project.directory / "generated") == before


def test_ids_that_were_told_before_anything_was_published_stay(project: Notes) -> None:
    edit(project, "- Notes in", f"- {NEW}\n- Notes in")
    assert project.compile("--locked").code == 3
    noted = project.directory / "questions" / "clause-ids.json"
    assert not noted.exists()  # a locked compile notes nothing
    manual = ("--model", "manual")
    assert project.compile(*manual).code == 4
    assert noted.exists()
    edit(project, f"- {NEW}", f"- {OTHER}\n- {NEW}")
    assert project.compile(*manual).code == 4
    listed = project.run("lint", "--clauses").out.splitlines()
    assert [line.split()[0] for line in listed] == ["C1", "C6", "C5", "C2", "C3", "C4"]
    project.answers["rules"] = [answer_for("C5", "C6")]
    project.start_over("rules")
    assert project.compile().code == 0
    assert ids(project) == ["C1", "C6", "C5", "C2", "C3", "C4"]
    assert not noted.exists()


def test_an_id_that_its_author_writes_is_the_one_that_is_cited(project: Notes) -> None:
    edit(project, "Tags may be listed.", "Tags may be listed. {#tags}")
    scenarios = project.directory / "scenarios.yaml"
    result = project.compile()
    assert result.code == 2
    assert "scenario tags is of the clause" in result.err
    assert 'That clause has the id "tags" now.' in result.err
    scenarios.write_text(scenarios.read_text().replace("clause: C3", "clause: tags"))
    answer = copy.deepcopy(RULES)
    answer["rules"][1]["clause"] = "tags"
    project.answers["rules"] = [answer]
    project.start_over("rules")
    result = project.compile()
    assert result.code == 0, result.err
    assert ids(project) == ["C1", "C2", "tags", "C4"]
    assert "{#" not in (project.directory / "generated" / "compiled-policy.json").read_text()
    told = project.run("explain", "--clause", "tags", "--bundle", "generated/bundle")
    assert told.code == 0, told.err
    assert "Tags may be listed." in told.out
