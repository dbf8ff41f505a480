"""An agent session that is watched, and answered, on the pages."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from e2e.browser import browser
from e2e.program import PROGRAM
from playwright.sync_api import expect
from pytest_httpserver import HTTPServer
from support.deployments.proxied import LONG, Place
from support.people.web import read_to_the_end, web
from support.services.model_server import ANTHROPIC, ModelServer

pytestmark = pytest.mark.timeout(300)
ROOT = Path(__file__).parents[3]


def test_a_session_is_watched_and_answered_on_the_pages(tmp_path: Path, httpserver: HTTPServer) -> None:
    place, model = Place(tmp_path), ModelServer(httpserver, ANTHROPIC)
    model.script[:] = [
        ANTHROPIC.calls(("fix__echo", {"text": "first"}), ("fix__remove", {"path": "~/notes/a"})),
        ANTHROPIC.calls(("fix__remove", {"path": "~/notes/b"})),
        ANTHROPIC.answer("One of them."),
    ]
    environment = {
        **place.environment(),
        **model.environment("test-key"),
        "PYTHONPATH": str(ROOT),
        "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
    }
    where = ["--bundle", str(place.bundle), "--servers", str(place.servers)]
    command = [*PROGRAM, "start", "Tidy up", *where, "--model", "anthropic:test-model"]
    with (
        web(place.home) as running,
        browser() as chromium,
        subprocess.Popen(
            command,
            env=environment,
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as started,
    ):
        page = running.enter(chromium.new_page())
        page.locator("[data-row]", has_text="notes/a").click(timeout=120_000)
        read_to_the_end(page)
        page.get_by_role("button", name="Approve once").click()
        page.locator("[data-row]", has_text="notes/b").click(timeout=120_000)
        page.get_by_label("Why; the agent is told this").fill("keep it")
        page.get_by_role("button", name="Deny").click()
        said, _ = started.communicate(timeout=LONG)
        assert (started.returncode, said) == (0, "One of them.\n")
        (log,) = (place.home / ".ironcurtain" / "audit").glob("*.jsonl")
        page.goto(f"{running.origin}/activity?session={log.stem}")
        expect(page.locator("#decisions [data-row]")).to_have_count(3)
        expect(page.locator("#decisions")).to_contain_text("echo")
        page.goto(f"{running.origin}/activity?session=another")
        expect(page.locator("#decisions [data-row]")).to_have_count(0)
    assert "keep it" in str(model.requests[-1])
    sent = [entry["arguments"] for entry in place.sent()]
    assert sent == [{"text": "first"}, {"path": f"{place.home}/notes/a"}]
