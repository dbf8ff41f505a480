"""The playground in a real browser: what it says is what the library decides, while somebody types."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from e2e.program import ROOT, SHIPPED
from playwright.sync_api import Browser, Locator, Page, Request, Route, expect
from support.people.web import Web, web
from support.records.audited import decided, write_decisions

from ironcurtain.analysis.engine.evaluate import load_described
from ironcurtain.analysis.explain.explain import Explainer
from ironcurtain.analysis.explain.report import Explanation
from ironcurtain.bundle.opening import Trust, open_bundle
from ironcurtain.decision.decide import Call
from ironcurtain.enforcement.audit.record_types import Sandbox
from ironcurtain.model.scenarios import Scenario, ScenarioCall, Scenarios
from ironcurtain.policy import Policy
from ironcurtain.system.files import load

pytestmark = pytest.mark.timeout(600)

DOCUMENT = "/home/user/Documents/a.txt"
SHOP = ROOT / "examples" / "shop"


def explained(bundle: Path, scenarios: Path, call: ScenarioCall) -> Explanation:
    """Explain a call on the machine of a file of scenarios, without the page."""
    read = open_bundle(bundle, Trust())
    loaded = load_described(read, load(scenarios, Scenarios).world)
    with Policy(read, loaded) as policy:
        facts = policy.known_facts(call.facts or {}, call.at)
        asked = Call(call.server, call.tool, call.arguments, call.caller, facts=facts)
        return Explainer(read, loaded, policy.decide_traced, every_rule=True).explain(asked)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    (home / ".ironcurtain").mkdir(mode=0o700)
    record = decided(
        1,
        server="filesystem",
        tool="read_text_file",
        arguments={"path": f"{home}/Documents/\u202eletter.txt"},
        sandbox=Sandbox(directory=f"{home}/work"),
    )
    with ThreadPoolExecutor(1) as pool:
        pool.submit(partial(write_decisions, home / ".ironcurtain" / "audit"), record).result()
    return home


@pytest.fixture(scope="module")
def running(home: Path) -> Iterator[Web]:
    with web(home, "--bundle", str(SHIPPED), "--against", str(SHOP / "generated" / "bundle")) as started:
        yield started


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(SHOP, tmp_path_factory.mktemp("project") / "shop"))


@pytest.fixture(scope="module")
def shop(home: Path, project: Path) -> Iterator[Web]:
    with web(home, "--bundle", str(project / "generated" / "bundle")) as started:
        yield started


def opened(chromium: Browser, running: Web, tool: str, **options: Any) -> Page:
    page = chromium.new_context(**options).new_page()
    running.enter(page, has_script=options.get("java_script_enabled", True))
    page.goto(f"{running.origin}/playground?tool={tool}")
    return page


def argument(page: Page, name: str) -> Locator:
    return page.locator(f'[name="argument:{name}"]')


def paste(page: Page, text: str) -> None:
    page.get_by_text("Paste a call").click()
    page.locator("textarea[name=load]").fill(text)
    page.get_by_role("button", name="Load it").click()


def verdict(page: Page) -> Locator:
    return page.locator("#verdict .verdict").first


def test_what_is_typed_is_decided_and_explained_as_by_the_library(chromium: Browser, running: Web) -> None:
    page = opened(chromium, running, "filesystem/write_file")
    argument(page, "content").fill("hello")
    argument(page, "path").press_sequentially(DOCUMENT)
    expect(verdict(page)).to_have_text("deny")
    call = ScenarioCall(
        server="filesystem", tool="write_file", arguments={"content": "hello", "path": DOCUMENT}
    )
    told = explained(SHIPPED, ROOT / "scenarios.yaml", call)
    expect(page.locator("#verdict")).to_contain_text(f"by {told.decision.rule}: {told.decision.reason}")
    expect(page.locator("#verdict")).to_contain_text(told.clauses[0].text)
    reasons = page.locator("#reasons .beside > div").first
    for step in told.steps:
        for line in step.found:
            expect(reasons.locator(".steps")).to_contain_text(line)
    states = [(rule.state, rule.rule) for subject in told.subjects for rule in subject.rules]
    assert {state for state, _ in states} == {"fired", "held", "false"}
    shown = [text.split() for text in reasons.locator(".rules > li").all_text_contents()]
    assert [(words[0], words[1]) for words in shown] == states
    assert page.url.endswith("write_file")


def test_the_smallest_change_that_gets_further_is_a_press_away(chromium: Browser, running: Web) -> None:
    page = opened(chromium, running, "filesystem/write_file")
    argument(page, "content").fill("hello")
    argument(page, "path").fill(DOCUMENT)
    near = page.locator("#nearby li", has_text="/home/user/Downloads/a.txt")
    expect(near.locator(".verdict")).to_have_text("allow")
    near.get_by_role("button", name="Try it").click()
    expect(argument(page, "path")).to_have_value("/home/user/Downloads/a.txt")
    expect(argument(page, "content")).to_have_value("hello")
    expect(verdict(page)).to_have_text("allow")


def test_the_decision_comes_before_what_is_near_it_and_waits_for_none_of_that(
    chromium: Browser, running: Web
) -> None:
    page = opened(chromium, running, "filesystem/write_file")
    argument(page, "content").fill("hello")
    argument(page, "path").fill(DOCUMENT)
    near = page.locator("#nearby")
    expect(near).to_contain_text("/home/user/Downloads/a.txt")
    held: list[Route] = []
    pattern = "**/playground"
    page.route(pattern, lambda route: route.continue_() if is_first(route.request) else held.append(route))
    for name in ("b", "c"):
        with page.expect_request(lambda request: not is_first(request)):
            argument(page, "path").fill(f"/home/user/Documents/{name}.txt")
            expect(page.locator("#reasons")).to_contain_text(f"/home/user/Documents/{name}.txt")
        expect(near).to_have_attribute("inert", "")  # it is still that of the call before
        expect(near).to_contain_text("/home/user/Downloads/a.txt")
    _, last = held
    last.continue_()
    expect(near).to_contain_text("/home/user/Downloads/c.txt")
    expect(near).not_to_have_attribute("inert", "")


def is_first(request: Request) -> bool:
    """Tell whether a request asks for the decision alone."""
    return "nearby=later" in (request.post_data or "")


def test_two_policies_stand_side_by_side(chromium: Browser, running: Web) -> None:
    page = opened(chromium, running, "filesystem/read_text_file")
    argument(page, "path").fill(DOCUMENT)
    columns = page.locator("#verdict .beside > div")
    expect(columns).to_have_count(2)
    expect(columns.nth(0)).to_contain_text("allow")
    expect(columns.nth(1)).to_contain_text("shop")
    expect(columns.nth(1)).to_contain_text("deny by structural-unknown-tool")


def test_without_a_policy_it_says_how_to_name_one(chromium: Browser, tmp_path: Path) -> None:
    with web(tmp_path) as started:
        expect(opened(chromium, started, "x/y").locator("main code")).to_contain_text("--bundle")


def test_what_is_not_there_is_told_so(chromium: Browser, running: Web) -> None:
    page = opened(chromium, running, "filesystem/write_file")
    for query in (
        "tool=filesystem/none",
        "tool=none",
        "tool=",
        "session=work&id=none",
        "id=",
        "scenario=none",
        "call={",
    ):
        answer = page.goto(f"{running.origin}/playground?{query}")
        assert answer is not None
        assert answer.status == 404, query


def test_the_machine_can_be_another_one(chromium: Browser, running: Web) -> None:
    page = opened(chromium, running, "filesystem/read_text_file")
    argument(page, "path").fill("/home/user/sandbox/to")
    expect(verdict(page)).to_have_text("allow")
    page.get_by_text("The machine:").click()
    machine = page.locator("#call [name=machine]")
    text = machine.input_value()
    machine.fill(re.sub("symlinks:\n", "symlinks:\n  /home/user/sandbox/to: /srv/elsewhere\n", text))
    expect(verdict(page)).to_have_text("escalate")
    expect(page.locator("#reasons")).to_contain_text("/srv/elsewhere")
    machine.fill("home: [")
    expect(page.locator("#verdict")).to_contain_text("Not decided: not valid YAML")
    machine.fill("home: /home/user\nsandbox: /home/user")
    expect(page.locator("#verdict")).to_contain_text("is or contains the home directory")


def test_a_rule_whose_facts_are_not_known_says_so_until_they_are(chromium: Browser, shop: Web) -> None:
    page = opened(chromium, shop, "shop/cancel_order")
    argument(page, "order_id").fill("W1")
    expect(page.locator("#reasons .rules .unknown").first).to_contain_text("not known:")
    page.locator('[name="caller:sub"]').fill("ada")
    page.locator('[name="fact:order/status"]').fill("pending")
    page.locator('[name="fact:order/user_id"]').fill("ada")
    page.locator('[name="fact:order/placed"]').fill("2026-11-23T08:30:00Z")
    expect(page.locator("#verdict")).to_contain_text("An instant needs `at`.")
    page.locator("[name=at]").fill("2026-11-23T10:00:00Z")
    expect(verdict(page)).to_have_text("allow")
    expect(page.locator("#reasons .rules .fired")).to_have_count(1)
    page.locator("[name=at]").fill("2026-11-25T10:00:00Z")
    expect(verdict(page)).not_to_have_text("allow")


def test_each_scenario_of_people_can_be_pasted_and_is_decided_as_it_demands(
    chromium: Browser, shop: Web, project: Path
) -> None:
    page = opened(chromium, shop, "shop/read_notes")
    found = load(project / "scenarios.yaml", Scenarios).scenarios
    assert len(found) > 5
    for each in found:
        call = each.call.model_dump(mode="json", exclude_none=True)
        paste(page, json.dumps({"id": each.id, "call": call}))
        expect(verdict(page)).to_have_text(each.expect.value)
        expect(page.locator("select[name=tool]")).to_have_value(f"{call['server']}/{call['tool']}")


def test_a_scenario_is_chosen_and_opens_with_its_call(chromium: Browser, shop: Web, project: Path) -> None:
    found = load(project / "generated" / "test-scenarios.json", Scenarios).scenarios
    of_tool = [each for each in found if each.call.tool == "cancel_order"]
    page = opened(chromium, shop, "shop/cancel_order")
    choice = page.get_by_label("Begin with a scenario")
    assert choice.locator("option").all_text_contents() == [
        "none",
        *(f"{each.expect.value}: {each.id}" for each in of_tool),
    ]
    for each in of_tool[:3]:
        choice.select_option(each.id)
        expect(verdict(page)).to_have_text(each.expect.value)
        expect(choice).to_have_value(each.id)
        expect(argument(page, "order_id")).to_have_value(str(each.call.arguments["order_id"]))
    choice.select_option("")
    expect(page.locator("select[name=tool]")).to_have_value("shop/cancel_order")
    expect(page.locator("#verdict .verdict")).to_have_count(0)


def test_what_is_pasted_may_be_yaml_or_a_line_of_a_batch_and_must_be_a_call(
    chromium: Browser, running: Web
) -> None:
    page = opened(chromium, running, "filesystem/write_file")
    paste(
        page,
        f"- id: x\n  call: {{server: filesystem, tool: read_text_file, arguments: {{path: {DOCUMENT}}}}}",
    )
    expect(argument(page, "path")).to_have_value(DOCUMENT)
    batch = {"id": 1, "server": "filesystem", "tool": "read_text_file", "arguments": {"path": "a\nb", "x": 1}}
    paste(page, json.dumps(batch))
    expect(argument(page, "path")).to_have_value("")
    expect(page.locator("[name=other-arguments]")).to_have_value('{"path": "a\\nb", "x": 1}')
    for wrong, words in (("{", "neither JSON nor YAML"), ("[]", "no call"), ('{"server": 1}', "no call")):
        paste(page, wrong)
        expect(page.locator("#verdict")).to_contain_text(words)
    paste(page, json.dumps(batch | {"tool": "none"}))
    expect(page.locator("#verdict")).to_contain_text("knows no such tool")


def test_a_recorded_call_is_opened_from_its_record(chromium: Browser, running: Web, home: Path) -> None:
    page = opened(chromium, running, "filesystem/write_file")
    page.get_by_role("link", name="Activity").click()
    page.locator("#decisions [data-row]").first.click()
    page.get_by_role("link", name="Open it in the playground").click()
    expect(page.locator("select[name=tool]")).to_have_value("filesystem/read_text_file")
    # What nobody could see stands as JSON, where its escape says what it is.
    written = json.dumps({"path": f"{home}/Documents/\u202eletter.txt"})
    expect(page.locator("[name=other-arguments]")).to_have_value(written)
    assert f"sandbox: {home}/work" in page.locator("#call [name=machine]").input_value()
    expect(verdict(page)).to_have_text("allow")


def keep(page: Page, id_: str, **chosen: str) -> None:
    """Have the page show the scenario."""
    field = page.locator("[name=scenario-id]")
    expect(field).to_be_attached()
    if not field.is_visible():
        page.get_by_text("Keep as scenario").click()
    field.fill(id_)
    page.locator("[name=expect]").select_option(chosen.get("expect", ""))
    page.locator("[name=why]").fill(chosen.get("why", ""))
    page.get_by_role("button", name="Show the scenario").click()


def test_a_call_is_kept_as_a_scenario_after_it_was_shown(chromium: Browser, shop: Web, project: Path) -> None:
    file = project / "scenarios.yaml"
    before = file.read_text()
    page = opened(chromium, shop, "shop/read_notes")
    argument(page, "user_id").fill("ada")
    page.locator('[name="caller:sub"]').fill("ada")
    keep(page, "notes-from-the-page", why='It is her own page: "hers".')
    expect(page.locator("#kept pre")).to_contain_text("id: notes-from-the-page")
    assert file.read_text() == before
    page.get_by_role("button", name="Append it to scenarios.yaml").click()
    expect(page.locator("#kept")).to_contain_text("notes-from-the-page was appended to scenarios.yaml.")
    assert file.read_text().startswith(before.rstrip("\n"))
    *_, last = load(file, Scenarios).entries
    assert isinstance(last, Scenario)
    assert (last.id, last.call.arguments, last.call.caller) == (
        "notes-from-the-page",
        {"user_id": "ada"},
        {"sub": "ada"},
    )
    assert last.why == 'It is her own page: "hers".'
    after = file.read_text()
    keep(page, "notes-from-the-page")
    page.get_by_role("button", name="Append it to scenarios.yaml").click()
    expect(page.locator("#kept")).to_contain_text("Nothing was written: there is a scenario")
    keep(page, "Not An Id")
    expect(page.locator("#kept")).to_contain_text("Nothing was written: a scenario's id has")
    machine = page.locator("#call [name=machine]")
    page.get_by_text("The machine:").click()
    machine.fill(machine.input_value() + "files: {/srv/a: {}}\n")
    keep(page, "on-another-machine", expect="deny")
    page.get_by_role("button", name="Append it to scenarios.yaml").click()
    expect(page.locator("#kept")).to_contain_text("assume another machine")
    assert file.read_text() == after


def test_what_was_not_shown_is_not_appended(chromium: Browser, shop: Web, project: Path) -> None:
    before = (project / "scenarios.yaml").read_text()
    page = opened(chromium, shop, "shop/read_notes", java_script_enabled=False)
    argument(page, "user_id").fill("ada")
    keep(page, "shown-before")
    expect(page.locator("#kept pre")).to_contain_text("ada")
    argument(page, "user_id").fill("blaise")
    page.get_by_role("button", name="Append it to scenarios.yaml").click()
    expect(page.locator("#kept")).to_contain_text("This is not the scenario that you were shown")
    expect(page.locator("#kept pre")).to_contain_text("blaise")
    assert (project / "scenarios.yaml").read_text() == before


def test_without_javascript_the_form_is_sent(chromium: Browser, running: Web) -> None:
    page = opened(chromium, running, "filesystem/read_text_file", java_script_enabled=False)
    page.locator("select[name=tool]").select_option("filesystem/write_file")
    page.get_by_role("button", name="Choose").click()
    argument(page, "content").fill("hello")
    argument(page, "path").fill(DOCUMENT)
    page.get_by_role("button", name="Decide").click()
    expect(verdict(page)).to_have_text("deny")
    expect(argument(page, "path")).to_have_value(DOCUMENT)


def test_with_the_keyboard_alone(chromium: Browser, running: Web) -> None:
    page = opened(chromium, running, "filesystem/write_file")
    page.get_by_label("Tool").focus()
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.name") == "argument:content":
            break
    page.keyboard.type("hello")
    page.keyboard.press("Tab")
    page.keyboard.type(DOCUMENT)
    expect(verdict(page)).to_have_text("deny")
    assert page.evaluate("document.activeElement.name") == "argument:path"
    page.keyboard.press("Enter")
    page.wait_for_load_state()
    expect(verdict(page)).to_have_text("deny")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 320])
def test_it_is_readable_and_accessible(
    chromium: Browser, running: Web, shop: Web, scheme: Any, width: int
) -> None:
    options: dict[str, Any] = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
    for server, tool, name, value in (
        (running, "filesystem/read_text_file", "path", DOCUMENT),
        (shop, "shop/cancel_order", "order_id", "W1"),
    ):
        page = opened(chromium, server, tool, **options)
        argument(page, name).fill(value)
        expect(page.locator("#reasons .rules").first).to_be_visible()
        page.evaluate("document.querySelectorAll('main details').forEach(each => each.open = true)")
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
