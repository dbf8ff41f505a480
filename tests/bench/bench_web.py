"""First paint of the pages, an event's way to the screen, and how long the playground takes to decide."""

from __future__ import annotations

import functools
import http.server
import itertools
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from bench.figures import Figures, Times, measure
from e2e.browser import browser
from e2e.program import SHIPPED
from playwright.sync_api import Page
from support.people.web import Web, ask, web
from support.projects.policies import rule, tool, write_bundle
from support.records.approvals import written
from support.records.audited import decided, write_decisions

pytestmark = [pytest.mark.bench, pytest.mark.timeout(3600)]
RULES, SERVERS = 5_000, 10
EXAMINED = 1_800_000
"""Milliseconds that the examination may take before the pages can be measured."""
_PAINTED = """new Promise(done => new PerformanceObserver(
  seen => seen.getEntriesByName("first-contentful-paint").length && done(true)
).observe({type: "paint", buffered: true}))"""


@contextmanager
def static(directory: Path) -> Iterator[str]:
    """Serve the files of a directory; yield their origin."""
    handler = functools.partial(_Quiet, directory=str(directory))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://localhost:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


_TYPED = """() => new Promise(done => {
  const field = document.querySelector('[name="argument:path"]'), begun = performance.now(), taken = [];
  const left = ["#reasons", "#nearby"].map(name => document.querySelector(name));
  new MutationObserver((_, seen) => {
    while (left.length && !document.contains(left[0])) {
      left.shift();
      requestAnimationFrame(() => {
        taken.push((performance.now() - begun) / 1000);
        if (taken.length == 2) { seen.disconnect(); done(taken); }
      });
    }
  }).observe(document.body, {childList: true, subtree: true});
  field.value += "x";
  field.dispatchEvent(new Event("input", {bubbles: true}));
})"""
"""Presses a key; returns the seconds until the decision was shown, and until what is near it was."""


def paint(page: Page, address: str) -> None:
    page.goto(address, wait_until="commit")
    page.evaluate(_PAINTED)


def large_bundle(directory: Path, *, without_every: int = RULES + 1) -> Path:
    """Write a policy of 10 servers; return its place.

    Args:
        directory: Where to.
        without_every: Leave out each rule whose number this divides.
    """
    servers = {f"s{n}": [tool("read_file", path=["read-path"])] for n in range(SERVERS)}
    rules = [
        rule(
            f"r{n:05d}",
            "allow",
            server=[f"s{n % SERVERS}"],
            tool=["read_file"],
            paths={"roles": ["read-path"], "within": [f"/data/d{n:05d}"]},
        )
        | {"clause": f"C{n}"}
        for n in range(RULES)
        if (n + 1) % without_every
    ]
    clauses = [{"id": f"C{n}", "text": f"The agent may read the files of project {n}."} for n in range(RULES)]
    return write_bundle(directory, servers, rules, policy={"clauses": clauses})


def test_first_paint(tmp_path: Path, figures: Figures) -> None:
    files, before = tmp_path / "files", tmp_path / "before"
    files.mkdir()
    before.mkdir()
    older = large_bundle(before, without_every=100)
    options = ("--bundle", str(large_bundle(tmp_path)), "--against", str(older))
    with browser() as chromium, web(tmp_path, *options) as running, static(files) as origin:
        page = running.enter(chromium.new_page())
        for name, ready in (("policy", ".heat"), ("compare", "form.approve")):
            page.goto(f"{running.origin}/{name}")
            page.locator(ready).first.wait_for(timeout=EXAMINED)
        for name in ("approvals", "activity", "policy", "playground", "compare"):
            answer = page.goto(f"{running.origin}/{name}")
            assert answer is not None
            (files / f"{name}.html").write_bytes(answer.body())
            ours, theirs = measure(
                functools.partial(paint, page, f"{running.origin}/{name}"),
                functools.partial(paint, page, f"{origin}/{name}.html"),
                repetitions=9,
            )
            size = (files / f"{name}.html").stat().st_size
            figures.add(f"first paint of /{name}, {size:,} bytes", ours.per(theirs), 3, f"{ours}")


def test_a_decision_while_somebody_types(tmp_path: Path, figures: Figures) -> None:
    """From the last key to the decision on the screen with its steps, and to what is near it.

    The calls are denied, and there are calls near them that get further.
    """
    with (
        browser() as chromium,
        web(tmp_path, "--bundle", str(SHIPPED)) as shipped,
        web(tmp_path, "--bundle", str(large_bundle(tmp_path))) as large,
    ):
        small_page = typing(shipped.enter(chromium.new_page()), shipped, "filesystem/write_file", "/etc/a")
        large_page = typing(large.enter(chromium.new_page()), large, "s3/read_file", "/data/d00004/a")
        pairs = [(small_page.evaluate(_TYPED), large_page.evaluate(_TYPED)) for _ in range(26)][1:]
    small, decided = (Times(tuple(pair[which][0] for pair in pairs)) for which in (0, 1))
    compared = Times(tuple(pair[1][1] for pair in pairs))
    figures.add("playground, shipped: ms to a decision", small.median * 1e3, 100, f"{small}")
    figures.add(f"playground, {RULES:,} rules: ms to a decision", decided.median * 1e3, 100, f"{decided}")
    figures.add(f"playground: {RULES:,} rules to the shipped policy", decided.per(small), 3, f"{decided}")
    figures.add("playground: a decision to what is near it", decided.per(compared), 0.8, f"{compared}")


def typing(page: Page, running: Web, tool: str, path: str) -> Page:
    page.goto(f"{running.origin}/playground?tool={tool}")
    content = page.locator('[name="argument:content"]')
    if content.count():
        content.fill("hello")
    page.locator('[name="argument:path"]').fill(path)
    page.locator("#nearby li").first.wait_for(timeout=EXAMINED)
    return page


def test_the_way_of_an_event_to_the_screen(tmp_path: Path, figures: Figures) -> None:
    """From a decision, or a request to a person, until the open page shows it, its being written included.

    Pages look for changes every 0.4 s, so half of that is waited on average.
    """
    own = tmp_path / ".ironcurtain"
    own.mkdir(mode=0o700)
    files = tmp_path / "files"
    files.mkdir()
    numbers = itertools.count(1)
    with (
        browser() as chromium,
        web(tmp_path) as running,
        static(files) as origin,
        ThreadPoolExecutor(1) as pool,
    ):
        page = running.enter(chromium.new_page())

        def decide() -> None:
            record = decided(next(numbers))
            pool.submit(write_decisions, own / "audit", record).result()
            page.locator(f"#decisions [href$='/{record.id}']").wait_for()

        def ask_person() -> None:
            request = written(f"/srv/{next(numbers)}.txt")
            ask(tmp_path, request)
            page.locator(f"#to-{request.id}").wait_for()

        other = chromium.new_page()
        for name, event in (("activity", decide), ("approvals", ask_person)):
            answer = page.goto(f"{running.origin}/{name}")
            assert answer is not None
            event()
            (files / f"{name}.html").write_text(page.content())
            ours, theirs = measure(
                event, functools.partial(paint, other, f"{origin}/{name}.html"), repetitions=25
            )
            what = f"an event to the screen of /{name}, to a page's first paint"
            figures.add(what, ours.per(theirs), 6, f"{ours}")
