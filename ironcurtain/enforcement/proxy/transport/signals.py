"""What the operating system tells a proxy: to end (SIGTERM, SIGINT), or to read its bundle again (SIGHUP)."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from types import TracebackType
from typing import Self

_END = (signal.SIGTERM, signal.SIGINT)


class Signals:
    """Heeds signals while it is entered, and ignores them from then on.

    A client that has closed our input sends SIGTERM two seconds later. That must not end us in the middle of
    ending: then servers would be left behind, or the log without its last record.

    Args:
        end: Called for each signal to end.
    """

    def __init__(self, end: Callable[[], object]) -> None:
        self._end = end
        self._hang_up: Callable[[], object] = lambda: None

    def when_hung_up(self, reload: Callable[[], object]) -> None:
        """Call `reload` for each SIGHUP from now on; until then they are ignored."""
        self._hang_up = reload

    def __enter__(self) -> Self:
        """Begin; in the main thread, inside an event loop."""
        loop = asyncio.get_running_loop()
        for number in _END:
            loop.add_signal_handler(number, self._end)
        loop.add_signal_handler(signal.SIGHUP, self._on_hangup)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End: all that is left is to exit."""
        loop = asyncio.get_running_loop()
        for number in (*_END, signal.SIGHUP):
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_IGN)

    def _on_hangup(self) -> None:
        self._hang_up()
