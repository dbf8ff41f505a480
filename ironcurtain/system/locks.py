"""Locks between processes: all of them are the kernel's, so that a killed process leaves none behind.

Two kinds are needed, since they answer different questions. `work_lock` lets one process at a time do a piece
of work, by a lock file beside what is worked on (the library `filelock`). `lock_handle` locks a file that is
open anyway, exclusively or shared: whoever writes a log or runs a proxy holds it for as long as it lives, and
`is_locked` asks whether somebody does.

The turns of calls about the same path (`ironcurtain.enforcement.calls.path_locks`) need
locks on ranges of one file, which neither kind has.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ironcurtain.errors import BusyError


@contextmanager
def work_lock(path: Path, *, seconds: float = -1, busy: BusyError | None = None) -> Iterator[None]:
    """Hold the right to do a piece of work.

    Args:
        path: The lock file, in a directory that is there; it is made, and stays.
        seconds: How long to wait for another process; negative: until it is done.
        busy: What to raise where the wait was not long enough.

    Raises:
        BusyError: If another process holds it for longer.
        OSError: If the lock file cannot be made.
    """
    from filelock import FileLock, Timeout  # noqa: PLC0415 - most commands only lock open files

    lock = FileLock(path, timeout=seconds)
    try:
        lock.acquire()
    except Timeout:
        raise busy or BusyError("another process holds this lock", where=str(path)) from None
    try:
        yield
    finally:
        lock.release()


def lock_handle(handle: int, *, shared: bool = False, wait: bool = False) -> bool:
    """Lock an open file or directory until its handle is closed; tell whether it was free, or wait for it."""
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


def unlock_handle(handle: int) -> None:
    """Give up the lock of an open file or directory before it is closed."""
    fcntl.flock(handle, fcntl.LOCK_UN)


@contextmanager
def directory_lock(directory: Path) -> Iterator[int]:
    """Lock a directory itself, waiting for whoever holds it; yield its handle. It leaves no lock file.

    Raises:
        OSError: If it is no directory, or cannot be opened.
    """
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield handle
    finally:
        os.close(handle)


def is_locked(path: Path) -> bool:
    """Tell whether some process holds the lock of a file; where there is no such file, nobody does."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not lock_handle(handle, shared=True)
    finally:
        os.close(handle)  # which gives the lock up again
