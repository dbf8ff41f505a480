"""Whether a proxy that tells of itself still runs: it holds a lock for as long as it lives."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ironcurtain.system.locks import is_locked, lock_handle

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
        if not lock_handle(handle):
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN), str(lock))
        try:
            yield
        finally:
            # Nobody else waits for this file: the session's audit log lets no second proxy come so far.
            lock.unlink(missing_ok=True)
    finally:
        os.close(handle)


def is_running(status: Path) -> bool:
    """Tell whether the proxy that wrote a status file runs."""
    return is_locked(status.with_suffix(_LOCK))
