"""The page of activity in a real browser, over what a real proxy decides."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from axe_playwright_python.sync_playwright import Axe
from mcp_types import CallToolResult
from playwright.sync_api import Browser, Page, expect
from support.deployments.proxied import Place, wait_for
from support.people.web import Web, ask, web
from support.records.approvals import written
from support.records.audited import decided, write_decisions

from ironcurtain.enforcement.audit.record_types import Approval
from ironcurtain.model.verdict import Verdict

pytestmark = pytest.mark.timeout(600)

MARKUP = "<img src=x onerror=alert(1)>"
HOSTILE = f"{MARKUP}\u202e"


def call(place: Place, *calls: tuple[str, dict[str, Any]]) -> None:
    """Have an agent make calls through a proxy, which decides and records them."""

    async def make() -> None:
        async with place.client("--no-approver") as client:
            for tool, arguments in calls:
                await client.call_tool(f"fix__{tool}", arguments)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(anyio.run, make).result()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    place = Place(tmp_path_factory.mktemp("activity"))
    (place.home / "notes" / "a.txt").write_text("a note")
    call(
        place,
        ("echo", {"text": HOSTILE}),
        ("read", {"path": f"{place.home}/secret.txt"}),
        ("remove", {"path": f"{place.home}/notes/a.txt"}),
    )
    return place


@pytest.fixture(scope="module")
def running(place: Place) -> Iterator[Web]:
    with web(place.home, "--bundle", str(place.bundle)) as started:
        yield started


@pytest.fixture
def opened(chromium: Browser, running: Web) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    page, faults = running.enter(context.new_page()), []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.get_by_role("link", name="Activity").click()
    yield page
    context.close()
    assert faults == []


def rows(page: Page) -> Any:
    return page.locator("#decisions [data-row]")


def test_decisions_are_listed_newest_first_and_come_by_themselves(opened: Page, place: Place) -> None:
    expect(rows(opened)).to_have_count(3)
    words = ["ESCALATE fix/remove", "DENY fix/read", "ALLOW fix/echo"]
    for number, verdict in enumerate(words):
        expect(rows(opened).nth(number)).to_contain_text(verdict)
    call(place, ("echo", {"text": "later"}))
    expect(rows(opened)).to_have_count(4)
    opened.get_by_role("button", name="Pause").click()
    call(place, ("echo", {"text": "while it rests"}))
    expect(rows(opened)).to_have_count(4)
    opened.get_by_role("button", name="Go on").click()
    expect(rows(opened)).to_have_count(5)


def test_times_say_their_zone(opened: Page) -> None:
    zoned = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ ")
    expect(rows(opened).first).to_have_text(zoned)
    rows(opened).first.click()
    expect(opened.get_by_role("region", name="The record").locator(".line").first).to_have_text(zoned)


def test_a_directory_that_is_not_there_is_told_until_something_is_recorded_in_it(
    chromium: Browser, tmp_path: Path
) -> None:
    audit = tmp_path / "audit"
    with web(tmp_path, "--audit", str(audit)) as running:
        page = running.enter(chromium.new_context().new_page())
        wait_for(lambda: running.warned)  # it comes by another way than the address
        assert running.warned == [f"note: there is no directory {audit} yet, so no decisions are shown"]
        page.goto(f"{running.origin}/activity")
        expect(page.get_by_text(f"There is no directory {audit}.")).to_be_visible()
        with ThreadPoolExecutor(1) as pool:
            pool.submit(write_decisions, audit, decided(1)).result()
        expect(rows(page)).to_have_count(1)
        expect(page.get_by_text("There is no directory")).to_have_count(0)
        page.context.close()


def test_filters_leave_what_they_name_and_the_chart_counts_that(opened: Page) -> None:
    opened.locator("select[name=verdict]").select_option("deny")
    expect(opened).to_have_url(re.compile("verdict=deny"))
    expect(rows(opened)).to_have_count(1)
    expect(opened.locator("#chart rect")).to_have_count(1)
    expect(opened.locator("#chart .legend")).to_contain_text("allow escalate deny")
    opened.get_by_text("As a table").click()
    expect(opened.locator("#chart-table tbody td")).to_have_text(["0", "0", "1"])
    opened.locator("select[name=verdict]").select_option("escalate")
    expect(opened.locator("#asking")).to_contain_text("fix/remove")
    opened.locator("select[name=tool]").select_option("echo")
    expect(rows(opened)).to_have_count(0)
    expect(opened.get_by_text("No decisions.")).to_have_count(2)


def test_a_row_opens_into_the_record_and_its_seven_steps(opened: Page, place: Place) -> None:
    rows(opened).filter(has_text="DENY").first.click()
    expect(opened.get_by_role("heading", name="deny: fix/read")).to_be_visible()
    record = opened.get_by_role("region", name="The record")
    expect(record).to_contain_text("test.jsonl, line")
    expect(record).to_contain_text(f'"path": "{place.home}/secret.txt"')
    opened.get_by_role("link", name="Explain").click(timeout=120_000)
    why = opened.get_by_role("region", name="Explanation")
    expect(why).to_contain_text("The way through the seven steps", timeout=120_000)
    expect(why).to_contain_text("7. ")
    expect(why).to_contain_text("decides it as recorded.")
    why.get_by_text("What OPA was asked, and what it answered").click()
    asked, answered = why.locator("#asked .request").all()
    expect(asked).to_contain_text('"tool": "read"')
    expect(asked).to_contain_text(f'"path": "{place.home}/secret.txt"')
    expect(answered).to_contain_text('"verdict": "deny"')
    for name, chosen in (("tool", "read"), ("rule", "default-deny"), ("session", "test")):
        opened.get_by_role("link", name=name, exact=True).click()
        expect(opened.locator(f"select[name={name}]")).to_have_value(chosen)
        expect(rows(opened).filter(has_text="fix/read")).to_have_count(1)
        opened.go_back()


def test_what_an_agent_wrote_is_text(opened: Page) -> None:
    rows(opened).filter(has_text="ALLOW").last.click()
    record = opened.get_by_role("region", name="The record")
    expect(record).to_contain_text(f"{MARKUP}\\u202e")
    expect(opened.locator("main img")).to_have_count(0)


def test_a_decision_that_is_not_there_is_told_so(opened: Page, running: Web) -> None:
    for path in ("/activity/test/none", "/activity/..%2f..%2fetc/passwd", "/activity/none/none"):
        answer = opened.goto(running.origin + path)
        assert answer is not None
        assert answer.status == 404


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 320])
def test_it_is_readable_and_accessible(
    chromium: Browser, running: Web, tmp_path: Path, scheme: Any, width: int
) -> None:
    context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = running.enter(context.new_page())
    page.goto(f"{running.origin}/activity")
    first = rows(page).first.get_attribute("href")
    for path in ("/activity", first, f"{first}?explain"):
        page.goto(f"{running.origin}{path}")
        page.evaluate("document.querySelectorAll('main details').forEach(each => each.open = true)")
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0
    expect(page.locator("#asked .request")).to_have_count(2)
    assert page.screenshot(path=tmp_path / "page.png", full_page=True).startswith(b"\x89PNG")
    context.close()


def test_a_request_shows_what_was_answered_to_its_like(chromium: Browser, tmp_path: Path) -> None:
    own = tmp_path / ".ironcurtain"
    own.mkdir(mode=0o700)
    request = written("/srv/a.txt")
    ask(tmp_path, request)
    denied = Approval(state="denied", approver="me", verdict=Verdict.DENY, reason="not this one")
    same = {"server": request.server, "tool": request.tool, "rule": request.rule, "verdict": Verdict.ESCALATE}
    records = [decided(1, **same, approval=denied), decided(2, **{**same, "rule": "other"}, approval=denied)]
    with ThreadPoolExecutor(1) as pool:
        pool.submit(partial(write_decisions, own / "audit"), *records).result()
    with web(tmp_path) as running:
        page = running.enter(chromium.new_page())
        page.goto(f"{page.url}/{request.id}")
        expect(page.locator(".request")).to_contain_text("d000001 ESCALATE s/write_file")
        expect(page.locator(".request")).not_to_contain_text("d000002")


def test_every_page_answers_while_an_agent_waits(chromium: Browser, tmp_path: Path) -> None:
    place = Place(tmp_path)

    async def remove() -> CallToolResult:
        async with place.client("--patience", "120") as client:
            return await client.call_tool("fix__remove", {"path": f"{place.home}/notes/a"})

    options = ("--bundle", str(place.bundle), "--against", str(place.bundle))
    with web(place.home, *options) as running, ThreadPoolExecutor(1) as pool:
        called = pool.submit(anyio.run, remove)
        page = running.enter(chromium.new_page())
        waiting = page.locator("[data-row]", has_text="notes/a")
        expect(waiting).to_be_visible(timeout=120_000)
        for path, words in (
            ("/activity", "The last hour"),
            ("/policy", "The decision matrix"),
            ("/compare", "to the policy of today"),
        ):
            page.goto(running.origin + path)
            expect(page.locator("main")).to_contain_text(words, timeout=120_000)
        page.goto(f"{running.origin}/playground?tool=fix/remove")
        page.locator('[name="argument:path"]').fill("~/notes/a")
        expect(page.locator("#verdict .verdict").first).to_have_text("escalate", timeout=120_000)
        page.get_by_role("link", name="Approvals").click()
        waiting.click()
        page.get_by_role("button", name="Deny").click()
        assert called.result(120).is_error
