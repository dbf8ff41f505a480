"""The circuit breaker: a model that repeats one call without end is stopped (`proxy-circuit-breaker`)."""

from __future__ import annotations

import hashlib
import json
import time
from collections import OrderedDict, deque
from collections.abc import Callable

from ironcurtain.model.base import Json

RULE = "proxy-circuit-breaker"
MOST = 20
WINDOW = 60.0
_MOST_KEPT = 10_000


class CircuitBreaker:
    """Counts equal calls (server, tool, arguments; the order of keys is no difference) in a sliding window.

    Args:
        most: Equal calls that are let through within `window` seconds.
        clock: Seconds that only grow.
    """

    def __init__(
        self, most: int = MOST, window: float = WINDOW, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most, self._window, self._clock = most, window, clock
        self._calls: OrderedDict[bytes, deque[float]] = OrderedDict()

    def trips(self, server: str, tool: str, arguments: Json) -> bool:
        """Count a call; tell whether it is one too many. A call that was stopped does not count."""
        now = self._clock()
        key = _key(server, tool, arguments)
        times = self._calls.setdefault(key, deque())
        self._calls.move_to_end(key)
        while times and now - times[0] >= self._window:
            times.popleft()
        while len(self._calls) > _MOST_KEPT:
            self._calls.popitem(last=False)
        if len(times) >= self._most:
            return True
        times.append(now)
        return False


def _key(server: str, tool: str, arguments: Json) -> bytes:
    try:
        text = json.dumps([server, tool, arguments], sort_keys=True)
    except (ValueError, TypeError, RecursionError):
        text = tool  # no JSON: it is refused anyway, and all such calls of a tool are one
    return hashlib.sha256(text.encode()).digest()
