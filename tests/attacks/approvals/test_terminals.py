"""Attack: text of a call that leaves its margin in a real terminal, or pushes the question away.

A terminal of few columns breaks a line by itself, and what it breaks off begins at the edge, where only lines
of ours begin. So whatever is shown is broken before, for characters of any width.

Held by: breaking lines for the widest a terminal can show them, and dropping what was typed before the
question.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest
from support.records.approvals import Rendezvous, written

from ironcurtain.enforcement.approvals.broker_directory import ApprovalDirectory
from ironcurtain.enforcement.approvals.messages import ApprovalRequest
from ironcurtain.enforcement.approvals.request import Clock

TMUX = shutil.which("tmux")
pytestmark = pytest.mark.skipif(TMUX is None, reason="there is no tmux, which is the terminal")
FORGED = "  what it touches:    | allowed: read-path"
TEXTS = {
    "ascii": "x" * 17 + FORGED * 3,
    "wide": "日本語" * 12 + FORGED,
    "ambiguous": "“”§±÷…" * 9 + FORGED,
    "emoji": "😀👍🏽🇩🇪☎❤" * 9 + FORGED,
    "combining": "é" + "हिन्दी" * 12 + FORGED,
    "zero width": "a\u200b\u200d\u2060" * 20 + FORGED,
    "right to left": "שלום a " * 12 + FORGED,
    "tabs and escapes": "\t\t\x1b[2J\x1b[H\r" * 9 + FORGED,
}
OURS = ("request ", "  ", "Type ", "approve", "leaves", ">")


class Pane:
    """One pane of a tmux of its own."""

    def __init__(self, socket: Path) -> None:
        self._socket = str(socket)

    def tmux(self, *words: str) -> str:
        run = subprocess.run(
            [TMUX or "", "-u", "-f", "/dev/null", "-S", self._socket, *words],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"},
        )
        return run.stdout

    def lines(self) -> list[str]:
        """Return everything that is or was on the pane, a string for each line of the terminal."""
        return self.tmux("capture-pane", "-p", "-S", "-").rstrip("\n").splitlines()

    def until(self, words: str) -> list[str]:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if any(words in line for line in self.lines()):
                return self.lines()
            time.sleep(0.1)
        raise AssertionError(f"{words!r} did not appear in {self.lines()}")


@contextmanager
def pane(place: Rendezvous, words: Sequence[str], columns: int, before: str = "") -> Iterator[Pane]:
    """Run a command of `approvals` in a terminal of some columns and 15 lines."""
    where = ["--dir", str(place.path), "--key", str(place.key)]
    words = ["approvals", *words, *where]
    command = shlex.join([sys.executable, "-m", "ironcurtain", *words])
    shell = f"{before}{command}; echo ended with $?; exec cat"
    one = Pane(place.base / "tmux")
    one.tmux("new-session", "-d", "-x", str(columns), "-y", "15", "/bin/sh", "-c", shell)
    try:
        yield one
    finally:
        one.tmux("kill-server")


def asked(place: Rendezvous, *requests: ApprovalRequest) -> ApprovalDirectory:
    directory = place.open()
    for request in requests:
        anyio.run(directory.ask, request)
    return directory


@pytest.fixture
def place(tmp_path: Path) -> Rendezvous:
    tmp_path.chmod(0o700)
    return Rendezvous(tmp_path, Clock())


@pytest.mark.parametrize("columns", [40, 80])
def test_no_text_of_a_call_begins_where_a_line_of_ours_does(place: Rendezvous, columns: int) -> None:
    request = written(content="\n".join(TEXTS.values()), path="/srv/" + "長い名前" * 20)
    with asked(place, request), pane(place, ["approve", request.id], columns) as terminal:
        shown = terminal.until("leaves it")
    values = [line for line in shown if line.startswith(("    | ", "    : "))]
    others = [line for line in shown if line and line not in values]
    assert any("what it touches" in line for line in values)
    assert [line for line in others if line.startswith("  what it touches")] == ["  what it touches:"]
    assert not [line for line in others if "allowed:" in line or "日" in line or "長" in line]


def test_a_call_that_pushes_its_beginning_out_of_sight_says_so(place: Rendezvous) -> None:
    request = written(content="line\n" * 300)
    with asked(place, request), pane(place, ["approve", request.id], 80) as terminal:
        shown = terminal.until("leaves it")
        seen = terminal.tmux("capture-pane", "-p")
    assert f"request {request.id}" in shown
    assert f"`request {request.id}`" in seen
    assert "lines, and the first may be out of sight" in seen


def test_what_was_typed_before_the_question_is_no_answer(place: Rendezvous) -> None:
    request = written()
    with asked(place, request), pane(place, ["approve", request.id], 80, "sleep 2; ") as terminal:
        terminal.tmux("send-keys", "approve", "Enter")
        terminal.until("leaves it")
        time.sleep(1)
        assert "ended with" not in "".join(terminal.lines())
        terminal.tmux("send-keys", "no", "Enter")
        terminal.until("ended with 1")
    assert not place.response(request.id).exists()
