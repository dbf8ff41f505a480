"""Pages that messages name: each can be printed or opened where only the wheel is installed."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from e2e.program import ROOT, Inside

PACKAGE = ROOT / "ironcurtain"
BY_COMMAND = re.compile(r"`ironcurtain error ([a-z-]+)`")
BY_PATH = re.compile(r"\bdocs/[a-z/-]+\.md(?:#([a-z-]+))?")


def texts() -> Iterator[tuple[Path, str]]:
    """Yield the texts in our code that people may see: all but docstrings, and those of commands."""
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text())
        hidden = set() if path.is_relative_to(PACKAGE / "cli") else set(docstrings(tree))
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in hidden:
                yield path, node.value


def docstrings(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


def in_the_wheel(page: str) -> bool:
    """Tell whether a wheel holds a page, `docs/NAME.md`, itself or with its directory."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    return bool({page, str(Path(page).parent)} & set(included))


def test_each_page_that_a_message_names_can_be_printed(inside: Inside) -> None:
    named = {name for _, text in texts() for name in BY_COMMAND.findall(text)}
    assert "signing" in named
    for name in named:
        page = "docs/findings/README.md" if name == "findings" else f"docs/{name}.md"
        if not (ROOT / page).exists():  # one of a finding
            page = f"docs/findings/{name}.md"
        assert inside("error", name).out == (ROOT / page).read_text()
        assert in_the_wheel(page), name


def test_each_finding_has_its_page_in_the_wheel(inside: Inside) -> None:
    ended = inside("error", "dead-rule")
    assert (ended.code, ended.out) == (0, (ROOT / "docs" / "findings" / "dead-rule.md").read_text())
    assert in_the_wheel("docs/findings/dead-rule.md")


def test_no_message_sends_people_to_a_file_that_they_may_not_have() -> None:
    sentences = [(path, text) for path, text in texts() if BY_PATH.search(text) and " " in text]
    assert [(path.name, text) for path, text in sentences if not text.startswith('"""')] == []


def test_each_page_that_an_editor_opens_is_there_with_its_anchor() -> None:
    links = {(found[0], found[1]) for _, text in texts() if (found := BY_PATH.fullmatch(text))}
    assert ("docs/constitution.md#clauses", "clauses") in links
    for link, anchor in links:
        page = link.partition("#")[0]
        headings = re.findall(r"^#+ (.+)$", (ROOT / page).read_text(), re.MULTILINE)
        assert in_the_wheel(page), page
        assert anchor is None or anchor in {each.lower().replace(" ", "-") for each in headings}, link
