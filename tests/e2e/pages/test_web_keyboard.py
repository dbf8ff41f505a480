"""The pages of what was decided and of the policy, used with the keyboard alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from e2e.browser import browser
from playwright.sync_api import Page, expect
from support.people.web import web
from support.projects.policies import rule, tool, write_bundle
from support.records.audited import decided, write_decisions

pytestmark = pytest.mark.timeout(600)
LONG = 120_000
"""Milliseconds that an examination may take on a busy machine."""


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Page, str]]:
    home = tmp_path_factory.mktemp("home")
    (home / ".ironcurtain").mkdir(mode=0o700)
    with ThreadPoolExecutor(1) as pool:
        audit = home / ".ironcurtain" / "audit"
        pool.submit(partial(write_decisions, audit, *map(decided, range(3)))).result()
    paths = {"roles": ["read-path"], "within": ["/srv/notes"]}
    older, newer = (
        write_bundle(
            tmp_path_factory.mktemp(then),
            {"fs": [tool("read", path=["read-path"])]},
            [rule("notes", then, server=["fs"], paths=paths)],
            policy={"clauses": [{"id": "C1", "text": "Notes are for reading."}]},
        )
        for then in ("deny", "allow")
    )
    options = ("--bundle", str(newer), "--against", str(older))
    with browser() as chromium, web(home, *options) as running:
        page = running.enter(chromium.new_page())
        yield page, running.origin


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until what a selector finds has the focus; it has to be marked as such."""
    page.wait_for_load_state("domcontentloaded")
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("each => document.activeElement.matches(each)", selector):
            break
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert page.evaluate("each => document.activeElement.matches(each)", selector), selector
    assert outline != "none"


def test_a_decision_is_chosen_opened_and_left(opened: tuple[Page, str]) -> None:
    page, origin = opened
    page.goto(f"{origin}/activity")
    expect(page.locator("#decisions [data-row]")).to_have_count(3)
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/activity/work/d000001$"))
    tab_to(page, "[href='/activity']:not(nav *)")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/activity$"))
    tab_to(page, "#pause")
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Go on")).to_be_focused()


def test_a_sentence_and_a_cell_are_opened(opened: tuple[Page, str]) -> None:
    page, origin = opened
    page.goto(f"{origin}/policy")
    expect(page.locator(".heat").first).to_be_visible(timeout=LONG)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator("section[id='C1']")).to_contain_text("notes")
    tab_to(page, ".heat a")
    page.keyboard.press("Enter")
    expect(page.locator("section.request").first).to_contain_text("the call is decided")


def test_a_change_is_approved_as_a_file(opened: tuple[Page, str]) -> None:
    page, origin = opened
    page.goto(f"{origin}/compare")
    expect(page.locator("form.approve").first).to_be_visible(timeout=LONG)
    tab_to(page, "[name=reason]")
    page.keyboard.type("Notes are to be read.")
    page.keyboard.press("Tab")
    page.keyboard.type("alice@example.com")
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    assert "alice@example.com" in Path(download.value.path()).read_text()


def test_the_skip_link_comes_first_and_every_page_is_reached(opened: tuple[Page, str]) -> None:
    page, origin = opened
    for path in ("/approvals", "/activity", "/policy", "/compare"):
        page.goto(f"{origin}/passkey")  # a page that gives nothing the focus
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="To the content")).to_be_focused()
        tab_to(page, f"nav [href='{path}']")
        page.keyboard.press("Enter")
        expect(page).to_have_url(f"{origin}{path}")
