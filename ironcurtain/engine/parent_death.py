"""Starts OPA so that it dies with its owner. Run as a script, with the standard library alone.

    python -I -S parent_death.py OWNER-PID PROGRAM ARGUMENT…

Python code between fork and exec is not safe in a program with threads, so this small program of its own
does what has to happen there. On Linux it asks the kernel to kill it when its parent dies and becomes
OPA. The kernel counts as the parent's death the end of the *thread* that started it: an engine is to be
started from a thread that lives as long as the engine. Elsewhere it stays as OPA's parent and kills it
when its standard input, a pipe that only the owner holds, comes to its end.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main(owner: int, command: list[str]) -> int:
    """Become the command, or run it and return its exit status."""
    os.umask(0o077)
    if sys.platform != "linux":
        return supervise(command)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != owner:  # the owner died before the kernel was asked
        return 1
    return os.execv(command[0], command)  # noqa: S606 - no shell is wanted


def supervise(command: list[str]) -> int:
    """Run the command until it ends, or until standard input does; return its exit status."""
    import subprocess  # noqa: PLC0415 - on Linux OPA need not wait for it
    import threading  # noqa: PLC0415 - likewise

    child = subprocess.Popen(command, stdin=subprocess.DEVNULL)  # noqa: S603 - as given by the engine

    def watch() -> None:
        while os.read(0, 1):
            pass
        child.kill()

    threading.Thread(target=watch, daemon=True).start()
    return child.wait()


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
