"""The pages of the policy and of the comparison in a real browser, served and as files."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from e2e.program import ROOT, SHIPPED, in_process
from playwright.sync_api import Browser, Page, expect
from support.machines.git import git_environment
from support.people.web import Web, web
from support.projects.policies import rule, tool, write_bundle
from support.records.sessions import RULES, Session, make_session

from ironcurtain.analysis.clauses.outcomes_text import outcome_words
from ironcurtain.analysis.clauses.report import ClauseReport
from ironcurtain.enforcement.audit.record_types import Sandbox
from ironcurtain.enforcement.audit.recorder import Observed
from ironcurtain.integrations.gate.change_approvals import read_approvals

pytestmark = pytest.mark.timeout(600)

LONG = 120_000
"""Milliseconds that an examination may take on a busy machine."""
MARKUP = "<img src=x onerror=alert(1)>\u202e"


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bundle(tmp_path_factory.mktemp("older"), "deny")


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bundle(tmp_path_factory.mktemp("newer"), "allow")


def bundle(directory: Path, then: str) -> Path:
    """Write a policy whose one sentence is hostile to whoever shows it."""
    return write_bundle(
        directory,
        {"fs": [tool("read", path=["read-path"])]},
        [rule("notes", then, server=["fs"], paths={"roles": ["read-path"], "within": ["/srv/notes"]})],
        policy={
            "clauses": [
                {"id": "C1", "text": f"Notes are for reading. {MARKUP}", "source": "constitution.md:3"}
            ]
        },
    )


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    with web(tmp_path_factory.mktemp("home"), "--bundle", str(SHIPPED)) as started:
        yield started


@pytest.fixture(scope="module")
def comparing(tmp_path_factory: pytest.TempPathFactory, older: Path, newer: Path) -> Iterator[Web]:
    options = ("--bundle", str(newer), "--against", str(older))
    with web(tmp_path_factory.mktemp("home"), *options) as started:
        yield started


def opened(chromium: Browser, running: Web, path: str, **options: Any) -> Page:
    entered = running.enter(chromium.new_context(**options).new_page())
    entered.goto(running.origin + path)
    return entered


def test_a_sentence_shows_what_it_causes(chromium: Browser, running: Web) -> None:
    told = in_process("explain", "--clause", "all", "--bundle", str(SHIPPED), "--format", "json", cwd=ROOT)
    assert told.code == 0, told.err
    outcomes = ClauseReport.model_validate_json(told.out).clauses
    shown = opened(chromium, running, "/policy")
    sentences = shown.get_by_role("navigation", name="Sentences").get_by_role("link")
    expect(sentences).to_have_count(len(outcomes), timeout=LONG)
    for outcome in outcomes:
        expect(shown.locator(f"[id='sentence-{outcome.clause.id}']")).to_contain_text(outcome_words(outcome))
    chosen = next(each for each in outcomes if each.outcome == "enforced")
    shown.locator(f"[id='sentence-{chosen.clause.id}']").focus()
    shown.keyboard.press("Enter")
    lines = in_process("explain", "--clause", chosen.clause.id, "--bundle", str(SHIPPED), cwd=ROOT).out
    effects = shown.locator(f"section[id='{chosen.clause.id}']")
    for line in filter(None, map(str.strip, lines.splitlines())):
        expect(effects).to_contain_text(line)
    expect(shown.locator(".heat td.of-sentence").first).to_be_visible()


def test_the_sentence_that_was_chosen_stays_in_sight(chromium: Browser, running: Web) -> None:
    shown = opened(chromium, running, "/policy")
    expect(shown.locator(".heat").first).to_be_visible(timeout=LONG)
    shown.locator(".sentences a").last.click()
    column, chosen = shown.locator(".sentences"), shown.locator(".sentences [aria-current]")
    expect(shown.locator(".effects")).to_have_count(1)
    shown.wait_for_load_state()
    places = [each.bounding_box() for each in (column, chosen)]
    assert places[0] is not None
    assert places[1] is not None
    assert places[0]["y"] <= places[1]["y"]
    assert places[1]["y"] + places[1]["height"] <= places[0]["y"] + places[0]["height"] + 1


def test_the_headings_of_the_constitution_stand_above_its_sentences(chromium: Browser, running: Web) -> None:
    shown = opened(chromium, running, "/policy")
    column = shown.get_by_role("navigation", name="Sentences").locator("ul")
    expect(column.locator(".heading").first).to_be_visible(timeout=LONG)
    written = [line.lstrip("# ") for line in (ROOT / "constitution.md").read_text().splitlines()]
    seen = [each.splitlines()[0].strip() for each in column.locator("li").all_inner_texts()]
    expect(column.locator("strong").first).to_have_text("Least privilege")
    heading = "Files"
    assert seen[seen.index(heading) + 1] == next(
        line.removeprefix("- ") for line in written[written.index(heading) + 1 :] if line
    )


def test_of_a_sentences_markup_only_emphasis_is_shown(chromium: Browser, comparing: Web) -> None:
    shown = opened(chromium, comparing, "/policy")
    sentence = shown.locator("[id='sentence-C1']")
    expect(sentence).to_contain_text(
        "Notes are for reading. <img src=x onerror=alert(1)>\\u202e", timeout=LONG
    )
    assert shown.locator("main img").count() == 0


def test_of_a_constitution_that_was_changed_since_no_headings_are_shown(
    chromium: Browser, tmp_path: Path
) -> None:
    (tmp_path / "generated").mkdir()
    path = bundle(tmp_path / "generated", "deny")
    (tmp_path / "ironcurtain.toml").write_text('output = "generated"\n')
    (tmp_path / "constitution.md").write_text("# Notes\n\nNotes are for writing.\n")
    (tmp_path / "home").mkdir()
    with web(tmp_path / "home", "--bundle", str(path)) as started:
        shown = opened(chromium, started, "/policy")
        expect(shown.get_by_text("constitution.md was changed since")).to_be_visible(timeout=LONG)
        expect(shown.locator(".heading")).to_have_count(0)


def test_a_cell_opens_calls_that_show_its_verdicts(chromium: Browser, running: Web) -> None:
    shown = opened(chromium, running, "/policy")
    expect(shown.locator(".heat").first).to_be_visible(timeout=LONG)
    for verdict, letter in (("allow", "A"), ("escalate", "E"), ("deny", "D")):
        shown.goto(f"{running.origin}/policy")
        cell = shown.locator(f".heat a:has(.verdict.{verdict}):not(:has(.verdict + .verdict))").first
        expect(cell).to_have_text(letter)
        cell.click()
        expect(shown.locator("section.request")).to_contain_text(f"the call is decided {verdict} by")
        shown.get_by_role("link", name="Try it in the playground").first.click()
        expect(shown.locator("#verdict .verdict")).to_have_text(verdict, timeout=LONG)


def test_what_is_not_there_is_told_so(chromium: Browser, running: Web) -> None:
    shown = opened(chromium, running, "/policy")
    expect(shown.locator(".heat").first).to_be_visible(timeout=LONG)
    for path in ("/policy?clause=none", "/policy?server=none", "/policy?from=-1", "/policy/cell"):
        answer = shown.goto(running.origin + path)
        assert answer is not None
        assert answer.status == 404


def test_without_a_policy_it_says_how_to_name_one(chromium: Browser, tmp_path: Path) -> None:
    with web(tmp_path) as started:
        for path, option in (("/policy", "--bundle"), ("/compare", "--against")):
            expect(opened(chromium, started, path).locator("main code")).to_contain_text(option)


def test_a_policy_that_changes_is_examined_anew(chromium: Browser, tmp_path: Path) -> None:
    path = bundle(tmp_path, "deny")
    (tmp_path / "home").mkdir()
    with web(tmp_path / "home", "--bundle", str(path)) as started:
        shown = opened(chromium, started, "/policy")
        place = shown.locator(".heat tr", has_text="read-path")
        expect(place.locator(".verdict.allow")).to_have_count(0, timeout=LONG)
        expect(place.first).to_be_visible(timeout=LONG)
        bundle(tmp_path, "allow")
        expect(place.locator(".verdict.allow").first).to_be_visible(timeout=LONG)


def test_a_policy_that_breaks_says_why_and_comes_back(chromium: Browser, tmp_path: Path) -> None:
    path = bundle(tmp_path, "deny")
    (tmp_path / "home").mkdir()
    with web(tmp_path / "home", "--bundle", str(path), "--against", str(path)) as started:
        pages = [opened(chromium, started, each) for each in ("/policy", "/compare")]
        path.write_bytes(b"broken")
        for shown in pages:
            expect(shown.get_by_role("alert")).to_contain_text("the archive is corrupt", timeout=LONG)
            expect(shown.get_by_role("alert")).to_contain_text("Fetch or make it again.")
        bundle(tmp_path, "allow")
        expect(pages[0].locator(".heat").first).to_be_visible(timeout=LONG)
        expect(pages[1].get_by_text("From ")).to_be_visible(timeout=LONG)


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--bundle", "none"), 3, "the bundle cannot be read"),
        (("--bundle", str(SHIPPED), "--against", "--upload-pack=none"), 2, "there is no commit"),
        (("--bundle", str(SHIPPED), "--against", str(ROOT / "README.md")), 3, "the archive is corrupt"),
    ],
)
def test_what_cannot_be_shown_is_refused_at_the_start(
    options: tuple[str, ...], code: int, words: str
) -> None:
    ended = in_process("web", *options, cwd=ROOT)
    assert (ended.code, ended.out) == (code, "")
    assert words in ended.err


def test_a_branch_that_moves_is_compared_with_anew(chromium: Browser, tmp_path: Path) -> None:
    environment = git_environment(tmp_path / "home")
    repository = tmp_path / "policy"

    def git(*arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=repository, env=environment, check=True)

    repository.mkdir()
    path = bundle(repository, "deny")
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--message=older")
    bundle(repository, "allow")
    with web(tmp_path / "home", "--bundle", str(path), "--against", "HEAD") as started:
        shown = opened(chromium, started, "/compare")
        expect(shown.get_by_role("heading", name="Loosened: 1")).to_be_visible(timeout=LONG)
        git("commit", "--quiet", "--all", "--message=newer")
        expect(shown.get_by_role("heading", name="Loosened")).to_have_count(0, timeout=LONG)


def test_a_change_stands_with_its_call_and_sentence_and_can_be_approved(
    chromium: Browser, comparing: Web, older: Path, newer: Path, tmp_path: Path
) -> None:
    told = in_process("diff", str(older), str(newer), "--format", "json", cwd=ROOT)
    changes = json.loads(told.out)["difference"]["changes"]
    assert changes
    shown = opened(chromium, comparing, "/compare")
    expect(shown.get_by_role("heading", name=f"Loosened: {len(changes)}")).to_be_visible(timeout=LONG)
    for change in changes:
        section = shown.locator(f"[id='change-{change['id']}']")
        expect(section).to_contain_text("for example fs/read")
        expect(section).to_contain_text("Notes are for reading. <img src=x onerror=alert(1)>\\u202e")
    assert shown.locator("main img").count() == 0
    shown.get_by_label("Why it is wanted").fill("Notes are to be read.")
    shown.get_by_label("Who approves").fill("alice@example.com")
    with shown.expect_download() as download:
        shown.get_by_role("button", name="Download").click()
    file = tmp_path / "diff-approvals.yaml"
    download.value.save_as(file)
    approved = read_approvals(file, must_exist=True)
    assert approved is not None
    assert {each.change for each in approved.approvals} == {change["id"] for change in changes}
    judged = in_process("diff", str(older), str(newer), "--approvals", str(file), cwd=ROOT)
    assert judged.code == 0, judged.out + judged.err


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 320])
def test_they_are_readable_and_accessible(
    chromium: Browser, running: Web, comparing: Web, scheme: Any, width: int
) -> None:
    options = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
    for server, path, ready in (
        (running, "/policy", ".heat"),
        (comparing, "/compare", "form.approve"),
    ):
        shown = opened(chromium, server, path, **options)
        expect(shown.locator(ready).first).to_be_visible(timeout=LONG)
        found = Axe().run(shown)
        assert found.violations_count == 0, found.generate_report()
        assert shown.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_without_javascript_sentences_cells_and_changes_are_shown(
    chromium: Browser, running: Web, comparing: Web
) -> None:
    for server, path, ready in ((running, "/policy", ".heat"), (comparing, "/compare", "form.approve")):
        context = chromium.new_context(java_script_enabled=False)
        shown = server.enter(context.new_page(), has_script=False)
        shown.goto(server.origin + path)
        expect(shown.locator(ready).first).to_be_visible(timeout=LONG)
        context.close()


def test_the_files_show_the_same_and_ask_for_nothing(
    chromium: Browser, older: Path, newer: Path, tmp_path: Path
) -> None:
    options = ("--bundle", str(newer), "--against", str(older), "--export", str(tmp_path))
    ended = in_process("web", *options, cwd=ROOT)
    assert ended.code == 0, ended.err
    files = [tmp_path / name for name in ("policy.html", "matrix.html", "compare.html")]
    assert ended.out.split() == [str(file) for file in files]
    matrix = in_process("matrix", str(newer), "--format", "html", cwd=ROOT)
    assert files[1].read_text() == matrix.out
    context = chromium.new_context(offline=True, viewport={"width": 320, "height": 900})
    shown = context.new_page()
    asked: list[str] = []
    shown.on("request", lambda request: asked.append(request.url))
    shown.goto(files[0].as_uri())
    expect(shown.locator("section.effects")).to_contain_text("Notes are for reading.")
    shown.locator(".heat a.verdict.allow").first.click()
    expect(shown).to_have_url(f"{files[0].as_uri()}#C1")
    shown.get_by_role("link", name="Compare").click()
    expect(shown.get_by_role("heading", name="Loosened: 1")).to_be_visible()
    assert [each.partition("#")[0] for each in asked] == [files[0].as_uri(), files[2].as_uri()]
    context.close()


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    made = make_session(tmp_path_factory.mktemp("session"))
    seen = Observed(sandbox=Sandbox(directory=str(made.root / "box")))
    with ThreadPoolExecutor(1) as pool:  # Playwright keeps an event loop in the thread of the test
        pool.submit(partial(made.record, "one", ["work/b.txt", "work/c.txt"], observed=seen)).result()
    return made


@pytest.mark.parametrize(
    ("rules", "logs", "words"),
    [
        (RULES, "audit", "3 calls on 1 day, 2 questions (one)."),
        (RULES, "none", "There are no audit logs"),
        (RULES[:2], "audit", "left out: 3 calls that another policy decided"),
    ],
)
def test_use_stands_beside_permission(
    chromium: Browser, session: Session, tmp_path: Path, rules: list[dict[str, Any]], logs: str, words: str
) -> None:
    path = session.bundle(rules, f"{len(rules)}.tar.gz")
    options = ("--audit", str(session.root / logs), "--home", str(session.home))
    with web(tmp_path, "--bundle", path, *options) as started:
        shown = opened(chromium, started, "/policy")
        shown.get_by_role("link", name="Show what was used of it").click(timeout=LONG)
        expect(shown.locator("#use")).to_contain_text(words, timeout=LONG)
        rows = shown.get_by_role("region", name="Use of what is permitted").locator("tbody tr")
        asked = rows.filter(has_text="escalate")
        if logs == "audit" and rules == RULES:
            expect(asked).to_contain_text("1 of 1")
            expect(rows.filter(has_text="allow C1")).to_contain_text("read-path in ~/docs")
        elif logs == "audit":
            expect(asked).to_contain_text("0 of 1")
        found = Axe().run(shown)
        assert found.violations_count == 0, found.generate_report()
