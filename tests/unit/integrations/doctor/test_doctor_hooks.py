"""Hooks that were installed are well, and whatever happens to them later is named, with what mends it."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ironcurtain.integrations.clients.hooks import HookedSettings, install
from ironcurtain.integrations.clients.wrap import ProxyCommand
from ironcurtain.integrations.doctor.hooks import hooks
from ironcurtain.integrations.doctor.installation import Diagnosis, Installation
from ironcurtain.system.locks import lock_handle


class Hooked:
    """A home with a client that has hooks, and the bundle that its service takes."""

    def __init__(self, root: Path) -> None:
        self.root, self.bundle = root, root / "bundle"
        self.bundle.mkdir()
        self.settings = HookedSettings.of("user", root)
        command = ProxyCommand((sys.executable, "pdp"), ("--bundle", str(self.bundle)), {"PATH": "/bin"})
        install(self.settings, command, follows=False)

    def examined(self, *clients: str) -> list[Diagnosis]:
        """Return what doctor says of the hooks."""
        user = self.root / ".ironcurtain"
        places = (user / "approvals", user / "approvals.key")
        subject = Installation(
            self.bundle, self.root / "x", user, places, user / "audit", self.root, clients=clients
        )
        return list(hooks(subject))

    def change(self, act: Callable[[dict[str, Any]], object]) -> None:
        """Change the client's settings."""
        document = json.loads(self.settings.path.read_text())
        act(document)
        self.settings.path.write_text(json.dumps(document))


@pytest.fixture
def hooked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hooked:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("IRONCURTAIN_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    return Hooked(tmp_path)


def failures(found: list[Diagnosis]) -> list[str]:
    assert {each.status for each in found} == {"fail"}
    assert all(each.fix for each in found)
    return [each.what for each in found]


def test_hooks_as_they_were_installed_are_well(hooked: Hooked) -> None:
    assert [each.status for each in hooked.examined()] == ["ok"]
    assert [each.status for each in hooked.examined("claude-code")] == ["ok"]
    assert hooked.examined("cursor") == []


def test_a_hook_that_is_missing(hooked: Hooked) -> None:
    hooked.change(lambda document: document["hooks"].pop("PreToolUse"))
    (what,) = failures(hooked.examined())
    assert what.startswith("the hook of PreToolUse is missing in ")


def test_settings_that_are_gone(hooked: Hooked) -> None:
    hooked.settings.path.unlink()
    assert len(failures(hooked.examined())) == 6


def test_a_hook_that_was_changed(hooked: Hooked) -> None:
    hooked.change(lambda document: document["hooks"]["PreToolUse"][0].update(matcher="Read"))
    hooked.change(lambda document: document["hooks"]["PostToolUse"][0]["hooks"][0].update(timeout=1))
    assert [what.split(" in ")[0] for what in failures(hooked.examined())] == [
        "the hook of PreToolUse",
        "the hook of PostToolUse",
    ]


def test_hooks_that_are_switched_off(hooked: Hooked) -> None:
    hooked.change(lambda document: document.update(disableAllHooks=True))
    (what,) = failures(hooked.examined())
    assert "switches all hooks off" in what


def test_settings_that_are_no_settings(hooked: Hooked) -> None:
    hooked.settings.path.write_text("[]")
    failures(hooked.examined())


def test_what_hooks_start_is_gone(hooked: Hooked) -> None:
    shutil.rmtree(hooked.bundle)
    (what,) = failures(hooked.examined())
    assert what == f"the decision service is started with --bundle {hooked.bundle}, which does not exist"
    file = hooked.settings.kept / "hook.json"
    file.unlink()
    assert failures(hooked.examined()) == [f"the hooks run {file}, which is gone"]


def test_a_service_that_does_not_answer(hooked: Hooked) -> None:
    place = Path(shlex.split(hooked.settings.record().command)[5])
    place.parent.mkdir(mode=0o700, exist_ok=True)
    lock = place.with_suffix(".lock")
    handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        assert lock_handle(handle)
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(place))
            listening.listen()
            listening.close()
            (what,) = failures(hooked.examined())
    finally:
        os.close(handle)
        for each in (place, lock):
            each.unlink(missing_ok=True)
    assert what.endswith("runs and does not answer")
