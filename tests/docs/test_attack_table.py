"""The page of attacks names every attack, and is linked from where people look."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from support.documentation.attack_table import ATTACKS, PAGE, ROOT, table


def test_the_page_is_as_the_tests_are() -> None:
    assert PAGE.read_text() == table(), "run `make attack-table`"


@pytest.mark.parametrize("path", sorted(ATTACKS.rglob("test_*.py")), ids=lambda path: path.stem)
def test_no_test_is_missing(path: Path) -> None:
    page = PAGE.read_text()
    assert f"](../{path.relative_to(ROOT).as_posix()})" in page
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            words = node.name.removeprefix("test_").replace("_", " ")
            assert words[1:] in page


def test_it_is_linked() -> None:
    assert "(docs/attacks.md)" in (ROOT / "SECURITY.md").read_text()
    assert "(docs/attacks.md)" in (ROOT / "README.md").read_text()
