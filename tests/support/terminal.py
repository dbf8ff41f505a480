"""A terminal of a person's own: commands that run in it see a terminal, wide enough for every line."""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence
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


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says so when the last program that had it open has ended
        return b""
