"""The matrix as a page, opened in a real browser and filtered as a reviewer would."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from e2e.browser import page
from e2e.program import ROOT, SHIPPED, in_process
from playwright.sync_api import Page, expect

LINES = "#decisions tr:visible"
FILTERS = ("tool", "role", "verdict", "clause")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    ended = in_process("matrix", str(SHIPPED), "--format", "html", cwd=ROOT)
    assert ended.code == 0, ended.err
    file = tmp_path_factory.mktemp("page") / "matrix.html"
    file.write_text(ended.out)
    return file


@pytest.fixture(scope="module")
def lines() -> list[dict[str, set[str]]]:
    """Return what each line of the table is about, from the matrix as JSON."""
    ended = in_process("matrix", str(SHIPPED), "--format", "json", cwd=ROOT)
    return [
        {
            "tool": {f"{server}/{tool}" for tool in table["tools"]},
            "role": set(row["roles"]),
            "verdict": {outcome["verdict"]},
            "clause": {outcome.get("clause") or "none"},
        }
        for server, tables in json.loads(ended.out)["servers"].items()
        for table in tables
        for row in table["rows"]
        for outcome in row["outcomes"]
    ]


def count(lines: list[dict[str, set[str]]], **wanted: str) -> int:
    return sum(all(value in line[name] for name, value in wanted.items()) for line in lines)


def choose(opened: Page, name: str, value: str) -> None:
    opened.get_by_label(name, exact=True).select_option(value)


def test_every_filter_leaves_the_lines_that_the_matrix_has(
    written: Path, lines: list[dict[str, set[str]]], tmp_path: Path
) -> None:
    with page(viewport={"width": 1280, "height": 900}) as opened:
        told: list[str] = []
        opened.on("console", lambda message: told.append(message.text))
        opened.on("pageerror", lambda error: told.append(str(error)))
        opened.goto(written.as_uri())
        expect(opened.get_by_role("heading", name="What the policy decides")).to_be_visible()
        expect(opened.locator(LINES)).to_have_count(len(lines))
        for name in FILTERS:
            for value in sorted(set().union(*(line[name] for line in lines))):
                choose(opened, name, value)
                expect(opened.locator(LINES)).to_have_count(count(lines, **{name: value}))
            choose(opened, name, "")
        choose(opened, "verdict", "deny")
        choose(opened, "role", "delete-path")
        left = count(lines, verdict="deny", role="delete-path")
        assert 0 < left < len(lines)
        expect(opened.locator(LINES)).to_have_count(left)
        expect(opened.get_by_role("status")).to_have_text(f"{left} of {len(lines)} lines")
        assert opened.screenshot(path=tmp_path / "matrix.png").startswith(b"\x89PNG")
        assert not told


def test_the_page_asks_for_nothing_beside_itself(written: Path) -> None:
    with page() as opened:
        asked: list[str] = []
        opened.on("request", lambda request: asked.append(request.url))
        opened.goto(written.as_uri())
        expect(opened.locator(LINES).first).to_be_visible()
        assert asked == [written.as_uri()]
