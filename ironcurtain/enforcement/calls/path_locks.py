"""Calls that change paths wait for those that were evaluated over the same paths, and the other way round.

A server is sent real paths. What could still lead one elsewhere is a change of a directory on its way, by
another call of the agent's: so from evaluating to the answer no call changes what another one relies on. The
same holds for records that a server was asked for: a call that may change something there waits, or is waited
for, and what was decided on a record before such a change is decided again.

`PathLocks` orders the calls of one proxy. `OtherProxies` orders those of all proxies of one user by their
paths, with locks in a file that they share, which the kernel releases with the process that holds them. A
byte of the file stands for a path. What a call relies on is locked for reading, what it changes for writing.
A tree that a call sees whole is locked in one of many bytes of its own, so that several may see it; what
changes something below locks all of them.
"""

from __future__ import annotations

import fcntl
import os
import struct
import sys
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import lru_cache
from hashlib import blake2b
from itertools import takewhile
from pathlib import Path
from random import Random

import anyio

from ironcurtain.decision.canonical.paths import ancestors
from ironcurtain.decision.canonical.resources import Resource
from ironcurtain.decision.decide import Prepared
from ironcurtain.system.structs import Struct

_LOOKS = frozenset({"read-path"})
_MOST_REMEMBERED = 1_000

PATIENCE = 30.0
"""Seconds that a call waits for others over the same paths."""


class LockTimeoutError(Exception):
    """Other calls keep what a call was evaluated over."""


class CallPaths(Struct, eq=False):
    """The real paths that a call was evaluated over, and the servers that its records come from.

    Attributes:
        all: Every path.
        changed: Paths that the call may change, or whatever lies below them.
        trees: Paths of which the call sees the whole tree.
        recorded: The servers whose records it was decided on.
        altered: The servers whose records it may change.
    """

    all: frozenset[str]
    changed: frozenset[str]
    trees: frozenset[str]
    recorded: frozenset[str] = frozenset()
    altered: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        prepared: Prepared,
        recorded: frozenset[str] = frozenset(),
        altered: frozenset[str] = frozenset(),
    ) -> CallPaths:
        """Return the paths of a prepared call, with the servers of its records."""
        found = path_resources(prepared)
        return cls(
            frozenset(resource.value for resource in found),
            frozenset(resource.value for resource in found if resource.role.name not in _LOOKS),
            frozenset(resource.value for resource in found if resource.recursive),
            recorded,
            altered,
        )

    def meets(self, other: CallPaths) -> bool:
        """Tell whether one of two calls may change what the other one relies on."""
        return _disturbs(self, other) or _disturbs(other, self)


def path_resources(prepared: Prepared) -> list[Resource]:
    """Return the resources of a call that are paths."""
    return [
        resource
        for resource in prepared.call.resources
        if resource.role.category == "path" and resource.unresolved is None
    ]


def _disturbs(one: CallPaths, other: CallPaths) -> bool:
    """Tell whether one call may change a record of the other, or something on the way to or in its paths."""
    if one.altered & other.recorded:
        return True
    if not one.changed:
        return False
    on_the_way = {each for path in other.all for each in ancestors(path.casefold())}
    if any(path.casefold() in on_the_way for path in one.changed):
        return True
    above = {each for path in one.changed for each in ancestors(path.casefold())}
    return any(path.casefold() in above for path in other.trees)


class PathLocks:
    """Who may go on: the calls that are between evaluating and answer, and what was changed lately."""

    def __init__(self) -> None:
        self._active: set[CallPaths] = set()
        self._changes: deque[tuple[int, CallPaths]] = deque(maxlen=_MOST_REMEMBERED)
        self._count = 0
        self._released = anyio.Event()

    def mark(self) -> int:
        """Return the moment: what is evaluated from now on sees every change that is over."""
        return self._count

    @asynccontextmanager
    async def turn(self, paths: CallPaths, since: int) -> AsyncIterator[bool]:
        """Wait until no other call disturbs this one, and let none begin to until it is over.

        Args:
            paths: What the call was evaluated over.
            since: The moment before it was evaluated.

        Raises:
            LockTimeoutError: If the others take too long.

        Yields:
            Whether something was changed since then that it had been evaluated by.
        """
        if self._must_wait(paths):
            await self._wait(paths)
        self._active.add(paths)
        try:
            yield self._was_disturbed(paths, since)
        finally:
            self._active.discard(paths)
            if paths.changed or paths.altered:
                self._count += 1
                self._changes.append((self._count, paths))
            self._released.set()

    def _must_wait(self, paths: CallPaths) -> bool:
        return any(paths.meets(other) for other in self._active)

    async def _wait(self, paths: CallPaths) -> None:
        with anyio.move_on_after(PATIENCE):
            while self._must_wait(paths):
                if self._released.is_set():
                    self._released = anyio.Event()
                await self._released.wait()
            return
        raise LockTimeoutError

    def _was_disturbed(self, paths: CallPaths, since: int) -> bool:
        if self._count - since > _MOST_REMEMBERED:
            return bool(paths.all or paths.recorded)
        later = takewhile(lambda change: change[0] > since, reversed(self._changes))
        return any(_disturbs(change, paths) for _, change in later)


# -- turns between the proxies of one user -----------------------------------------------------

_FLOCK = struct.Struct("@hhqqi4x")
_SLOTS = 64
_TREES = 1 << 60
_POLL = 0.005
_drawn = Random()  # noqa: S311 - for who tries when, no secret


class OtherProxies:
    """The locks of this proxy among those of others. Elsewhere than on Linux there are none.

    Args:
        file: The shared file, which is there.
    """

    def __init__(self, file: Path) -> None:
        self._file = file

    @asynccontextmanager
    async def turn(self, paths: CallPaths) -> AsyncIterator[None]:
        """Wait until no other proxy disturbs what a call was evaluated over, and let none begin to.

        Raises:
            LockTimeoutError: If the others take too long, or the file cannot be opened.
        """
        if sys.platform != "linux" or not paths.all:
            yield
            return
        end = anyio.current_time() + PATIENCE
        while (held := self._locked(paths)) is None:
            if anyio.current_time() > end:
                raise LockTimeoutError
            await anyio.sleep(_POLL * (1 + _drawn.random()))
        try:
            yield
        finally:
            os.close(held)

    def _locked(self, paths: CallPaths) -> int | None:
        """Take all locks of a call; return what holds them, or None where another proxy has one."""
        try:
            handle = os.open(self._file, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as error:
            raise LockTimeoutError from error
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


def _ways(paths: CallPaths) -> Iterator[tuple[int, int, int]]:
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
