"""Takes the pictures of docs/web.md that show approvals and activity.

PYTHONPATH=tests python tests/support/documentation/page_pictures.py
"""

from __future__ import annotations

import random
import tempfile
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

from e2e.browser import browser
from playwright.sync_api import Browser, Page

from ironcurtain.enforcement.audit.record_types import Approval, DecisionRecord, ResourceRecord
from ironcurtain.model.verdict import Verdict
from support.documentation.transcript import ROOT
from support.people.web import Web, ask, web
from support.records.approvals import written
from support.records.audited import decided, write_decisions

PICTURES = ROOT / "docs" / "pictures"
DECISIONS = 240
MINUTES = "The minutes of the meeting.\n" * 30
# What an agent of the shipped policy does: tool, place, verdict, clause and rule.
DONE = (
    ("filesystem/write_file", "work/site", Verdict.ALLOW, None, "structural-sandbox-allow"),
    ("filesystem/read_text_file", "Downloads/report", Verdict.ALLOW, "C7", "filesystem-allow-downloads"),
    (
        "filesystem/read_text_file",
        "Documents/minutes",
        Verdict.ALLOW,
        "C8",
        "filesystem-allow-read-documents",
    ),
    ("filesystem/write_file", "Documents/minutes", Verdict.DENY, "C9", "filesystem-deny-change-documents"),
    ("filesystem/write_file", "Desktop/report", Verdict.ESCALATE, "C11", "filesystem-ask-write-elsewhere"),
    ("git/git_push", "work/site", Verdict.ESCALATE, "C15", "git-ask-remote"),
)


def main() -> None:
    """Take them all."""
    with tempfile.TemporaryDirectory() as directory, browser() as chromium, ThreadPoolExecutor(1) as pool:
        home = Path(directory)
        (home / ".ironcurtain").mkdir(mode=0o700)
        requests = [
            written("/srv/minutes/2026-11-24.md", MINUTES),
            written("/srv/budget.csv", "rent,900\n"),
            written("/srv/p\u0430ypal.txt", "hello"),
        ]
        ask(home, *requests)
        pool.submit(write_decisions, home / ".ironcurtain" / "audit", *_decisions()).result()
        for name, width, height, scheme in (
            ("approvals-light", 1280, 930, "light"),
            ("approvals-narrow-dark", 320, 1100, "dark"),
        ):
            with web(home) as running:
                page = _entered(chromium, running, width, height, scheme)
                page.locator(f"#to-{requests[0].id}").click()
                page.locator("#always").wait_for()
                page.locator("#always").scroll_into_view_if_needed()
                page.screenshot(path=PICTURES / f"{name}.png")
                page.context.close()
        with web(home) as running:
            page = _entered(chromium, running, 1280, 820, "dark")
            page.get_by_role("link", name="Activity").click()
            page.locator("#decisions [data-row]").first.wait_for()
            page.screenshot(path=PICTURES / "activity-dark.png")


def _entered(chromium: Browser, running: Web, width: int, height: int, scheme: str) -> Page:
    context = chromium.new_context(
        viewport={"width": width, "height": height}, color_scheme="dark" if scheme == "dark" else "light"
    )
    return running.enter(context.new_page())


def _decisions() -> list[DecisionRecord]:
    """Return decisions of the last hour, the same ones at each run."""
    drawn, now = random.Random(7), datetime.now(UTC)
    made = []
    for number in range(DECISIONS):
        tool, place, verdict, clause, rule = drawn.choices(DONE, weights=(4, 3, 3, 2, 1, 1))[0]
        at = now - timedelta(seconds=15 * (DECISIONS - number))
        value = f"/home/ana/{place}-{number}.md"
        subject = ResourceRecord(at="/path", role="read-path", value=value, verdict=verdict, rule=rule)
        is_approved = drawn.random() < 0.4
        answered = Approval(
            state="approved" if is_approved else "denied",
            approver="ana",
            verdict=Verdict.ALLOW if is_approved else Verdict.DENY,
        )
        is_asked = verdict is Verdict.ESCALATE
        server, _, name = tool.partition("/")
        made.append(
            decided(
                number,
                time=at.isoformat(timespec="microseconds").replace("+00:00", "Z"),
                server=server,
                tool=name,
                verdict=verdict,
                clause=clause,
                rule=rule,
                subjects=(subject,),
                approval=answered if is_asked else None,
                forwarded=verdict is Verdict.ALLOW or (is_asked and is_approved),
            )
        )
    return made


if __name__ == "__main__":
    main()
