"""The gateway's clock, and the calendar windows in which counters count."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal, TypeAlias
from zoneinfo import ZoneInfo

Window: TypeAlias = Literal["hour", "day", "week", "session"]


def now() -> datetime:
    """Return the moment that a call is decided at, in UTC."""
    return datetime.now(UTC)


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
