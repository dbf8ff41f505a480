"""The gateway's clock, and the calendar windows in which counters count."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal, TypeAlias
from zoneinfo import ZoneInfo

Window: TypeAlias = Literal["hour", "day", "week", "session"]


def now() -> datetime:
    """Return the moment that a call is decided at, in UTC."""
    return datetime.now(UTC)


_DAY = 86_400


def seconds_kept(window: str) -> int:
    """Return how long a total of a caller is kept after a booking: until no clock is in its window.

    Args:
        window: The window's name, as `window_of` gives it.
    """
    if "T" in window:
        return 2 * _DAY
    return 16 * _DAY if "W" in window else 4 * _DAY


def window_of(window: Window, zone: str, at: datetime) -> str:
    """Return the name of the window that a moment lies in; equal names are one window.

    Where summer time ends, an hour is there twice: each of the two is a window of its own, told apart by its
    distance from UTC. A day is as long as its zone makes it, a week begins on Monday.

    Args:
        window: Its length; `session` has one window, whose name is empty.
        zone: The zone of the calendar, as the policy declares it.
        at: The moment, with its distance from UTC.
    """
    if window == "session":
        return ""
    local = at.astimezone(ZoneInfo(zone))
    if window == "hour":
        return local.strftime("%Y-%m-%dT%H%z")
    if window == "day":
        return local.strftime("%Y-%m-%d")
    year, week, _ = local.isocalendar()
    return f"{year:04}-W{week:02}"
