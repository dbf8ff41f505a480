"""A terminal of a person's own: commands that run in it see a terminal, wide enough for every line."""

from __future__ import annotations

import fcntl
import os
import re
import struct
import subprocess
import termios
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

COLUMNS = 500


def in_terminal(
    command: Sequence[str],
    cwd: Path,
    environment: Mapping[str, str],
    typed: str = "",
    columns: int = COLUMNS,
) -> tuple[int, str]:
    """Run a command in a terminal; return its exit code and what it printed.

    What is typed is typed when the command asks: at a line that ends with `> `. Where nobody says, there are
    no colours.
    """
    named = {"NO_COLOR": "1", **environment}
    unset = {"COLUMNS", "LINES", *(() if named["NO_COLOR"] else ("NO_COLOR",))}
    environment = {name: value for name, value in named.items() if name not in unset}
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    with subprocess.Popen(
        command, cwd=cwd, env=environment, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    ) as run:
        os.close(theirs)
        printed, waiting = b"", typed.encode()
        try:
            while part := _read(ours):
                printed += part
                if waiting and printed.endswith(b"> "):
                    os.write(ours, waiting)
                    waiting = b""
            # A program that has let go of its terminal would be hung up on before it ends.
            ended = run.wait(120)
        finally:
            os.close(ours)
        return ended, printed.decode().replace("\r\n", "\n")


def converse(
    command: Sequence[str],
    cwd: Path,
    environment: Mapping[str, str],
    *said: tuple[str, str],
    columns: int = 80,
    look: Callable[[str], None] = lambda _: None,
    keep: Callable[[bytes], None] = lambda _: None,
) -> tuple[int, str]:
    """Run a program that edits its lines in a terminal; return its exit code and what it printed.

    Args:
        command: The program.
        cwd: Its working directory.
        environment: What it gets.
        said: In order: what it prints before it waits, and what is then typed.
        columns: Of the terminal.
        look: Is given all that was printed, whenever there is more of it.
        keep: Is given each piece that was printed, with the sequences that move and erase.
    """
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {"TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", "NO_COLOR": "1", **environment}
    with subprocess.Popen(
        command, cwd=cwd, env=environment, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    ) as run:
        os.close(theirs)
        printed, seen, left = b"", 0, list(said)
        try:
            while part := _read(ours):
                printed += part
                keep(part)
                shown = _plain(printed)
                look(shown)
                while left and (found := shown.find(left[0][0], seen)) >= 0:
                    seen = found + len(left[0][0])
                    os.write(ours, left.pop(0)[1].encode())
            ended = run.wait(120)
        finally:
            os.close(ours)
        return ended, _plain(printed)


def _plain(printed: bytes) -> str:
    return _CONTROL.sub("", printed.decode(errors="replace").replace("\r\n", "\n"))


_CONTROL = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07|[=>])")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says so when the last program that had it open has ended
        return b""
