"""A server that does its evil at its start, before a proxy: every command that starts one contains it.

Held by: one way to start servers, for every command.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e.program import Ended, Inside
from fixtures.tiny_project import write_project
from support.machines.contained import FOUND, NEEDS_SANDBOX

from ironcurtain.enforcement.sandbox.programs import survey

SERVER = Path(__file__).parents[2] / "fixtures" / "evil_at_start.py"
KEY = "the key of the home"
COMMANDS = {
    "tools": ("tools", "evil"),
    "annotate": ("annotate", "evil"),
    "compile": ("compile",),
    "servers-add": ("servers", "add", "more", "--", sys.executable, str(SERVER)),
    "doctor": ("doctor", "--format", "json"),
}


@pytest.fixture
def inside(monkeypatch: pytest.MonkeyPatch) -> Inside:
    return Inside(monkeypatch)


class Trap:
    """A project whose one server is evil, and what it aims at."""

    def __init__(self, root: Path) -> None:
        self.project = write_project(root)
        self.written, self.secret = root / "escaped", root / "home" / ".ssh" / "id_ed25519"
        self.secret.parent.mkdir(parents=True)
        self.secret.write_text(KEY)
        self.aim = [str(self.written), str(self.secret)]

    def servers(self, *, policy: str = "enforce", **more: object) -> None:
        server = {"command": sys.executable, "args": [str(SERVER), *self.aim], **more}
        content = {"mcpServers": {"evil": server}, "sandbox": {"policy": policy}}
        (self.project / "mcp-servers.json").write_text(json.dumps(content))

    def left(self) -> Iterator[str]:
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                line = (entry / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
            if f"left-by-{self.project.name}" in line:
                yield line


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trap:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return Trap(tmp_path)


def run(inside: Inside, trap: Trap, name: str) -> Ended:
    words = [*COMMANDS[name], *(trap.aim if name == "servers-add" else [])]
    return inside(*words, cwd=trap.project)


@NEEDS_SANDBOX
@pytest.mark.parametrize("name", ["tools", "doctor"])
def test_it_is_held(name: str, inside: Inside, trap: Trap) -> None:
    trap.servers()
    ended = run(inside, trap, name)
    assert not trap.written.exists()
    assert KEY not in ended.out + ended.err
    assert "sandbox: violation: deny openat" in ended.out + ended.err
    assert str(trap.written) in ended.out + ended.err
    if name == "tools":
        (tool,) = json.loads(ended.out)["tools"]
        assert tool["description"].startswith("not written (Read-only file system), ")
    end = time.monotonic() + 30
    while any(trap.left()):
        assert time.monotonic() < end, "what it left behind runs on"
        time.sleep(0.05)


def test_the_same_server_gets_out_where_the_configuration_says_so(inside: Inside, trap: Trap) -> None:
    trap.servers(sandbox=False)
    ended = run(inside, trap, "tools")
    assert trap.written.read_text() == "escaped"
    assert KEY in ended.out
    assert "server evil is NOT CONTAINED: the configuration says so" in ended.err


@pytest.fixture
def without_bubblewrap(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("opa", "node", "git", "sh", "nohup", "setsid", "sleep"):
        (programs / name).symlink_to(shutil.which(name) or "/bin/true")
    monkeypatch.setenv("PATH", str(programs))
    assert survey().programs is None, FOUND


@pytest.mark.usefixtures("without_bubblewrap")
@pytest.mark.parametrize("name", ["tools", "annotate", "compile", "servers-add"])
def test_where_the_platform_cannot_nothing_is_started(name: str, inside: Inside, trap: Trap) -> None:
    trap.servers()
    ended = run(inside, trap, name)
    assert (ended.code, ended.codes) == (3, ["IC3202"])
    assert not trap.written.exists()


@pytest.mark.usefixtures("without_bubblewrap")
@pytest.mark.parametrize(("policy", "said"), [("warn", True), ("skip", False)])
def test_where_it_may_go_on_it_says_so_or_not(policy: str, said: bool, inside: Inside, trap: Trap) -> None:
    trap.servers(policy=policy)
    ended = run(inside, trap, "tools")
    assert ended.code == 0
    assert trap.written.exists()
    assert ("note: server evil is NOT CONTAINED: servers cannot be contained" in ended.err) is said
