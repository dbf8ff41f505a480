"""First paint of the pages over 5,000 rules and 10 servers, against a static page of the same size."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from bench.figures import Figures, measure
from e2e.browser import browser
from playwright.sync_api import Page
from support.policies import rule, tool, write_bundle
from support.web import web

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


def paint(page: Page, address: str) -> None:
    page.goto(address, wait_until="commit")
    page.evaluate(_PAINTED)


def test_first_paint(tmp_path: Path, figures: Figures) -> None:
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
    ]
    clauses = [{"id": f"C{n}", "text": f"The agent may read the files of project {n}."} for n in range(RULES)]
    bundle = write_bundle(tmp_path, servers, rules, policy={"clauses": clauses})
    files = tmp_path / "files"
    files.mkdir()
    with browser() as chromium, web(tmp_path, "--bundle", str(bundle)) as running, static(files) as origin:
        page = running.enter(chromium.new_page())
        page.goto(f"{running.origin}/policy")
        page.locator(".heat").wait_for(timeout=EXAMINED)
        for name in ("approvals", "activity", "policy"):
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
