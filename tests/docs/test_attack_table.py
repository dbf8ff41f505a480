"""The list of attacks has every attack, and its page is linked from where people look."""

from __future__ import annotations

import ast

from support.documentation.attack_table import ATTACKS, ROOT, table


def test_no_attack_is_missing() -> None:
    listed = table()
    for path in ATTACKS.rglob("test_*.py"):
        assert f"](../{path.relative_to(ROOT).as_posix()})" in listed
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                words = node.name.removeprefix("test_").replace("_", " ")
                assert words[1:] in listed, path


def test_the_page_is_linked() -> None:
    assert "(docs/attacks.md)" in (ROOT / "SECURITY.md").read_text()
    assert "(docs/attacks.md)" in (ROOT / "README.md").read_text()
