"""The circuit breaker: a model that repeats one call without end is stopped (`proxy-circuit-breaker`)."""

from __future__ import annotations

import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping

from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.json_text import JsonSource
from ironcurtain.system.structs import Struct

MOST = 20
WINDOW = 60.0
_MOST_KEPT = 10_000
_ANSWER = ("content", "structuredContent", "isError")
"""What a model sees of a result; the rest may differ from call to call."""


class _Repeats(Struct):
    """The calls of one kind, and the digest of the last answer where one was compared.

    Attributes:
        times: When they came; the last one is the call that came last.
    """

    times: list[float]
    answer: bytes | None = None


class RepeatedCallLimiter:
    """Counts equal calls (server, tool, arguments; the order of keys is no difference) in a sliding window.

    Args:
        most: How many may come in a window; 0 for any number.
        clock: Seconds that only grow.
    """

    def __init__(self, most: int = MOST, clock: Callable[[], float] = time.monotonic) -> None:
        self.most, self._clock = most, clock
        self._calls: OrderedDict[bytes, _Repeats] = OrderedDict()  # the one that came last at the end

    def trips(self, server: str, tool: str, arguments: JsonSource | bytes) -> bool:
        """Count a call; tell whether it is one too many. A call that was stopped does not count."""
        if not self.most:
            return False
        now = self._clock()
        self._forget(now)
        key = _key(server, tool, arguments)
        before = self._calls.pop(key, _Repeats([]))
        times = [at for at in before.times if now - at < WINDOW]
        stopped = len(times) >= self.most
        self._calls[key] = _Repeats(times if stopped else [*times, now], before.answer)
        return stopped

    def answered(
        self, server: str, tool: str, arguments: JsonSource | bytes, result: Mapping[str, JsonValue]
    ) -> None:
        """Count anew from a repeated call whose answer differs from the one before: something happens.

        For tools that only read: one that acts gives another answer, such as a new id, each time it acts.
        """
        key = _key(server, tool, arguments)
        before = self._calls.get(key)
        if before is None or len(before.times) < 2:  # noqa: PLR2004 - nothing was repeated
            return
        answer = _digest([result.get(name) for name in _ANSWER])
        is_other = before.answer is not None and answer != before.answer
        self._calls[key] = _Repeats(before.times[-1:] if is_other else before.times, answer)

    def _forget(self, now: float) -> None:
        """Drop calls that last came before the window: the table is no larger than the traffic."""
        while self._calls:
            oldest = next(iter(self._calls.values()))
            if now - oldest.times[-1] < WINDOW and len(self._calls) < _MOST_KEPT:
                return
            self._calls.popitem(last=False)


def _key(server: str, tool: str, arguments: JsonSource | bytes) -> bytes:
    try:
        return _digest([server, tool, arguments])
    except (ValueError, TypeError, RecursionError):
        return _digest(tool)  # no JSON: it is refused anyway, and all such calls of a tool are one


def _digest(value: object) -> bytes:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).digest()
