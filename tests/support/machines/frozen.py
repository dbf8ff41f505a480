"""Stopping a process, all of its threads: the signal alone takes a while on a busy machine."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

_LONG = 60.0


def freeze(pid: int) -> None:
    """Stop a process; when this returns, none of its threads does anything any more."""
    os.kill(pid, signal.SIGSTOP)
    latest = time.monotonic() + _LONG
    while not all(_is_stopped(thread) for thread in Path(f"/proc/{pid}/task").iterdir()):
        assert time.monotonic() < latest, f"{pid} does not stop"
        time.sleep(0.001)


def _is_stopped(thread: Path) -> bool:
    try:
        status = (thread / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):  # it has ended
        return True
    return status.rpartition(")")[2].split()[0] in {"T", "t", "Z", "X"}
