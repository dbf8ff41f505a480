"""What a compile proves of all calls, and what it does where a proof, a judge or two runs disagree."""

from __future__ import annotations

import json

import pytest
from fixtures.tiny_project import RULES, tree
from support.projects.modelled import Place
from support.projects.notes_project import Notes, rules_about

GUARANTEES = """\
format: ironcurtain/guarantees/v1
guarantees:
  - {id: notes-only, clause: C2, never: allow, when: {roles: [read-path], outside: ["~/notes"]}}
  - {id: tags-always, always: allow, when: {tool: [list_tags]}}
"""


class Project(Notes):
    """The tiny project, which promises something of all calls."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        (self.directory / "guarantees.yaml").write_text(GUARANTEES)

    def add_setting(self, text: str) -> None:
        path = self.directory / "ironcurtain.toml"
        path.write_text(f"{path.read_text()}{text}\n")


@pytest.fixture
def project(place: Place) -> Project:
    return Project(place)


def test_matrix_and_guarantees_are_part_of_the_result(project: Project) -> None:
    result = project.compile()
    assert result.code == 0, result.err
    checks = {check["name"]: check for check in project.published("verification.json")["checks"]}
    assert checks["guarantees"] == {"name": "guarantees", "ok": True, "count": 2, "detail": "all hold"}
    assert checks["decision matrix"]["count"] == 2
    assert "all exact" in checks["decision matrix"]["detail"]
    printed = project.run("matrix", "generated/bundle", "--format", "json").out
    assert (project.directory / "generated" / "decision-matrix.json").read_text() == printed
    rows = [
        row
        for table in project.published("decision-matrix.json")["servers"]["notes"]
        for row in table["rows"]
    ]
    assert {row["outcomes"][0]["verdict"] for row in rows} == {"allow", "deny"}


def test_a_broken_guarantee_publishes_nothing_and_shows_the_call_and_the_rule(project: Project) -> None:
    assert project.compile().code == 0
    before = tree(project.directory / "generated")
    project.answers["rules"].append(rules_about("~/notes", "~/music"))
    constitution = project.directory / "constitution.md"
    constitution.write_text(
        constitution.read_text().replace("may be read.", "may be read, and in `~/music`.")
    )
    result = project.compile()
    assert result.code == 1
    assert "FAIL  guarantees: 2, 1 broken" in result.err
    assert "error: guarantee notes-only is broken: never allow (C2)" in result.err
    assert "/home/user/music" in result.err
    assert "notes-allow-read" in result.err
    assert tree(project.directory / "generated") == before


def test_a_guarantee_about_what_does_not_exist_is_refused(project: Project) -> None:
    text = GUARANTEES.replace("list_tags", "list_everything")
    (project.directory / "guarantees.yaml").write_text(text)
    result = project.compile()
    assert result.code == 2
    assert "list_everything" in result.err
    assert not (project.directory / "generated").exists()


def test_a_directory_that_the_configuration_defines_is_told_where_clauses_name_it(project: Project) -> None:
    (project.directory / "guarantees.yaml").unlink()
    project.add_setting('[directories]\n"Team share" = "/srv/team/"\nArchive = "~/archive"')
    constitution = project.directory / "constitution.md"
    text = constitution.read_text().replace(
        "Notes in `~/notes` may", "Notes in `~/notes` and on the team share may"
    )
    constitution.write_text(text)
    project.answers["rules"] = [rules_about("~/notes", "/srv/team")]
    result = project.compile()
    assert result.code == 0, result.err
    (told,) = project.texts("rules")
    assert '"Team share": "/srv/team"' in told
    assert "archive" not in told
    assert "names" not in result.err


@pytest.mark.parametrize("path", ["work", "~/w*", "/srv/../etc", ""])
def test_a_directory_that_is_none_is_refused_before_anything_is_asked(project: Project, path: str) -> None:
    project.add_setting(f'[directories]\nprojects = "{path}"')
    result = project.compile()
    assert result.code == 2
    assert "directories.projects" in result.err
    assert project.calls == {}


def test_runs_of_two_models_that_differ_end_in_questions_whose_answers_are_kept(project: Project) -> None:
    more = ("--runs", "2", "--second-model", "other")
    project.answers["rules"] = [RULES, rules_about("~/notes", "~/music")]
    result = project.compile(*more)
    assert result.code == 4
    assert "waiting[IC4001]: 1 question for a person; nothing was published" in result.err
    assert "run 1 says deny, run 2 says allow by C2" in result.err
    assert [request["model"] for request in project.model.requests][-1] == "other"
    (question,) = json.loads((project.directory / "questions" / "open-questions.json").read_text())[
        "questions"
    ]
    assert project.run("answer", question["id"], "no").code == 0
    project.model.requests.clear()
    result = project.compile(*more)
    assert result.code == 0, result.err
    assert project.calls == {}
    assert "a scenario of yours settles it" in result.err
    assert set(project.scenarios("answer").values()) == {"deny"}


@pytest.mark.parametrize("stage", ["judge", "repair"])
def test_a_judge_that_never_answers_validly_ends_the_compile_and_keeps_what_was_paid(
    project: Project, stage: str
) -> None:
    (project.directory / "guarantees.yaml").unlink()
    project.answers["rules"] = [rules_about("~/nodes")]
    verdict = {"scenario": "read-note", "blame": "rule", "expect": "allow", "why": "the clause says so"}
    project.answers["judge"] = [{"judgements": [verdict], "probes": []}]
    project.answers["repair"] = [{"patches": [{"op": "delete", "name": "nobody"}]}]
    if stage == "judge":
        project.answers["judge"] = [{"judgements": [{**verdict, "scenario": "nobody"}], "probes": []}]
    result = project.compile()
    assert result.code == 3
    assert f"error[IC3301]: question {stage}" in result.err
    assert "still not valid after 2 corrections" in result.err
    assert project.calls[stage] == 3
    assert not (project.directory / "generated").exists()
    assert project.compile().code == 3
    assert project.calls == {stage: 3}


def test_confirmations_of_rules_that_are_gone_are_told(project: Project) -> None:
    digest = "sha256:" + "0" * 64
    entries = [
        {"rule": name, "digest": digest, "by": "me", "reason": "so"}
        for name in ("notes-gone", "notes-allow-read")
    ]
    document = {"format": "ironcurtain/confirmations/v1", "rules": entries}
    (project.directory / "confirmations.yaml").write_text(json.dumps(document))
    result = project.compile()
    assert result.code == 0, result.err
    assert 'confirms rule "notes-gone", which does not exist' in result.err
    assert 'confirms rule "notes-allow-read", which is not as it was then' in result.err
