"""The directories that servers are told to work in, and the time that they have to understand that."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError

from ironcurtain.decision.canonical.paths import is_within

_READING = 1.0
_MOMENT = 0.2
_LOOK = 0.05
_GONE = (MCPError, OSError, anyio.BrokenResourceError, anyio.ClosedResourceError)
"""What a server that has gone causes; it asks for its roots when it is started again."""


class RootsTold:
    """What directories a server was told of last, and when it has had the time to understand that."""

    def __init__(self, more: Iterable[str] = ()) -> None:
        """Have the directories of some paths among the roots for good."""
        self._end = -math.inf
        self._told: tuple[str, ...] | None = None
        self._more: Counter[str] = Counter(map(_directory, more))

    @property
    def asked_for(self) -> bool:
        """Whether the server has asked for them."""
        return self._told is not None

    def told(self) -> None:
        """Begin to wait: the server was told that they changed."""
        self._end = anyio.current_time() + _READING

    def expect(self) -> None:
        """Begin to wait: the server has just been started, and asks for them, or has."""
        self.told()
        if self.asked_for:
            self.read()

    def read(self) -> None:
        """Wait a moment only: the server has read them."""
        self._end = min(self._end, anyio.current_time() + _MOMENT)

    async def understood(self) -> None:
        """Wait until the server has read them and a moment longer; bounded."""
        while (left := self._end - anyio.current_time()) > 0:  # noqa: ASYNC110 - the end can come nearer
            await anyio.sleep(min(left, _LOOK))

    def answered(self, usual: Any) -> Any:  # noqa: ANN401 - what answers any question of a server's
        """Return what the server is told now: the usual roots, and those of the calls that go on."""
        if not isinstance(usual, types.ListRootsResult):
            return usual
        self._told = tuple(unquote(urlsplit(str(root.uri)).path) for root in usual.roots)
        more = [root_of(path) for path in self._more if path not in self._told]
        return usual.model_copy(update={"roots": [*usual.roots, *more]})

    @asynccontextmanager
    async def during(self, paths: Iterable[str], tell: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
        """Have the directories of some paths among the roots meanwhile, and no longer.

        A server that never asked for its roots is told nothing.

        Args:
            paths: What a call is about.
            tell: Tells the server that its roots changed.
        """
        told = self._told or ("/",)
        outside = {_directory(path) for path in paths if not any(is_within(path, root) for root in told)}
        if not outside:
            yield
            return
        self._more.update(outside)
        try:
            with suppress(*_GONE):
                await tell()
            yield
        finally:
            self._more.subtract(outside)
            self._more = +self._more
            with anyio.CancelScope(shield=True), anyio.move_on_after(_READING), suppress(*_GONE):
                await tell()


def root_of(path: str) -> types.Root:
    """Return a directory as the protocol names it."""
    return types.Root(uri=PurePosixPath(path).as_uri(), name=path)


def _directory(path: str) -> str:
    """Return the nearest directory that is there: the path itself, or what it lies in."""
    place = Path(path)
    return str(next((each for each in (place, *place.parents) if each.is_dir()), place))
