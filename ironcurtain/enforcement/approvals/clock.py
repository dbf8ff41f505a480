"""The two clocks of a deadline: the wall's, which can jump, and the monotonic one, which dies with us."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class Clock:
    """Where time comes from.

    Attributes:
        wall: The time of day in UTC, which two programs share.
        monotonic: Seconds that only grow, for this process.
    """

    wall: Callable[[], datetime] = _now
    monotonic: Callable[[], float] = time.monotonic
