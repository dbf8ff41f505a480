"""ARCHITECTURE.md: each file that it names is there, and holds what it is named for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = " ".join((ROOT / "ARCHITECTURE.md").read_text().split())
FILES = [path.relative_to(ROOT).as_posix() for path in (ROOT / "ironcurtain").rglob("*.py")]
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)`", TEXT)))
DEFINED = sorted(set(re.findall(r"`(?:\w+\.)?(\w+)` of `([\w/]+\.py)`", TEXT)))


def files_of(name: str) -> list[str]:
    return [path for path in FILES if path == name or path.endswith(f"/{name}")]


@pytest.mark.parametrize("name", NAMED)
def test_each_file_is_there(name: str) -> None:
    assert files_of(name)


@pytest.mark.parametrize(("name", "file"), DEFINED)
def test_each_name_is_defined_in_its_file(name: str, file: str) -> None:
    defined = re.compile(rf"^\s*(?:(?:async )?def |class )?{name}\b", re.MULTILINE)
    assert any(defined.search((ROOT / path).read_text()) for path in files_of(file))


def test_each_place_of_the_tree_is_there() -> None:
    section = TEXT.split("## The tree ")[1].split(" ## ")[0]
    for name in re.findall(r"`([\w./-]+/|[\w.-]+\.(?:md|json|yml|toml))`", section):
        assert any((ROOT / parent / name).exists() for parent in ("", "rego", "schemas", "docs")), name


def test_each_package_is_there() -> None:
    section = TEXT.split("## The package ")[1].split(" ## ")[0]
    folders = {path.name for path in (ROOT / "ironcurtain").rglob("*") if path.is_dir()}
    names = {name for code in re.findall(r"`([\w/ ]+/)`", section) for name in re.findall(r"\w+", code)}
    assert len(names) > 20
    assert names <= folders
