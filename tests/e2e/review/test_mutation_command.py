"""`ironcurtain mutation` as people call it, on the shipped policies."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from support.projects import shipped

from ironcurtain.cli.main import run

OFFICE = shipped.ROOT / "examples" / "office"


def test_the_evidence_of_an_example_notices_every_mutant(capsys: pytest.CaptureFixture[str]) -> None:
    # That of the shipped policy is in the transcript tests/e2e/transcripts/widened-by-one-word.md.
    bundle = str(OFFICE / "generated" / "bundle")
    assert run(["mutation", "--bundle", bundle, "--fail-under", "95", "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    schema = json.loads((shipped.ROOT / "schemas" / "mutation.json").read_text())
    Draft202012Validator(schema).validate(report)
    assert report["score"] >= 95
    assert report["killed"] > 50


def test_missing_scenarios_are_printed_ready_to_paste_and_written_for_review(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads((OFFICE / "generated" / "test-scenarios.json").read_text())
    kept = [each for each in document["scenarios"] if each.get("origin") != "generated"]
    few = tmp_path / "few.json"
    few.write_text(json.dumps({**document, "scenarios": kept[::2]}))
    written = tmp_path / "scenarios.yaml"
    shutil.copyfile(OFFICE / "scenarios.yaml", written)
    before = written.read_text()
    bundle = str(OFFICE / "generated" / "bundle")
    command = [
        "mutation",
        "--bundle",
        bundle,
        "--scenarios",
        str(few),
        "--fail-under",
        "100",
        "--write",
        str(written),
    ]
    assert run(command) == 1
    told = capsys.readouterr()
    assert "survived  " in told.out
    assert "  - id: mutant." in told.out
    after = written.read_text()
    assert after.startswith(before.rstrip("\n"))
    added = after[len(before.rstrip("\n")) :].strip("\n")
    assert added in told.out
    assert "scenarios appended" in told.err
