"""The page of approvals in a real browser, over requests that wait and over a running proxy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Route, expect
from support.deployments.proxied import Place, text_of, wait_for
from support.people.web import Web, answers, ask, read_to_the_end, web
from support.records.approvals import inbox_of, written
from support.records.sessions import RULES, make_session, request_of
from support.services.nodes import free_port

from ironcurtain.enforcement.approvals.approvers import ApproverIdentity
from ironcurtain.enforcement.approvals.inbox import PersonAnswer
from ironcurtain.enforcement.approvals.messages import ApprovalRequest
from ironcurtain.enforcement.audit.record_types import Sandbox
from ironcurtain.enforcement.audit.recorder import Observed

pytestmark = pytest.mark.timeout(600)

HOSTILE = (
    "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>\u202e{{7*7}} http://evil.example \x1b[2J"
    "\u200b\U000e0100\U0001d173"
)
SHOWN = (
    "<script>alert(1)</script>\\\"'><img src=x onerror=alert(1)>\\u202e{{7*7}} http://evil.example \\x1b[2J"
    "\\u200b\\U000e0100\\U0001d173"
)
SILENT = """window.rung = 0;
window.AudioContext = class {
  currentTime = 0;
  createGain() { return {gain: {}, connect: (next) => next}; }
  createOscillator() { return {connect: (next) => next, start: () => { rung += 1; }, stop() {}}; }
  close() {}
};"""
"""Counts how often a page makes a sound."""


@pytest.fixture
def running(home: Path) -> Iterator[Web]:
    with web(home) as started:
        yield started


@pytest.fixture
def opened(chromium: Browser, running: Web) -> Iterator[Page]:
    """Return the page of approvals in a browser that was let in; whatever went wrong in it fails the test."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    page, faults = context.new_page(), []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda said: faults.append(said.text) if "Content Security" in said.text else None)
    yield running.enter(page)
    context.close()
    assert faults == []


def choose(page: Page, id_: str) -> None:
    page.locator(f"#to-{id_}").click()
    expect(page.locator("#deny")).to_be_focused()


def approve(page: Page, button: str = "Approve once") -> None:
    read_to_the_end(page)
    page.get_by_role("button", name=button).click()


def test_answers_in_the_page_reach_a_waiting_agent(chromium: Browser, tmp_path: Path) -> None:
    place = Place(tmp_path)

    async def calls(paths: list[str]) -> list[Any]:
        async with place.client("--patience", "90") as client:
            return [await client.call_tool("fix__remove", {"path": f"{place.home}/{path}"}) for path in paths]

    with ThreadPoolExecutor() as pool, web(place.home) as running:
        called: Future[list[Any]] = pool.submit(anyio.run, partial(calls, ["one", "two", "three"]))
        page, shown = running.enter(chromium.new_page()), []
        for path, button in (("one", "Approve once"), ("two", None)):
            row = page.locator("[data-row]", has_text=path)
            row.click(timeout=120_000)
            expect(page.locator(".request")).to_contain_text(f'/path = "{place.home}/{path}"')
            shown.append(page.url.rpartition("/")[2])
            if button:
                approve(page, button)
            else:
                page.get_by_label("Why; the agent is told this").fill("keep it")
                page.get_by_role("button", name="Deny").click()
        # The third is answered at the terminal while the page shows it: the first answer counts.
        page.locator("[data-row]", has_text="three").click(timeout=120_000)
        expect(page.get_by_role("button", name="Approve once")).to_have_count(1)
        with inbox_of(place.home / ".ironcurtain") as desk:
            status = desk.status(page.url.rpartition("/")[2])
            assert status is not None
            assert status.request is not None
            assert desk.answer(status.request, PersonAnswer("denied", reason="at the terminal")) == "recorded"
        expect(page.locator("#state")).to_have_text(re.compile("answered already|settled, or gone"))
        expect(page.get_by_role("button", name="Approve once")).to_have_count(0)
        results = called.result(120)
        assert [result.is_error for result in results] == [False, True, True]
        assert "keep it" in text_of(results[1])
        assert "at the terminal" in text_of(results[2])
    sent = [entry["arguments"] for entry in place.sent() if "path" in (entry.get("arguments") or {})]
    assert sent == [{"path": f"{place.home}/one"}]
    recorded = [each for each in place.decisions if each.get("approval")]
    assert [each["approval"]["state"] for each in recorded] == ["approved", "denied", "denied"]
    # What was shown is what was recorded, and what was sent.
    assert [each["approval"]["request"] for each in recorded][:2] == shown
    assert recorded[0]["arguments"] == sent[0]


def test_what_waits_comes_and_goes_by_itself(opened: Page, home: Path) -> None:
    expect(opened.get_by_role("heading", name="Nothing waits for you")).to_be_visible()
    request = written("/srv/a.txt")
    ask(home, request)
    expect(opened.locator("[data-row]")).to_have_count(1)
    expect(opened).to_have_title("(1) Approvals · IronCurtain")
    choose(opened, request.id)
    with inbox_of(home / ".ironcurtain") as desk:
        assert desk.answer(request, PersonAnswer("denied")) == "recorded"
    expect(opened.locator("#state")).to_have_text("It is answered already; the first answer counts.")
    expect(opened.get_by_role("button", name="Deny")).to_have_count(0)
    expect(opened).to_have_title("Approvals · IronCurtain")


def test_a_sound_tells_of_what_is_new_and_can_be_turned_off(
    chromium: Browser, running: Web, home: Path
) -> None:
    context = chromium.new_context()
    context.add_init_script(SILENT)
    page = running.enter(context.new_page())
    for number, rung in ((1, 1), (2, 2), (3, 2)):
        if number == 3:
            page.get_by_role("button", name="Sound on").click()
        ask(home, written(f"/srv/{number}.txt"))
        expect(page.locator("[data-row]")).to_have_count(number)
        page.wait_for_function("count => rung === count", arg=rung)
    context.close()


def test_one_act_answers_one_request(opened: Page, home: Path) -> None:
    """There is nothing in the pages that approves or denies several."""
    requests = [written(f"/srv/{number}.txt") for number in range(3)]
    ask(home, *requests)
    expect(opened.locator("[data-row]")).to_have_count(3)
    expect(opened.locator("main form, main input")).to_have_count(0)
    choose(opened, requests[0].id)
    expect(opened.locator("main form")).to_have_count(2)
    for form in opened.locator("main form").all():
        expect(form).to_have_attribute("action", f"/approvals/{requests[0].id}")


def test_what_another_approver_has_to_approve_can_only_be_denied_here(opened: Page, home: Path) -> None:
    request = written("/srv/a.txt", approver=ApproverIdentity("the owner", "key"))
    ask(home, request)
    choose(opened, request.id)
    why = "It cannot be approved here: it asks for the approval of the owner"
    expect(opened.get_by_text(why)).to_be_visible()
    expect(opened.locator("form.approve")).to_have_count(0)
    opened.locator("#deny").evaluate("deny => { deny.value = 'approve'; deny.form.reason.name = 'read'; }")
    opened.locator("[name=read]").fill("yes")
    opened.get_by_role("button", name="Deny").click()
    expect(opened.locator("#notes")).to_contain_text(f"request {request.id} was not approved")
    assert answers(home) == {}


def test_all_of_a_request_is_shown_and_nothing_of_it_is_markup(opened: Page, home: Path) -> None:
    request = written("/srv/<b>a</b>", HOSTILE, session=HOSTILE)
    ask(home, request)
    choose(opened, request.id)
    whole = opened.locator(".request")
    for words in (
        f'/content = "{SHOWN}"',
        '/path = "/srv/<b>a</b>"',
        request.rule,
        request.binding,
        request.session_offer.covers[0],
    ):
        expect(whole).to_contain_text(words)
    expect(opened.locator("main a[href*=evil], main img, main script")).to_have_count(0)
    choose(opened, request.id)
    opened.get_by_role("button", name="Deny").click()
    expect(opened.locator("#notes")).to_contain_text(f"{request.id}: denied")
    assert list(answers(home)) == [request.id]


def test_approving_takes_reading_to_the_end_and_two_acts(opened: Page, home: Path) -> None:
    request = written("/srv/a.txt", "\n".join(f"line {number}" for number in range(900)))
    ask(home, request)
    choose(opened, request.id)
    read, button = (
        opened.get_by_label("I have read all of it"),
        opened.get_by_role("button", name="Approve once"),
    )
    expect(read).to_be_disabled()
    expect(button).to_be_disabled()
    expect(opened.get_by_text("Scroll to the end of the request first.")).to_be_visible()
    opened.locator(".request").evaluate("box => box.scrollTo(0, box.scrollHeight)")
    expect(read).to_be_enabled()
    expect(button).to_be_disabled()
    read.check()
    button.click()
    expect(opened.locator("#notes")).to_contain_text(f"{request.id}: approved once")
    assert '"verdict":"approved","scope":"once"' in answers(home)[request.id]


def test_it_can_be_approved_for_the_session_where_the_request_offers_that(opened: Page, home: Path) -> None:
    request = written("/srv/a.txt")
    ask(home, request)
    choose(opened, request.id)
    approve(opened, "Approve for this session")
    expect(opened.locator("#notes")).to_contain_text(f"{request.id}: approved for this session")
    assert '"scope":"session"' in answers(home)[request.id]


def test_it_can_be_approved_until_a_time_that_is_offered(opened: Page, home: Path) -> None:
    request = written("/srv/a.txt")
    ask(home, request)
    choose(opened, request.id)
    offered = opened.get_by_role("button", name="Approve until")
    expect(offered).to_have_count(3)
    end = offered.nth(1).inner_text().removeprefix("Approve until ")
    approve(opened, f"Approve until {end}")
    expect(opened.locator("#notes")).to_contain_text(f"{request.id}: approved for this session, until {end} ")
    assert '"until":' in answers(home)[request.id]


def chosen_before_its_end(page: Page, home: Path) -> ApprovalRequest:
    """Open a request that has little time left; a busy machine that opens it too late gets one with more."""
    for seconds in (4, 16, 64):
        request = written("/srv/a.txt", seconds=seconds)
        ask(home, request)
        page.goto(f"{page.url.partition('/approvals')[0]}/approvals/{request.id}")
        if page.locator("#deny").count():
            break
    expect(page.locator("#deny")).to_be_focused()
    return request


def test_an_answer_that_comes_too_late_does_not_count_and_is_told_so(opened: Page, home: Path) -> None:
    opened.route("**/approvals/changes", lambda route: route.abort())
    request = chosen_before_its_end(opened, home)
    with inbox_of(home / ".ironcurtain") as desk:
        wait_for(lambda: desk.statuses() == ())
    opened.get_by_role("button", name="Deny").click()
    expect(opened.locator("#notes")).to_contain_text(f"{request.id} was not denied: its time is over")
    assert answers(home) == {}
    expect(opened.locator(f"#to-{request.id}")).to_have_count(0)
    opened.goto(f"{opened.url.partition('/approvals')[0]}/approvals/{request.id}")
    expect(opened.locator("#state")).to_have_text("Its time is over.")


def test_what_nobody_answered_in_time_can_be_answered_no_more(opened: Page, home: Path) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    opened.route("**/approvals/changes", hold)
    chosen_before_its_end(opened, home)
    expect(opened.locator("#state .left")).to_contain_text("0:0")
    held[-1].continue_()
    expect(opened.locator("#state")).to_have_text("Its time is over.")
    expect(opened.locator("main form")).to_have_count(0)
    expect(opened).to_have_title("Approvals · IronCurtain")


def test_of_two_browsers_the_first_answer_counts(chromium: Browser, running: Web, home: Path) -> None:
    request = written("/srv/a.txt")
    ask(home, request)
    pages = [running.enter(chromium.new_context().new_page()) for _ in range(2)]
    for page in pages:
        page.route("**/approvals/changes", lambda route: route.abort())
        choose(page, request.id)
    approve(pages[0])
    expect(pages[0].locator("#notes")).to_contain_text(f"{request.id}: approved once")
    pages[1].get_by_role("button", name="Deny").click()
    expect(pages[1].locator("#notes")).to_contain_text("the first answer counts")
    assert '"verdict":"approved"' in answers(home)[request.id]


def test_a_page_says_that_the_command_has_ended_and_goes_on(chromium: Browser, home: Path) -> None:
    port = str(free_port())
    with web(home, "--port", port) as first:
        page = first.enter(chromium.new_page())
    expect(page.locator("#connection")).to_contain_text("This session is over.")
    with web(home, "--port", port) as second:
        second.enter(page)
        expect(page.get_by_role("heading", name="Nothing waits for you")).to_be_visible()


def test_where_what_waits_cannot_be_read_it_does_not_say_that_nothing_waits(
    chromium: Browser, home: Path
) -> None:
    own = home / ".ironcurtain"
    ask(home, written("/srv/a.txt"))
    own.chmod(0o777)
    with web(home) as started:
        page = started.enter(chromium.new_page())
        expect(page.get_by_role("heading", name="What waits is not known")).to_be_visible()
        expect(page.get_by_role("alert")).to_contain_text(f"Run `chmod go-w {own}`.")
        own.chmod(0o700)
        expect(page.get_by_role("heading", name="1 call waits for you")).to_be_visible()


def test_everything_is_reached_with_the_keyboard(opened: Page, home: Path) -> None:
    first, second = written("/srv/a.txt"), written("/srv/b.txt")
    ask(home, first, second)
    expect(opened.locator("[data-row]")).to_have_count(2)
    opened.keyboard.press("j")
    opened.keyboard.press("j")
    opened.keyboard.press("Enter")
    expect(opened).to_have_url(re.compile(second.id))
    expect(opened.locator("#deny")).to_be_focused()
    opened.keyboard.press("a")
    expect(opened.get_by_role("region", name="The whole request")).to_be_focused()
    opened.keyboard.press("End")
    expect(opened.locator("#read")).to_be_enabled()
    opened.keyboard.press("a")
    opened.keyboard.press("Enter")  # alone it approves nothing
    expect(opened.locator("#read")).to_be_focused()
    assert answers(home) == {}
    opened.keyboard.press("Space")
    opened.keyboard.press("a")  # and now it is at what the page says that it leads to
    opened.keyboard.press("Enter")
    expect(opened.locator("#notes")).to_contain_text(f"{second.id}: approved once")
    opened.keyboard.press("j")
    opened.keyboard.press("Enter")
    expect(opened.locator("#deny")).to_be_focused()
    opened.keyboard.press("Enter")
    expect(opened.locator("#notes")).to_contain_text(f"{first.id}: denied")


def test_without_javascript_it_is_read_approved_and_denied(
    chromium: Browser, running: Web, home: Path
) -> None:
    requests = [written("/srv/a.txt", "x\n" * 500), written("/srv/b.txt")]
    ask(home, *requests)
    page = chromium.new_context(java_script_enabled=False).new_page()
    running.enter(page, has_script=False)
    for request, button in zip(requests, ("Approve once", "Deny"), strict=True):
        page.locator(f"#to-{request.id}").click()
        if button != "Deny":
            page.get_by_label("I have read all of it").check()
        page.get_by_role("button", name=button).click()
        expect(page.locator("#notes")).to_contain_text(request.id)
    assert '"verdict":"approved"' in answers(home)[requests[0].id]
    assert '"verdict":"denied"' in answers(home)[requests[1].id]


def test_always_leads_to_sentences_and_grants_nothing(chromium: Browser, home: Path, tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:  # Playwright keeps an event loop in the thread of the test
        session = pool.submit(make_session, tmp_path / "session").result()
        seen = Observed(sandbox=Sandbox(directory=str(session.root / "box")))
        pool.submit(partial(session.record, "one", ["work/b.txt"], observed=seen)).result()
    request = request_of(session, "work/new.txt", "one")
    ask(home, request)
    options = ("--audit", str(session.audit), "--home", str(session.home))
    with web(home, "--bundle", session.bundle(RULES), *options) as running:
        page = chromium.new_context(java_script_enabled=False).new_page()
        running.enter(page, has_script=False)
        page.locator(f"#to-{request.id}").click()
        page.locator("#always").focus()
        page.keyboard.press("Enter")
        shown = page.get_by_role("region", name="What asks, and sentences that would answer")
        expect(shown).to_contain_text("asked before: 1 request: 1 approved", timeout=120_000)
        expect(shown).to_contain_text("without approval where every read-path lies in `~/work/new.txt`.")
        expect(page.locator("form[action*='/approvals']")).to_have_count(0)
        page.get_by_role("link", name="Back to the request").click()
        expect(page.locator("#state")).to_contain_text("It waits for your answer")
    assert answers(home) == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 320])
def test_it_is_readable_and_accessible(
    chromium: Browser, running: Web, home: Path, tmp_path: Path, scheme: Any, width: int
) -> None:
    long = written(f"/srv/{'deep/' * 60}file.txt", "The minutes of the meeting.\n" * 40)
    ask(home, long, written("/srv/other.txt"))
    context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = running.enter(context.new_page())
    for path in (
        "/approvals",
        f"/approvals/{long.id}",
        f"/approvals/{long.id}/always",
        "/approvals/none",
        "/none",
    ):
        page.goto(running.origin + path)
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0
    assert page.screenshot(path=tmp_path / "page.png", full_page=True).startswith(b"\x89PNG")
    entrance = context.new_page()
    entrance.route("**/static/page.js", lambda route: route.abort())  # it would go on at once
    entrance.goto(running.said[-1])
    expect(entrance.get_by_role("button", name="Enter")).to_be_visible()
    found = Axe().run(entrance)
    assert found.violations_count == 0, found.generate_report()
    context.close()


@pytest.mark.parametrize(("motion", "behaviour"), [("reduce", "auto"), ("no-preference", "smooth")])
def test_nothing_moves_for_who_wants_no_motion(
    chromium: Browser, running: Web, motion: Any, behaviour: str
) -> None:
    page = running.enter(chromium.new_context(reduced_motion=motion).new_page())
    assert page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == behaviour
    assert page.evaluate("document.getAnimations().length") == 0
