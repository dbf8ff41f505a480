"""`verify` of an archive: what it could not look at is named in every report, and never called verified."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from e2e.program import ROOT, Inside

GENERATED = ROOT / "generated"
FILES = ("sources", "tool lists")
EVIDENCE = ("opa check, opa test", "guarantees", "decision matrix")
NEVER = ("mutation", "attack")


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the shipped archive in a directory of its own, as somebody downloads it."""
    alone = tmp_path / "alone"
    alone.mkdir()
    monkeypatch.chdir(alone)
    return Path(shutil.copy(GENERATED / "bundle.tar.gz", alone / "policy.tar.gz"))


def beside(archive: Path, *names: str) -> None:
    for name in names:
        place = GENERATED / name
        copy = shutil.copytree if place.is_dir() else shutil.copy
        copy(place, archive.parent / name)


def test_an_archive_alone_is_not_verified_and_says_what_is_missing(archive: Path, inside: Inside) -> None:
    ended = inside("verify", str(archive), "--format", "json")
    assert ended.code == 3, ended
    report = json.loads(ended.out)
    assert report["ok"] is False
    assert {*FILES, *EVIDENCE, *NEVER, "scenarios", "findings", "clauses", "coverage"} == {
        *report["unexamined"]
    }
    assert {each["name"]: each["status"] for each in report["checks"] if each["status"] != "unexamined"} == {
        "signature": "skipped",
        "manifest": "passed",
        "rules": "passed",
    }
    text = inside("verify", str(archive), "--against", "main").out
    unexamined = ", ".join((*report["unexamined"][1:], "difference"))
    assert f"??    {unexamined}: test-scenarios.json is not beside the bundle" in text
    assert "--    signature: unsigned" in text
    assert text.splitlines()[-1].startswith("NOT verified  sha256:")


def test_what_lies_beside_an_archive_is_looked_at_and_the_rest_is_named(
    archive: Path, inside: Inside
) -> None:
    beside(archive, "test-scenarios.json")
    without_tests = inside("verify", str(archive), "--format", "json")
    assert (without_tests.code, json.loads(without_tests.out)["unexamined"]) == (
        3,
        [*FILES, *EVIDENCE],
    )
    beside(archive, "bundle")
    in_part = inside("verify", str(archive), "--quiet")
    assert in_part.code == 0
    assert in_part.out.splitlines()[-2] == "not examined: sources, tool lists, guarantees, decision matrix"
    assert in_part.out.splitlines()[-1].startswith("verified in part  sha256:")
    beside(archive, "tools", "decision-matrix.json")
    shutil.copy(ROOT / "guarantees.yaml", archive.parent)
    report = json.loads(inside("verify", str(archive), "--format", "json").out)
    assert (report["ok"], report["unexamined"]) == (True, ["sources"])
    (sources,) = [each for each in report["checks"] if each["name"] == "sources"]
    assert sources["summary"].startswith("confirmations.yaml, constitution.md, ")


def test_every_report_says_what_was_not_examined(archive: Path, inside: Inside) -> None:
    beside(archive, "test-scenarios.json", "bundle")

    names = ("gate.md", "gate.sarif", "gate.xml")
    outputs = [f"--output={archive.with_name(name)}" for name in names]
    commands = inside("verify", str(archive), "--format", "github", *outputs).out
    markdown, sarif, junit = (archive.with_name(name).read_text() for name in names)
    assert markdown.startswith("# The policy is verified in part\n")
    assert "Not examined: sources, tool lists, guarantees, decision matrix." in markdown
    assert "| guarantees | **not examined** | " in markdown
    (run,) = json.loads(sarif)["runs"]
    told = run["invocations"][0]["toolExecutionNotifications"]
    assert [each["message"]["text"].partition(":")[0] for each in told] == [
        "sources",
        "tool lists",
        "guarantees",
        "decision matrix",
    ]
    assert "::warning title=guarantees::not examined: there is no guarantees.yaml" in commands
    assert "no check failed; not examined: sources, tool lists, guarantees, decision matrix" in commands
    suites = ET.fromstring(junit)
    skipped = [each.get("message") or "" for each in suites.iter("skipped")]
    assert sum(message.startswith("not examined: ") for message in skipped) == 4


def test_scenarios_that_are_fewer_than_those_of_the_compile_are_no_evidence(
    archive: Path, inside: Inside
) -> None:
    """An emptied file beside the bundle made it verified by one call."""
    beside(archive, "test-scenarios.json", "bundle")
    file = archive.parent / "test-scenarios.json"
    document = json.loads(file.read_text())
    document["scenarios"] = document["scenarios"][:1]
    file.write_text(json.dumps(document))
    ended = inside("verify", str(archive), "--format", "json")
    checks = {each["name"]: each for each in json.loads(ended.out)["checks"]}
    assert ended.code == 1
    assert [each["id"] for each in checks["scenarios"]["problems"]] == ["test-scenarios.json"]
    assert checks["records"]["status"] == "unexamined"


def test_a_bundle_of_hand_written_rules_lacks_nothing_that_it_never_had(
    archive: Path, inside: Inside
) -> None:
    made = archive.parent / "bundle"
    inputs = [
        part
        for option, name in (
            ("--policy", "compiled-policy.json"),
            ("--annotations", "tool-annotations.json"),
            ("--lists", "dynamic-lists.json"),
        )
        for part in (option, str(GENERATED / name))
    ]
    assert inside("bundle", *inputs, "-o", str(made)).code == 0
    scenarios = ("--scenarios", str(ROOT / "scenarios.yaml"))
    report = json.loads(inside("verify", str(made), *scenarios, "--format", "json").out)
    assert report["unexamined"] == []


def test_nothing_is_published_of_which_no_scenario_was_seen(archive: Path, inside: Inside) -> None:
    key = archive.parent / "key.pem"
    assert inside("key", "new", "--output", str(key)).code == 0
    public = f"{key.with_suffix('')}.pub.pem"
    ended = inside("publish", "shelf", "--bundle", str(archive), "--verify-key", public)
    assert ended.code != 0
    assert not (archive.parent / "shelf").exists()


def test_rules_by_hand_are_verified_with_the_scenarios_beside_them(
    tmp_path: Path, inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`scenarios.yaml` lay beside the bundle, and had to be named; one that was compiled needs its own."""
    monkeypatch.chdir(tmp_path)
    policy, annotations = GENERATED / "compiled-policy.json", GENERATED / "tool-annotations.json"
    made = inside("bundle", "--policy", str(policy), "--annotations", str(annotations), "-o", "policy")
    assert made.code == 0, made.err
    shutil.copy(ROOT / "scenarios.yaml", tmp_path)
    checks = json.loads(inside("verify", "policy", "--format", "json").out)["checks"]
    (scenarios,) = [each for each in checks if each["name"] == "scenarios"]
    assert (scenarios["status"], scenarios["summary"]) == ("passed", "146, all come true")
    shutil.copy(GENERATED / "bundle.tar.gz", tmp_path / "policy.tar.gz")
    compiled = json.loads(inside("verify", "policy.tar.gz", "--format", "json").out)
    assert "scenarios" in compiled["unexamined"]
