"""The list of all attacks, which `make docs` puts below the text of `docs/attacks.md`.

`tests/attacks` has a folder for each part that is attacked. The docstring of a file says what is tried
and, in its last paragraph (`Held by: …`), what holds. The name of each test is a sentence about one attempt.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
ATTACKS = ROOT / "tests" / "attacks"
HELD = "Held by: "


def table() -> str:
    """Return the list in Markdown, a section for each file of tests.

    Raises:
        ValueError: If a file of attacks does not say what it tries, or what holds.
    """
    folders = sorted(path for path in ATTACKS.iterdir() if any(path.glob("test_*.py")))
    return "".join(_folder(folder) for folder in folders)


def _folder(folder: Path) -> str:
    sections = "".join(_section(path) for path in sorted(folder.glob("test_*.py")))
    return f"\n## On {folder.name}\n{sections}"


def _section(path: Path) -> str:
    module = ast.parse(path.read_text())
    tried, _, held = " ".join((ast.get_docstring(module) or "").split()).partition(HELD)
    if not tried or not held:
        raise ValueError(f"{path.name} does not say what is tried, or what holds: {HELD}…")
    rows = "".join(f"- {name}\n" for name in _attempts(module.body))
    link = f"[{path.name}](../{path.relative_to(ROOT).as_posix()})"
    said = _sentence(tried.strip().removeprefix("Attack: "))
    return f"\n### {_sentence(path.stem)}\n\n{said}\n\n**Held by** {held} {link}\n\n{rows}"


def _attempts(body: list[ast.stmt]) -> Iterator[str]:
    """Yield the tests, and the functions that tests are made of by a decorator (`@attack("…")`)."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _attempts(node.body)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if node.name.startswith("test_") or any(_is_of_a_table(each) for each in node.decorator_list):
            yield _sentence(node.name)


def _is_of_a_table(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Name)


def _sentence(name: str) -> str:
    words = name.removeprefix("test_").replace("_", " ")
    return words[:1].upper() + words[1:]
