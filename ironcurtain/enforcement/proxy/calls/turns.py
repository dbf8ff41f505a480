"""Calls that change paths wait for those that were judged over the same paths, and the other way round.

A server is sent real paths. What could still lead one elsewhere is a change of a directory on its way, by
another call of the agent's: so from judging to the answer no call changes what another one relies on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import takewhile

import anyio

from ironcurtain.decision.canonical.paths import ancestors
from ironcurtain.decision.canonical.resources import Resource
from ironcurtain.decision.decide import Prepared

_LOOKS = frozenset({"read-path"})
_MOST_REMEMBERED = 1_000

PATIENCE = 30.0
"""Seconds that a call waits for others over the same paths."""


class UnsettledError(Exception):
    """Other calls keep what a call was judged over."""


@dataclass(frozen=True, eq=False)
class Paths:
    """The real paths that a call was judged over.

    Attributes:
        all: Every one of them.
        changed: Those that the call may change, or whatever lies below them.
        trees: Those of which the call sees the whole tree.
    """

    all: frozenset[str]
    changed: frozenset[str]
    trees: frozenset[str]

    @classmethod
    def of(cls, prepared: Prepared) -> Paths:
        """Return the paths of a prepared call."""
        found = path_subjects(prepared)
        return cls(
            frozenset(subject.value for subject in found),
            frozenset(subject.value for subject in found if subject.role.name not in _LOOKS),
            frozenset(subject.value for subject in found if subject.recursive),
        )

    def meets(self, other: Paths) -> bool:
        """Tell whether one of two calls may change what the other one relies on."""
        return _disturbs(self, other) or _disturbs(other, self)


def path_subjects(prepared: Prepared) -> list[Resource]:
    """Return the subjects of a call that are paths."""
    return [
        subject
        for subject in prepared.call.subjects
        if subject.role.category == "path" and subject.unresolved is None
    ]


def _disturbs(one: Paths, other: Paths) -> bool:
    """Tell whether what one call changes lies on the way to a path of the other, or in a tree of it."""
    if not one.changed:
        return False
    on_the_way = {each for path in other.all for each in ancestors(path.casefold())}
    if any(path.casefold() in on_the_way for path in one.changed):
        return True
    above = {each for path in one.changed for each in ancestors(path.casefold())}
    return any(path.casefold() in above for path in other.trees)


class Turns:
    """Who may go on: the calls that are between judging and answer, and what was changed lately."""

    def __init__(self) -> None:
        self._active: set[Paths] = set()
        self._changes: deque[tuple[int, Paths]] = deque(maxlen=_MOST_REMEMBERED)
        self._count = 0
        self._released = anyio.Event()

    def mark(self) -> int:
        """Return the moment: what is judged from now on sees every change that is over."""
        return self._count

    @asynccontextmanager
    async def turn(self, paths: Paths, since: int) -> AsyncIterator[bool]:
        """Wait until no other call disturbs this one, and let none begin to until it is over.

        Args:
            paths: What the call was judged over.
            since: The moment before it was judged.

        Raises:
            UnsettledError: If the others take too long.

        Yields:
            Whether something was changed since then that it had been judged by.
        """
        end = anyio.current_time() + PATIENCE
        while any(paths.meets(other) for other in self._active):
            with anyio.move_on_at(end) as late:
                await self._released.wait()
            if late.cancelled_caught:
                raise UnsettledError
        self._active.add(paths)
        try:
            yield self._was_disturbed(paths, since)
        finally:
            self._active.discard(paths)
            if paths.changed:
                self._count += 1
                self._changes.append((self._count, paths))
            self._released.set()
            self._released = anyio.Event()

    def _was_disturbed(self, paths: Paths, since: int) -> bool:
        if self._count - since > _MOST_REMEMBERED:
            return bool(paths.all)
        later = takewhile(lambda change: change[0] > since, reversed(self._changes))
        return any(_disturbs(change, paths) for _, change in later)
