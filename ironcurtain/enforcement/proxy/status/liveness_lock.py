"""Whether a proxy that tells of itself still runs: it holds a lock for as long as it lives."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_LOCK = ".lock"


@contextmanager
def running(status: Path) -> Iterator[None]:
    """Be known to run, whatever happens to this process.

    Args:
        status: The file in which the proxy tells of itself; its directory is made, private to the user.

    Raises:
        BlockingIOError: If somebody is just asking, which takes a moment; try again.
        OSError: If that cannot be kept.
    """
    status.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = status.with_suffix(_LOCK)
    handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            yield
        finally:
            # Nobody else waits for this file: the session's audit log lets no second proxy come so far.
            lock.unlink(missing_ok=True)
    finally:
        os.close(handle)


def is_running(status: Path) -> bool:
    """Tell whether the proxy that wrote a status file runs."""
    try:
        handle = os.open(status.with_suffix(_LOCK), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(handle)  # which gives the lock up again
