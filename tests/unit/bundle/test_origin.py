"""What a bundle was made from is known by its place, before anything of it is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from ironcurtain.bundle.origin import origin

INPUTS = {
    "ironcurtain.toml",
    "constitution.md",
    "mcp-servers.json",
    "mcp-servers.lock.json",
    "scenarios.yaml",
    "dynamic-lists.json",
    "confirmations.yaml",
    "guarantees.yaml",
    "diff-approvals.yaml",
    "questions",
    "answers.yaml",
    "waivers.yaml",
}


def made(root: Path, *files: str) -> None:
    for name in files:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n")


@pytest.mark.parametrize(
    ("there", "bundle", "found"),
    [
        (["ironcurtain.toml", "generated/provenance.json"], "generated/bundle", INPUTS | {"generated"}),
        (["generated/provenance.json"], "generated/bundle.tar.gz", INPUTS | {"generated"}),
        (["ironcurtain.toml", "provenance.json"], "bundle", INPUTS),
        (["ironcurtain.toml"], "a/b/mine.tar.gz", INPUTS),
        (
            ["ironcurtain.toml", "rules/words.md", "provenance.json"],
            "bundle",
            INPUTS | {"rules/words.md"},
        ),
        (["constitution.md"], "bundle.tar.gz", set()),
    ],
    ids=["published", "without settings", "in the project itself", "by hand", "renamed", "in no project"],
)
def test_origin(tmp_path: Path, there: list[str], bundle: str, found: set[str]) -> None:
    made(tmp_path, *there)
    sources = ["rules/words.md:12", "rules/gone.md:3", "", ":1", ".:1"]
    assert set(origin(tmp_path / bundle, sources)) == {tmp_path / name for name in found}
