"""A published policy that somebody changed, so that the next compile takes it for what it made itself.

Held by: a compile that examines the published policy beforehand, while its servers start, and uses what it
found for exactly the bundle, scenarios and guarantees that it makes itself.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from e2e.program import in_process
from fixtures.tiny_project import ANNOTATIONS, RULES, answer, tree, write_project

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.revision import MANIFEST, is_test

DATA = "ironcurtain/rules/data.json"
SCENARIOS = "test-scenarios.json"
GUARANTEES = """\
format: ironcurtain/guarantees/v1
guarantees:
  - {id: no-notes, never: allow, when: {tool: [read_note]}}
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = write_project(tmp_path_factory.mktemp("project"))
    for key, content in (("annotate-notes-1", ANNOTATIONS), ("rules-notes", RULES)):
        assert in_process("compile", cwd=directory).code == 4
        answer(directory, key, content)
    last = in_process("compile", cwd=directory)
    assert last.code == 0, last.err
    return directory


@pytest.fixture
def project(compiled: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(compiled, tmp_path / "project"))


def other_rules(published: Path) -> None:
    """Open all of the disk in a bundle that matches its revision and names the right sources."""
    bundle = Bundle.read(published / "bundle")
    kept = {path: data for path, data in bundle.files.items() if path != MANIFEST}
    opened = {path: data.replace(b"~/notes", b"/") for path, data in kept.items()}
    assert opened != kept
    forged = Bundle.build(opened, bundle.manifest.metadata)
    shutil.rmtree(published / "bundle")
    forged.write_directory(published / "bundle")


def other_tests(published: Path) -> None:
    """Leave the rules, and let the tests, which are no part of the revision, say something else."""
    bundle = Bundle.read(published / "bundle")
    for path in filter(is_test, bundle.files):
        file = published / "bundle" / path
        file.write_text(file.read_text().replace("deny", "allow"))


def other_records(published: Path) -> None:
    """Say of every recorded call that it was allowed."""
    document, records = _scenarios(published)
    for each in records:
        each["expect"] = "allow"
    (published / SCENARIOS).write_text(json.dumps(document))


def other_calls(published: Path) -> None:
    """Give recorded calls the ids of others."""
    document, records = _scenarios(published)
    calls = [each["call"] for each in records]
    for each, call in zip(records, [*calls[1:], calls[0]], strict=True):
        each["call"] = call
    (published / SCENARIOS).write_text(json.dumps(document))


def other_world(published: Path) -> None:
    """Assume another home, in which other places are open."""
    document, _ = _scenarios(published)
    document["world"]["home"] = "/"
    (published / SCENARIOS).write_text(json.dumps(document))


def _scenarios(published: Path) -> tuple[Any, list[Any]]:
    """Return the published scenarios, and those of them that are records."""
    document = json.loads((published / SCENARIOS).read_text())
    records = [each for each in document["scenarios"] if each.get("origin") == "generated"]
    assert len(records) > 1
    return document, records


@pytest.mark.parametrize("attack", [other_rules, other_tests, other_records, other_calls, other_world])
def test_a_policy_that_was_changed_after_it_was_published_is_no_evidence(
    project: Path, compiled: Path, attack: Callable[[Path], None]
) -> None:
    attack(project / "generated")
    assert tree(project / "generated") != tree(compiled / "generated")
    again = in_process("compile", "--locked", cwd=project)
    assert again.code == 0, again.err
    assert tree(project / "generated") == tree(compiled / "generated")


def test_a_policy_that_was_accepted_before_is_judged_by_the_guarantees_of_today(project: Path) -> None:
    (project / "guarantees.yaml").write_text(GUARANTEES)
    before = tree(project / "generated")
    again = in_process("compile", "--locked", cwd=project)
    assert again.code == 1
    assert "no-notes" in again.err
    assert tree(project / "generated") == before


def test_a_published_policy_that_cannot_be_read_hinders_no_compile(project: Path, compiled: Path) -> None:
    (project / "generated" / SCENARIOS).write_text("{")
    (project / "generated" / "bundle" / DATA).write_text("{}")
    again = in_process("compile", "--locked", cwd=project)
    assert again.code == 0, again.err
    assert tree(project / "generated") == tree(compiled / "generated")
