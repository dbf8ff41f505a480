"""A compile in which nothing changed takes what the last one found; all else is examined anew."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from fixtures.tiny_project import SCENARIOS, tree
from support.projects.modelled import Place
from support.projects.notes_project import Notes

from ironcurtain.settings import evidence_directory

BEFORE = "examined before ("


@pytest.fixture
def project(place: Place) -> Notes:
    """Return the project after its first compile."""
    made = Notes(place)
    first = made.compile()
    assert (first.code, BEFORE in first.err) == (0, False), first.err
    return made


def kept() -> Path:
    (only,) = evidence_directory().iterdir()
    return only


def demand(project: Notes, setting: str) -> None:
    (project.directory / "ironcurtain.toml").write_text(
        f'model = "manual"\nserial = 3\n[verify]\n{setting}\n'
    )


def test_what_is_unchanged_is_not_examined_again_and_says_so(project: Notes) -> None:
    published = tree(project.directory / "generated")
    assert kept().stat().st_mode & 0o777 == 0o600
    assert kept().parent.stat().st_mode & 0o777 == 0o700
    kept().rename(kept().with_suffix(".away"))
    examined = project.run("compile", "--locked", "--saved-tools", "--format", "json")
    kept_now = [each for each in evidence_directory().iterdir() if each.suffix == ".json"]
    assert (examined.code, BEFORE in examined.err, len(kept_now)) == (0, False, 1)
    known = project.run("compile", "--locked", "--saved-tools", "--format", "json")
    assert (known.code, known.out) == (0, examined.out)
    assert "`ironcurtain verify` examines anew" in known.err
    told = [
        [line for line in each.err.splitlines() if line[:2] not in {f"{n}/" for n in range(9)}]
        for each in (examined, known)
    ]
    assert told[0] == told[1]
    assert tree(project.directory / "generated") == published


@pytest.mark.parametrize(
    "spoil",
    [
        lambda file: file.chmod(0o666),
        lambda file: file.parent.chmod(0o777),
        lambda file: file.write_text("{}"),
        lambda file: file.write_text(file.read_text()[:-1]),
        lambda file: file.write_text(file.read_text().replace("kept-evidence/v1", "kept-evidence/v2")),
        lambda file: file.write_text(file.read_text().replace('"revision":"sha256:', '"revision":"sha256:0')),
        lambda file: file.write_text(
            file.read_text().replace('"ok":true,"revision"', '"ok":false,"revision"')
        ),
    ],
    ids=["writable file", "writable directory", "empty", "cut off", "newer", "of another", "failed"],
)
def test_what_others_could_have_written_or_is_damaged_counts_for_nothing(
    project: Notes, spoil: Callable[[Path], object]
) -> None:
    published = tree(project.directory / "generated")
    spoil(kept())
    again = project.compile()
    assert (again.code, BEFORE in again.err) == (0, False)
    assert tree(project.directory / "generated") == published


def change_scenario(project: Notes) -> None:
    file = project.directory / "scenarios.yaml"
    file.write_text(SCENARIOS.replace("id: ", "id: other-", 1))


def change_guarantees(project: Notes) -> None:
    demanded = 'never: allow, when: {roles: [read-path], outside: ["~/notes"]}'
    text = f"format: ironcurtain/guarantees/v1\nguarantees:\n  - {{id: elsewhere, {demanded}}}\n"
    (project.directory / "guarantees.yaml").write_text(text)


def change_published_test(project: Notes) -> None:
    (test,) = (project.directory / "generated" / "bundle").rglob("policy_test.rego")
    test.write_text(test.read_text() + "\n# changed\n")


def change_published_scenario(project: Notes) -> None:
    file = project.directory / "generated" / "test-scenarios.json"
    file.write_text(file.read_text().replace('"origin": "generated"', '"origin": "human"', 1))


@pytest.mark.parametrize(
    "change", [change_scenario, change_guarantees, change_published_test, change_published_scenario]
)
def test_whatever_changed_is_examined(project: Notes, change: Callable[[Notes], object]) -> None:
    change(project)
    again = project.compile()
    assert (again.code, BEFORE in again.err) == (0, False), again.err


def test_the_gate_judges_what_is_known_as_what_was_found(project: Notes) -> None:
    demand(project, 'findings = "warning"')
    known = project.compile()
    kept().unlink()
    found = project.compile()
    assert known.code == found.code == 1
    assert [line for line in known.err.splitlines() if "FAIL" in line or "error[" in line] == [
        line for line in found.err.splitlines() if "FAIL" in line or "error[" in line
    ]
    assert not list(evidence_directory().iterdir())  # what is refused is not kept


def test_verify_believes_nothing_that_is_kept(project: Notes) -> None:
    content = json.loads(kept().read_text())
    (tables,) = content["parts"]["matrix"]["servers"].values()
    tables[0]["rows"][0]["outcomes"][0]["verdict"] = "escalate"
    kept().write_text(json.dumps(content))
    assert BEFORE in project.compile().err
    refused = project.run("verify", "generated/bundle")
    assert (refused.code, "decision matrix" in refused.out) == (1, True)
