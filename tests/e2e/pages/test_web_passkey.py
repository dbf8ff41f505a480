"""Approving with a passkey in a real browser, with its virtual authenticator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from e2e.program import in_process
from playwright.sync_api import Browser, Page, expect
from support.deployments.proxied import wait_for
from support.people.passkeys import Authenticator, Signer
from support.people.web import answers, ask, read_to_the_end, web
from support.records.approvals import written

from ironcurtain.enforcement.approvals.messages import ApprovalRequest

pytestmark = pytest.mark.timeout(600)


def register(page: Page) -> None:
    page.get_by_role("link", name="Register one").click()
    page.get_by_role("button", name="Register a passkey").click()
    expect(page.locator("#notes")).to_contain_text("a passkey was registered for")


def approve(page: Page, request: ApprovalRequest, button: str = "Approve once") -> None:
    page.locator(f"#to-{request.id}").click()
    read_to_the_end(page)
    page.get_by_role("button", name=button).click()


def kept(home: Path) -> Any:
    return json.loads((home / ".ironcurtain" / "passkey.json").read_text())


def test_each_approval_asks_for_the_passkey_that_was_registered_also_after_a_restart(
    chromium: Browser, home: Path
) -> None:
    once, session, later = (written(f"/srv/{name}.txt") for name in ("a", "b", "c"))
    ask(home, once, session, later)
    with web(home, "--confirm") as running:
        page = chromium.new_context().new_page()
        authenticator = Authenticator(page)
        running.enter(page)
        page.locator(f"#to-{once.id}").click()
        expect(page.get_by_text("It cannot be approved here before a passkey")).to_be_visible()
        register(page)
        wait_for(lambda: any("A passkey was registered for" in line for line in running.said))
        approve(page, once)
        expect(page.locator("#notes")).to_contain_text(f"{once.id}: approved once")
        approve(page, session, "Approve for this session")
        expect(page.locator("#notes")).to_contain_text(f"{session.id}: approved for this session")
        assert [each["signCount"] for each in authenticator.credentials] == [kept(home)["used"]]
        file, name = home / ".ironcurtain" / "passkey.json", running.host
        assert file.stat().st_mode & 0o777 == 0o600
        page.goto(f"{running.origin}/passkey")
        expect(page.get_by_text("One is registered.")).to_be_visible()
    with web(home, "--confirm") as running:
        assert running.host != name, "the pages have another name at each start"
        running.enter(page)
        approve(page, later)
        expect(page.locator("#notes")).to_contain_text(f"{later.id}: approved once")
    assert sorted(answers(home)) == sorted([once.id, session.id, later.id])


def test_without_the_passkey_nothing_is_approved_and_everything_can_be_denied(
    chromium: Browser, home: Path
) -> None:
    request = written("/srv/a.txt")
    ask(home, request)
    Signer().register(home)
    with web(home, "--confirm") as running:
        page = chromium.new_context().new_page()
        Authenticator(page)  # it holds no passkey of this user
        running.enter(page)
        approve(page, request)
        expect(page.locator("#passkey-trouble")).to_have_text(
            "The passkey was not given, so nothing was done."
        )
        assert answers(home) == {}
        page.get_by_role("button", name="Deny").click()
        expect(page.locator("#notes")).to_contain_text(f"{request.id}: denied")
    assert '"verdict":"denied"' in answers(home)[request.id]


def test_somebody_whom_the_authenticator_does_not_know_approves_nothing(
    chromium: Browser, home: Path
) -> None:
    request = written("/srv/a.txt")
    ask(home, request)
    with web(home, "--confirm") as running:
        page = chromium.new_context().new_page()
        authenticator = Authenticator(page)
        running.enter(page)
        register(page)
        authenticator.verifies(False)
        approve(page, request)
        expect(page.locator("#passkey-trouble")).to_have_text(
            "The passkey was not given, so nothing was done."
        )
        assert answers(home) == {}
        authenticator.verifies(True)
        page.get_by_role("button", name="Approve once").click()
        expect(page.locator("#notes")).to_contain_text(f"{request.id}: approved once")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 320])
def test_it_is_readable_and_accessible_and_denies_without_javascript(
    chromium: Browser, home: Path, scheme: Any, width: int
) -> None:
    request = written("/srv/a.txt")
    ask(home, request)
    with web(home, "--confirm") as running:
        options = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
        page = running.enter(chromium.new_context(**options).new_page())
        for path in ("/passkey", "/approvals", f"/approvals/{request.id}"):
            page.goto(running.origin + path)
            found = Axe().run(page)
            assert found.violations_count == 0, found.generate_report()
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        plain = chromium.new_context(java_script_enabled=False).new_page()
        running.enter(plain, has_script=False)
        plain.locator(f"#to-{request.id}").click()
        plain.get_by_role("button", name="Deny").click()
        expect(plain.locator("#notes")).to_contain_text(f"{request.id}: denied")


@pytest.mark.parametrize(
    ("planted", "words"),
    [
        ({"mode": 0o644}, "the file of the passkey can be read by others"),
        ({"text": "{}"}, "the file of the passkey is malformed"),
        ({"user": "somebody-else"}, "the passkey was registered by another account"),
    ],
)
def test_a_file_that_is_not_this_users_alone_ends_the_command(
    home: Path, monkeypatch: pytest.MonkeyPatch, planted: dict[str, Any], words: str
) -> None:
    file = Signer().register(home, **{key: value for key, value in planted.items() if key == "user"})
    file.chmod(planted.get("mode", 0o600))
    if "text" in planted:
        file.write_text(planted["text"])
    monkeypatch.setenv("HOME", str(home))
    ended = in_process("web", "--confirm", cwd=home)
    assert ended.code == 2
    assert words in ended.err
