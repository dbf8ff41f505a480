"""A client with servers and tools of its own: both are governed in one change, undone byte for byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from e2e.program import Ended, Inside
from support.deployments.decided import claude_code_tools
from support.deployments.wrapped import ANY_SERVER
from support.projects.policies import rule, tool, write_bundle

pytestmark = pytest.mark.timeout(900)
SERVERS = f'{{\n "mcpServers": {{"any":   {{"command": {json.dumps(ANY_SERVER)}}}}},\n "n": 1}}'
SETTINGS = '{"model":  "x", "hooks": {"Stop": []}}'


class Client:
    """A home with the configurations of Claude Code, and a policy about a server of it and its own tools."""

    def __init__(self, root: Path, run: Inside, *, own: bool = True) -> None:
        self.root, self._run = root, run
        self.servers, self.settings = root / ".claude.json", root / ".claude" / "settings.json"
        self.settings.parent.mkdir()
        (root / "work").mkdir()
        self.servers.write_text(SERVERS)
        self.settings.write_text(SETTINGS)
        tools = {"any": [tool("read", path=["read-path"])]}
        tools |= {"claude-code": claude_code_tools()} if own else {}
        self.bundle = write_bundle(root, tools, [rule("all", "allow", tool=["read"])])

    @property
    def texts(self) -> tuple[str, str]:
        """The two files as they are."""
        return self.servers.read_text(), self.settings.read_text()

    def wrap(self, *more: str) -> Ended:
        """Wrap it without a question."""
        named = ("--bundle", str(self.bundle), "--sandbox", str(self.root / "work"))
        return self._run("wrap", "claude-code", *named, "--yes", *more, cwd=self.root)

    def unwrap(self, *more: str) -> Ended:
        """Undo it."""
        return self._run("unwrap", "claude-code", *more, cwd=self.root)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("IRONCURTAIN_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_both_are_one_change_and_come_back_to_the_byte(home: Path, inside: Inside) -> None:
    client = Client(home, inside)
    shown = client.wrap("--dry-run")
    assert '"ironcurtain"' in shown.out
    assert '"PreToolUse"' in shown.out
    assert client.texts == (SERVERS, SETTINGS)
    ended = client.wrap("--format", "json")
    assert ended.code == 0, ended.err
    report = json.loads(ended.out)  # one report of one change
    assert (report["status"], report["moved"]) == ("wrapped", ["any"])
    assert f"hooks: {client.settings}" in report["notes"]
    assert [*json.loads(client.servers.read_text())["mcpServers"]] == ["ironcurtain"]
    assert "PreToolUse" in json.loads(client.settings.read_text())["hooks"]
    assert json.loads(client.wrap("--format", "json").out)["status"] == "unchanged"
    ended = client.unwrap("--format", "json")
    assert json.loads(ended.out)["status"] == "unwrapped"
    assert client.texts == (SERVERS, SETTINGS)
    assert not [*(home / ".ironcurtain" / "clients").glob("*/*/*")]


def test_what_keeps_one_of_both_from_being_changed_leaves_the_other(home: Path, inside: Inside) -> None:
    client = Client(home, inside)
    client.settings.write_text("[]")
    assert client.wrap().code == 2
    assert client.texts == (SERVERS, "[]")
    client.settings.write_text(SETTINGS)
    assert client.wrap().code == 0
    wrapped = client.servers.read_text()
    client.settings.write_text("[]")
    assert client.unwrap().code == 2
    assert client.texts == (wrapped, "[]")
    ended = client.unwrap("--discard-edits", "--format", "json")
    assert client.texts == (SERVERS, SETTINGS)
    assert "[]" in [Path(kept).read_text() for kept in json.loads(ended.out)["kept"]]


def test_one_of_both_alone(home: Path, inside: Inside) -> None:
    client = Client(home, inside)
    assert client.wrap("--hooks-only").code == 0
    assert client.servers.read_text() == SERVERS
    assert client.unwrap().code == 0
    ended = client.wrap("--servers-only")
    assert "stay ungoverned, for no hooks are installed\n" in ended.err  # the policy has what they need
    assert client.settings.read_text() == SETTINGS
    assert client.unwrap().code == 0
    assert client.texts == (SERVERS, SETTINGS)


def test_a_policy_that_knows_no_own_tools_installs_no_hooks(home: Path, inside: Inside) -> None:
    client = Client(home, inside, own=False)
    ended = client.wrap()
    assert ended.code == 0
    assert '"builtin": "claude-code"' in ended.err
    assert client.settings.read_text() == SETTINGS
    assert client.wrap("--hooks-only").code == 2
