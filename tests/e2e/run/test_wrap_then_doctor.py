"""A freshly wrapped client is well, and whatever happens to it afterwards is named, with what mends it."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from e2e.program import SHIPPED

from ironcurtain.integrations.clients.target import places
from ironcurtain.integrations.clients.wrap import ProxyCommand, wrap
from ironcurtain.integrations.doctor.clients import clients
from ironcurtain.integrations.doctor.installation import Diagnosis, Installation

BESIDE = {"mcpServers": {"mine": {"command": "x"}, "off": {"command": "x", "disabled": True}}}
ONE_PROJECT = f'"projects": {json.dumps({"/p": BESIDE})}'


class Installed:
    """An installation of its own, and a client that was wrapped with it."""

    def __init__(self, root: Path) -> None:
        self.root, self.home = root, root / "home"
        self.config = self.home / ".claude.json"
        self.bundle, self.tool = root / "bundle", root / "servers" / "tool"
        self.venv = root / "venv" / "bin"
        for directory in (self.home, self.venv, self.tool.parent, root / "work"):
            directory.mkdir(parents=True)
        shutil.copytree(SHIPPED, self.bundle)
        (self.venv / "python").symlink_to(sys.executable)
        self.program = self.venv / "ironcurtain"
        for script in (self.program, self.tool):
            script.write_text(f"#!{self.venv / 'python'}\n")
            script.chmod(0o755)
        server = {"command": str(self.tool), "env": {"KEY": "1"}}
        self.config.write_text(json.dumps({"mcpServers": {"filesystem": server}, "numStartups": 3}, indent=2))
        options = ("--bundle", str(self.bundle), "--sandbox", str(root / "work"))
        command = ProxyCommand((str(self.program), "proxy"), options, {"PATH": "/usr/bin:/bin"})
        (place,) = places("claude-code", "user", root)
        report = wrap(place, command, search_path="/usr/bin:/bin")
        self.servers = Path(report.servers or "")

    def examined(self) -> list[Diagnosis]:
        """Return what doctor says of the client."""
        user = self.home / ".ironcurtain"
        places_ = (user / "approvals", user / "approvals.key")
        subject = Installation(self.bundle, self.servers, user, places_, user / "audit", self.root)
        return list(clients(subject))


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installed:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("IRONCURTAIN_HOME", "CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    return Installed(tmp_path.resolve())


def test_a_freshly_wrapped_client_is_well(installed: Installed) -> None:
    (found,) = installed.examined()
    assert (found.name, found.status, found.fix) == ("client/claude-code", "ok", "")


def _edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


HAPPENS: dict[str, tuple[Callable[[Installed], object], str, str, str]] = {
    "the virtual environment was removed": (
        lambda it: shutil.rmtree(it.venv.parent),
        "fail", "/venv/bin/ironcurtain, which is no program", "ironcurtain wrap claude-code",
    ),
    "the virtual environment was moved, and its script was kept": (
        lambda it: (it.venv / "python").rename(it.root / "python"),
        "fail", "/venv/bin/ironcurtain, whose interpreter", "ironcurtain wrap claude-code",
    ),
    "the bundle was deleted": (
        lambda it: shutil.rmtree(it.bundle),
        "fail", "--bundle ", "Put it back, or run `ironcurtain wrap",
    ),
    "the sandbox was deleted": (
        lambda it: (it.root / "work").rmdir(),
        "fail", "--sandbox ", "Put it back",
    ),
    "the proxy's servers were deleted": (
        lambda it: it.servers.unlink(),
        "fail", "--servers ", "Put it back",
    ),
    "the proxy's servers were spoilt": (
        lambda it: it.servers.write_text("{"),
        "fail", "not valid JSON", "",
    ),
    "a server's program is gone": (
        lambda it: it.tool.unlink(),
        "fail", "filesystem is started with ", "Install it again, or correct it in ",
    ),
    "a server's program cannot be run": (
        lambda it: it.tool.chmod(0o644),
        "fail", "/servers/tool, which is no program", "Install it again",
    ),
    "a server's directory is gone": (
        lambda it: _edit(it.servers, f'"cwd": "{it.home}"', f'"cwd": "{it.root / "gone"}"'),
        "fail", "/gone, which is no directory", "Install it again",
    ),
    "a server's relative program is gone": (
        lambda it: _edit(it.servers, f'"command": "{it.tool}"', '"command": "servers/tool"'),
        "fail", "started with servers/tool, which is no program", "Install it again",
    ),
    "the entry was edited by hand": (
        lambda it: _edit(it.config, '"proxy",', '"proxy", "--observe",'),
        "warn", "changed by hand since it was wrapped", "ironcurtain unwrap",
    ),
    "the backup is gone": (
        lambda it: (it.servers.parent / "record.json").unlink(),
        "warn", "the backup of the file before it was wrapped is gone", "ironcurtain wrap",
    ),
    "the backup was changed": (
        lambda it: (it.servers.parent / "original").write_text("{}"),
        "warn", "the backup is not as it was written", "ironcurtain wrap",
    ),
    "a server was added beside it": (
        lambda it: _edit(it.config, '"ironcurtain": {', '"mine": {"command": "x"}, "ironcurtain": {'),
        "warn", "starts servers past the policy: mine", "/work`, or remove them.",
    ),
    "a server was added for one project": (
        lambda it: _edit(it.config, '"numStartups"', f'{ONE_PROJECT}, "numStartups"'),
        "warn", "past the policy: mine (of a project), off (of a project)", "ironcurtain wrap",
    ),
    "a project has servers of its own": (
        lambda it: (it.root / ".mcp.json").write_text(json.dumps(BESIDE)),
        "warn", "/.mcp.json is not wrapped: it starts 1 server itself (mine)", "ironcurtain wrap",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", HAPPENS)
def test_what_happens_afterwards_is_named(what: str, installed: Installed) -> None:
    happens, status, said, fix = HAPPENS[what]
    happens(installed)
    found = [each for each in installed.examined() if each.status == status]
    assert found, installed.examined()
    assert any(said in each.what and fix in each.fix for each in found), found
    assert all(each.fix for each in found)


def test_what_is_relative_is_looked_for_where_the_proxy_looks(installed: Installed) -> None:
    _edit(installed.servers, f'"command": "{installed.tool}"', '"command": "servers/tool"')
    _edit(installed.servers, f'"cwd": "{installed.home}"', f'"cwd": "{installed.root}"')
    assert [each.status for each in installed.examined()] == ["ok"]


def test_unwrapped_and_wrapped_anew_all_is_well_again(installed: Installed) -> None:
    installed.program.rename(installed.venv / "moved")
    assert {each.status for each in installed.examined()} == {"fail"}
    (place,) = places("claude-code", "user", installed.root)
    options = ("--bundle", str(installed.bundle))
    wrap(place, ProxyCommand((str(installed.venv / "moved"), "proxy"), options), search_path="/bin")
    assert [each.status for each in installed.examined()] == ["ok"]
