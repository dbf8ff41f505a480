"""The pages over ten thousand records, and over a server that is killed under them."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from support.deployments.proxied import wait_for
from support.people.web import Web, answers, ask, web
from support.records.approvals import written
from support.records.audited import write_log
from support.services.nodes import free_port

pytestmark = pytest.mark.timeout(600)
CALLS = 5_000
"""Calls of which a decision and a result are recorded each: as many records as the pages keep."""


def record(home: Path, session: str, calls: int = CALLS) -> None:
    """Write a log as a proxy does, while the pages are open."""
    with ThreadPoolExecutor(1) as pool:
        write = partial(write_log, home / ".ironcurtain" / "audit", calls, session=session, key=None)
        pool.submit(write).result()


class Sizes:
    """What a page and its server hold in memory, once nothing that is over is kept."""

    def __init__(self, page: Page, running: Web) -> None:
        cdp = page.context.new_cdp_session(page)
        cdp.send("Performance.enable")
        cdp.send("HeapProfiler.collectGarbage")
        found = {each["name"]: each["value"] for each in cdp.send("Performance.getMetrics")["metrics"]}
        cdp.detach()
        self.nodes, self.heap = found["Nodes"], found["JSHeapUsedSize"]
        self.server = int(Path(f"/proc/{running.process.pid}/statm").read_text().split()[1])

    def is_hardly_more_than(self, before: Sizes) -> bool:
        return (
            self.nodes < 1.2 * before.nodes
            and self.heap < 1.5 * before.heap
            and self.server < 1.25 * before.server
        )


def test_ten_thousand_records_scroll_and_memory_stays_flat(chromium: Browser, home: Path) -> None:
    with web(home) as running:
        page = running.enter(chromium.new_context(viewport={"width": 1280, "height": 800}).new_page())
        page.goto(f"{running.origin}/activity")
        rows = page.locator("#decisions [data-row]")
        # Of a log that is long when it is first seen only the end is read.
        record(home, "first", 1)
        expect(rows).to_have_count(1)
        record(home, "first")
        newest = f"d{CALLS - 1:06d}"
        expect(rows.first).to_contain_text(newest)
        expect(page.get_by_text(f"{CALLS - 300:,} more are older".replace(",", ""))).to_have_count(1)
        page.mouse.move(600, 600)
        page.mouse.wheel(0, 100_000)
        expect(rows.last).to_be_in_viewport()
        before = Sizes(page, running)
        for session in ("second", "third"):
            record(home, session)
            expect(page.locator(f"#decisions [href*='/{session}/']").first).to_contain_text(newest)
            expect(rows).to_have_count(300)
            # New rows move what is read down, and not the window: it never goes back to the top.
            assert page.evaluate("scrollY") > 1_000
        # What the page fetches in this moment is over in the next.
        wait_for(lambda: Sizes(page, running).is_hardly_more_than(before))


def test_a_page_whose_server_was_killed_says_so_and_answers_nothing_at_the_next_one(
    chromium: Browser, home: Path
) -> None:
    request = written("/srv/a.txt")
    ask(home, request)
    port = str(free_port())
    with web(home, "--port", port) as running:
        page = running.enter(chromium.new_page())
        page.goto(f"{page.url}/{request.id}")
        expect(page.locator("#deny")).to_be_enabled()
        running.process.kill()
        running.ends = -signal.SIGKILL
        expect(page.locator("#connection")).to_contain_text("No connection")
    with web(home, "--port", port) as second:
        expect(page.locator("#connection")).to_contain_text("This session is over.")
        for button in page.locator("main button").all():
            expect(button).to_be_disabled()
        expect(page).to_have_title("(1) Approvals · IronCurtain")
        page.evaluate("document.querySelector('form.deny').submit()")
        expect(page.get_by_role("heading", name="Not done")).to_be_visible()
        assert answers(home) == {}
        second.enter(page)
        expect(page.locator(f"#to-{request.id}")).to_be_visible()
