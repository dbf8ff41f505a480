"""Counts calls decided in the last minute, for `ironcurtain status`."""

from __future__ import annotations

import time
from collections import deque

_MINUTE = 60


class RateCounter:
    """Counts what happens within a minute, by the second."""

    def __init__(self) -> None:
        self._seconds: deque[tuple[int, int]] = deque(maxlen=_MINUTE)

    def count(self) -> None:
        """Count one more."""
        second, before = int(time.monotonic()), 0
        if self._seconds and self._seconds[-1][0] == second:
            before = self._seconds.pop()[1]
        self._seconds.append((second, before + 1))

    @property
    def of_last_minute(self) -> int:
        """How many there were."""
        since = int(time.monotonic()) - _MINUTE
        return sum(number for second, number in self._seconds if second > since)
