"""The paths that one call relies on: looked at before it is sent, and again after its answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from ironcurtain.enforcement.proxy.calls.path_checks import (
    ElsewhereError,
    Marks,
    look_again_aside,
    look_aside,
)
from ironcurtain.enforcement.proxy.calls.turns import Paths
from ironcurtain.enforcement.proxy.upstream.events import UpstreamError

T = TypeVar("T")

Tell = Callable[..., Coroutine[Any, Any, None]]
"""Records a violation: what, with `path` where one is known."""

_ELSEWHERE = "a path that was judged leads elsewhere, or did meanwhile"
_UNSENT, _UNTOLD = "not sent: ", "its answer is withheld: "


class Watched:
    """What stands at the paths of one call; where that was swapped, a violation is recorded.

    Each look raises `UpstreamError` then.
    """

    def __init__(self, paths: Paths | None, tell: Tell, *, near: bool) -> None:
        """Watch these, if any; `near` where a look at them never takes long."""
        self._paths, self._tell, self._near = paths, tell, near
        self._before: Marks = {}

    async def begin(self) -> None:
        """See that the judged paths are what they were, before the call is sent."""
        if self._paths is not None:
            self._before = await self._see(_UNSENT, look_aside(self._paths, near=self._near))

    async def ready(self, wrong: str) -> None:
        """See the same when a process has been started for the call: what it was given is what was judged.

        Args:
            wrong: What is wrong with the process; nothing if it is as it should be.
        """
        if wrong:
            await self._tell(f"{_UNSENT}{wrong}")
            raise UpstreamError(f"{_UNSENT}{wrong}")
        await self._again(_UNSENT)

    async def end(self) -> None:
        """See it after the answer."""
        await self._again(_UNTOLD)

    async def _again(self, so: str) -> None:
        if self._paths is not None:
            await self._see(so, look_again_aside(self._paths, self._before, near=self._near))

    async def _see(self, so: str, looking: Awaitable[T]) -> T:
        try:
            return await looking
        except ElsewhereError as error:
            path = error.path
        await self._tell(f"{so}{_ELSEWHERE}", path=path)
        raise UpstreamError(f"{so}{_ELSEWHERE}")
