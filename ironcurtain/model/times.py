"""Durations and times of the week, as conditions write them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import counted

MINUTES_OF_WEEK: Final = 7 * 24 * 60
"""Minutes of a week; minute 0 is Monday 00:00."""

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_UNITS = {"d": "day", "h": "hour", "m": "minute", "s": "second"}
_DURATION = re.compile(r"([0-9]{1,7})([smhd])")
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_HOUR = 60
_DAY = 24 * _HOUR
_WITHIN = re.compile(r"(?:(?P<first>[a-z]{3})(?:-(?P<last>[a-z]{3}))?)?(?P<gap> ?)(?P<hours>[0-9:-]*)")
_HOURS = re.compile(r"([0-9]{2}):([0-9]{2})-([0-9]{2}):([0-9]{2})")


def seconds_of(duration: str) -> int:
    """Return the seconds of a duration such as `90s`, `30m`, `24h` or `7d`.

    Raises:
        ValueError: If it is no such duration.
    """
    found = _DURATION.fullmatch(duration)
    if found is None:
        msg = f"{duration!r} is no duration such as 30m, 24h or 7d"
        raise ValueError(msg)
    return int(found[1]) * _SECONDS[found[2]]


def duration_words(seconds: int) -> str:
    """Return seconds in words, in the largest unit of which they are a whole number above one: `30 days`."""
    whole = (unit for unit in _UNITS if seconds % _SECONDS[unit] == 0 and seconds // _SECONDS[unit] > 1)
    unit = next(whole, "s")
    return counted(seconds // _SECONDS[unit], _UNITS[unit])


def minutes_within(times: Iterable[str]) -> tuple[tuple[int, int], ...]:
    """Return the minutes of the week that times such as `mon-fri 09:00-17:00`, `sat` or `22:00-06:00` cover.

    Returns:
        Half-open intervals `(first, end)` in order, none of which touches another, from 0 to 10080.

    Raises:
        ValueError: If one is no such time.
    """
    pieces = sorted(piece for text in times for piece in _pieces(text))
    merged: list[tuple[int, int]] = []
    for first, end in pieces:
        if merged and first <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((first, end))
    return tuple(merged)


def times_words(bounds: Sequence[JsonValue]) -> str:
    """Return minutes of the week, the bounds of half-open intervals, in words: `mon-fri 09:00-17:00`."""
    numbers = [bound for bound in bounds if isinstance(bound, int)]
    said: list[tuple[int, int, str]] = []
    for first, end in zip(numbers[::2], numbers[1::2], strict=False):
        day, last, hours = _said(first, end)
        if said and hours and day == last == said[-1][1] + 1 and hours == said[-1][2]:
            said[-1] = said[-1][0], last, hours
        else:
            said.append((day, last, hours))
    return ", ".join(f"{_days_words(day, last)} {hours}".strip() for day, last, hours in said)


def _said(first: int, end: int) -> tuple[int, int, str]:
    """Return the first and the last day of an interval, and its hours: none of whole days."""
    day, last = first // _DAY, (end - 1) // _DAY
    if first % _DAY == 0 and end % _DAY == 0:
        return day, last, ""
    start, stop = _clock(first % _DAY), _clock(end % _DAY or _DAY)
    if end - first > _DAY:
        return day, day, f"{start} to {_DAYS[last]} {stop}"
    return day, day, f"{start}-{stop}"


def _days_words(first: int, last: int) -> str:
    return _DAYS[first] if first == last else f"{_DAYS[first]}-{_DAYS[last]}"


def _clock(minute: int) -> str:
    return f"{minute // _HOUR:02}:{minute % _HOUR:02}"


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Yield the intervals of one time; what goes on over Sunday's midnight begins the week anew."""
    start, length = _hours(text)
    for day in _days(text):
        first = day * _DAY + start
        end = first + length
        yield first, min(end, MINUTES_OF_WEEK)
        if end > MINUTES_OF_WEEK:
            yield 0, end - MINUTES_OF_WEEK


def _days(text: str) -> Iterator[int]:
    found = _WITHIN.fullmatch(text)
    first, last = (found["first"], found["last"]) if found else (None, None)
    if found is None or not text or bool(found["gap"]) != bool(first and found["hours"]):
        raise _no_time(text)
    if first is None:
        yield from range(7)
        return
    if first not in _DAYS or (last or first) not in _DAYS:
        raise _no_time(text)
    start = _DAYS.index(first)
    for after in range((_DAYS.index(last or first) - start) % 7 + 1):
        yield (start + after) % 7


def _hours(text: str) -> tuple[int, int]:
    """Return the minute of the day at which a time begins, and how many minutes it lasts."""
    found = _WITHIN.fullmatch(text)
    if found is None or not found["hours"]:
        return 0, _DAY
    hours = _HOURS.fullmatch(found["hours"])
    if hours is None:
        raise _no_time(text)
    start, end = (_minute(*hours.group(n, n + 1)) for n in (1, 3))
    if start is None or end is None or start in (end, _DAY):
        raise _no_time(text)
    return start, (end - start) % _DAY or _DAY


def _minute(hour: str, minute: str) -> int | None:
    value = int(hour) * _HOUR + int(minute)
    return value if int(minute) < _HOUR and value <= _DAY else None


def _no_time(text: str) -> ValueError:
    return ValueError(f"{text!r} is no time such as mon-fri 09:00-17:00, sat or 22:00-06:00")
