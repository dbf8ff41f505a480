"""Turns between the proxies of one user: locks in a file that they share, given up with whoever holds them.

A byte of the file stands for a path. What a call relies on is locked for reading, what it changes for
writing. A tree that a call sees whole is locked in one of many bytes of its own, so that several may see it;
what changes something below locks all of them.
"""

from __future__ import annotations

import fcntl
import os
import struct
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from random import Random

import anyio

from ironcurtain.decision.canonical.paths import ancestors
from ironcurtain.enforcement.proxy.calls.turns import PATIENCE, Paths, UnsettledError

_FLOCK = struct.Struct("@hhqqi4x")
_SLOTS = 64
_TREES = 1 << 60
_POLL = 0.005
_drawn = Random()  # noqa: S311 - for who tries when, no secret


class Neighbours:
    """The locks of this proxy among those of others. Elsewhere than on Linux there are none.

    Args:
        file: The shared file, which is there.
    """

    def __init__(self, file: Path) -> None:
        self._file = file

    @asynccontextmanager
    async def turn(self, paths: Paths) -> AsyncIterator[None]:
        """Wait until no other proxy disturbs what a call was judged over, and let none begin to.

        Raises:
            UnsettledError: If the others take too long, or the file cannot be opened.
        """
        if sys.platform != "linux" or not paths.all:
            yield
            return
        end = anyio.current_time() + PATIENCE
        while (held := self._locked(paths)) is None:
            if anyio.current_time() > end:
                raise UnsettledError
            await anyio.sleep(_POLL * (1 + _drawn.random()))
        try:
            yield
        finally:
            os.close(held)

    def _locked(self, paths: Paths) -> int | None:
        """Take all locks of a call; return what holds them, or None where another proxy has one."""
        try:
            handle = os.open(self._file, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as error:
            raise UnsettledError from error
        try:
            if all(_lock(handle, *each) for each in _ways(paths)) and all(
                any(_lock(handle, fcntl.F_WRLCK, slot, 1) for slot in _slots(tree)) for tree in paths.trees
            ):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
        return None


def _ways(paths: Paths) -> Iterator[tuple[int, int, int]]:
    """Yield the kind, start and length of the locks of what a call changes and relies on."""
    for path in paths.changed:
        yield fcntl.F_WRLCK, _number(path), 1
    for path in _with_parents(paths.all) - {each.casefold() for each in paths.changed}:
        yield fcntl.F_RDLCK, _number(path), 1
    for path in _with_parents(paths.changed):
        yield fcntl.F_RDLCK, _tree(path), _SLOTS


def _with_parents(paths: frozenset[str]) -> set[str]:
    return {each for path in paths for each in ancestors(path.casefold())}


def _slots(tree: str) -> Iterator[int]:
    start = _drawn.randrange(_SLOTS)
    yield from (_tree(tree) + (start + each) % _SLOTS for each in range(_SLOTS))


def _tree(path: str) -> int:
    return _TREES + _number(path) // _SLOTS * _SLOTS


@lru_cache(maxsize=10_000)
def _number(path: str) -> int:
    """Return a number below 2^60 for a path, the same for all its spellings in other cases."""
    text = path.casefold().encode("utf-8", "surrogateescape")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big") >> 4


def _lock(handle: int, kind: int, start: int, length: int) -> bool:
    """Lock a part of the file, if nobody else has locked it otherwise."""
    wanted = _FLOCK.pack(kind, os.SEEK_SET, start, length, 0)
    try:
        fcntl.fcntl(handle, fcntl.F_OFD_SETLK, wanted)
    except (BlockingIOError, PermissionError):
        return False
    return True
