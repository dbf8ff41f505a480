"""When a server that has ended is started again: after a growing pause, or once it reaches something else."""

from __future__ import annotations

import math

import anyio

from ironcurtain.enforcement.proxy.upstream.events import UpstreamLimits
from ironcurtain.enforcement.sandbox.start_failure import StartFailure


class Restarts:
    """The starts of one server, as far as they decide on the next one.

    Attributes:
        failure: What its sandbox probably had to do with it that its last start failed; None for nothing.
    """

    def __init__(self, limits: UpstreamLimits) -> None:
        self.failure: StartFailure | None = None
        self._limits, self._pause = limits, limits.first_pause
        self._opened, self._is_stopped = anyio.Event(), False

    @property
    def stopped(self) -> str:
        """Why there is no next start before it reaches something else; empty if there is one."""
        return f"it does not run: {self.failure.sentence}" if self.failure and self._is_stopped else ""

    def opened(self) -> None:
        """Take note that it reaches something else from its next start on."""
        self._opened.set()

    def ended(self, failure: StartFailure | None, lived: float) -> None:
        """Take note of its end after so many seconds: two equal failures in a row, and a third would be."""
        self._is_stopped = failure is not None and failure == self.failure
        self.failure = failure
        if lived > self._limits.healthy:
            self._pause = self._limits.first_pause

    @property
    def words(self) -> str:
        """What comes next."""
        if self._is_stopped:
            return "it is not started again before the policy opens something else to it"
        return f"it is started again in {self._pause:g} s"

    async def wait(self) -> None:
        """Wait for the time of the next start."""
        with anyio.move_on_after(math.inf if self._is_stopped else self._pause):
            await self._opened.wait()
        self._pause = min(self._pause * 2, self._limits.longest_pause)
        if self._opened.is_set():
            self._opened, self._is_stopped, self._pause = anyio.Event(), False, self._limits.first_pause
