"""The circuit breaker: a model that repeats one call without end is stopped (`proxy-circuit-breaker`)."""

from __future__ import annotations

import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import Callable

from ironcurtain.system.json_text import JsonSource

MOST = 20
WINDOW = 60.0
_MOST_KEPT = 10_000


class RepeatedCallLimiter:
    """Counts equal calls (server, tool, arguments; the order of keys is no difference) in a sliding window.

    Args:
        clock: Seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._calls: OrderedDict[bytes, list[float]] = OrderedDict()  # the one that came last at the end

    def trips(self, server: str, tool: str, arguments: JsonSource | bytes) -> bool:
        """Count a call; tell whether it is one too many. A call that was stopped does not count."""
        now = self._clock()
        self._forget(now)
        key = _key(server, tool, arguments)
        times = [at for at in self._calls.pop(key, ()) if now - at < WINDOW]
        stopped = len(times) >= MOST
        self._calls[key] = times if stopped else [*times, now]
        return stopped

    def _forget(self, now: float) -> None:
        """Drop calls that last came before the window: the table is no larger than the traffic."""
        while self._calls:
            oldest = next(iter(self._calls.values()))
            if now - oldest[-1] < WINDOW and len(self._calls) < _MOST_KEPT:
                return
            self._calls.popitem(last=False)


def _key(server: str, tool: str, arguments: JsonSource | bytes) -> bytes:
    try:
        text = json.dumps([server, tool, arguments], sort_keys=True)
    except (ValueError, TypeError, RecursionError):
        text = tool  # no JSON: it is refused anyway, and all such calls of a tool are one
    return hashlib.sha256(text.encode()).digest()
