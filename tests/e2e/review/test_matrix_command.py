"""`matrix`, `guarantees` and `diff` as people call them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.projects import shipped

from ironcurtain.bundle.archive import Bundle
from ironcurtain.cli.main import run

WORLD = ["--scenarios", str(shipped.ROOT / "scenarios.yaml")]
GUARANTEES = ["--file", str(shipped.ROOT / "guarantees.yaml")]


def written(path: Path, bundle: Bundle) -> str:
    path.write_bytes(bundle.archive())
    return str(path)


def loosen(rules: list[dict[str, Any]]) -> None:
    shipped.named(rules, "filesystem-allow-read-documents")["if"]["paths"][0]["within"].append("~/Mail")


def test_the_matrix_in_every_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = written(tmp_path / "bundle.tar.gz", shipped.bundle())
    printed = {}
    for format_ in ("text", "json", "markdown", "html"):
        assert run(["matrix", bundle, *WORLD, "--format", format_]) == 0
        printed[format_] = capsys.readouterr().out
    assert json.loads(printed["json"])["format"] == "ironcurtain/matrix/v1"
    assert "filesystem: create_directory, write_file" in printed["text"]
    assert "| write-path | \\~/Downloads |" in printed["markdown"].replace("~", "\\~")
    assert printed["html"].startswith("<!doctype html>")


def test_another_world_can_be_assumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = written(tmp_path / "bundle.tar.gz", shipped.bundle())
    other = tmp_path / "world.yaml"
    other.write_text("format: ironcurtain/scenarios/v1\nworld: {home: /home/other}\nscenarios: []\n")
    assert run(["matrix", bundle, "--scenarios", str(other), "--format", "markdown"]) == 0
    printed = capsys.readouterr().out
    assert "Assumed: home `/home/other`, sandbox `none`." in printed
    assert "the sandbox" not in printed
    assert run(["matrix", bundle, "--scenarios", str(tmp_path / "none.yaml")]) == 2
    assert "the file does not exist" in capsys.readouterr().err


def test_a_widened_directory_is_found_by_diff_and_breaks_a_guarantee(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = written(tmp_path / "old.tar.gz", shipped.bundle())
    new = written(tmp_path / "new.tar.gz", shipped.bundle(loosen))
    assert run(["diff", old, new, *WORLD]) == 1
    assert "read-path in ~/Mail: escalate → allow" in capsys.readouterr().out
    assert run(["diff", new, old, *WORLD]) == 0
    assert run(["guarantees", old, *GUARANTEES, *WORLD, "-q"]) == 0
    capsys.readouterr()
    assert run(["guarantees", new, *GUARANTEES, *WORLD]) == 1
    assert "FAIL  no-silent-read-elsewhere (C12)" in capsys.readouterr().out


def test_rego_that_is_not_what_the_rules_say_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = shipped.bundle()
    path = "ironcurtain/policy/filesystem/policy.rego"
    edited = bundle.files[path].replace(b'"deny"', b'"allow"')
    forged = Bundle.build(
        {**{p: d for p, d in bundle.files.items() if p != ".manifest"}, path: edited},
        bundle.manifest.metadata,
    )
    assert run(["matrix", written(tmp_path / "forged.tar.gz", forged), *WORLD]) == 1
    assert "not what the bundle's rules say" in capsys.readouterr().err


def test_a_guarantee_about_nothing_is_a_mistake_of_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = written(tmp_path / "bundle.tar.gz", shipped.bundle())
    wrong = tmp_path / "guarantees.yaml"
    wrong.write_text(
        "format: ironcurtain/guarantees/v1\n"
        "guarantees:\n  - {id: G1, never: allow, when: {tool: [no_such_tool]}}\n"
    )
    assert run(["guarantees", bundle, "--file", str(wrong), *WORLD]) == 2
    assert "error[IC1401]" in capsys.readouterr().err
