"""Places that are others to every process, so that judging them here says nothing about the server."""

from __future__ import annotations

import os
import re
from pathlib import Path

_BY_NAME = re.compile(
    r"/dev/(?:fd|stdin|stdout|stderr)(?:/.*)?"
    r"|/proc/(?:self|thread-self)(?:/.*)?"
    r"|/proc/[0-9]+/(?:task/[0-9]+/)?(?:cwd|root|exe|fd|ns|map_files)(?:/.*)?",
    re.DOTALL,
)
_PROCESS = re.compile(r"/proc/([0-9]+)(?:/.*)?", re.DOTALL)


def is_process_relative(path: str) -> bool:
    """Tell by the absolute path alone whether it is one of the system's process-relative or magic links.

    These are `/proc/self`, `/proc/thread-self`, `/dev/fd`, `/dev/stdin` and its like, the magic links of
    any process (their text is not where they lead), and everything below them.
    """
    return path.startswith(("/proc/", "/dev/")) and _BY_NAME.fullmatch(path) is not None


def is_own_process(path: str) -> bool:
    """Tell whether the absolute path is, or lies in, `/proc/<pid>` of this process or a descendant of it.

    A process whose parents cannot be told counts as ours.
    """
    if not path.startswith("/proc/"):
        return False
    match = _PROCESS.fullmatch(path)
    return match is not None and _descends_from_us(int(match[1]))


def _descends_from_us(pid: int) -> bool:
    while pid > 0:
        status = Path(f"/proc/{pid}/status")
        try:
            lines = status.read_text(encoding="utf-8", errors="surrogateescape").split("\n")
        except FileNotFoundError:
            return False
        except OSError:
            return True
        facts = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
        # A thread has a directory of its own that no listing shows; its group is the process.
        if int(facts["Tgid"]) == os.getpid():
            return True
        pid = int(facts["PPid"])
    return False
