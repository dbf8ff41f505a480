"""Dates and times in arguments: ISO 8601 texts such as `2026-11-23` and `2026-11-23T07:30:00+01:00`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Literal, TypeAlias

from ironcurtain.model.times import minutes_within, seconds_of
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct

Part: TypeAlias = Literal["date", "time", "instant"]
"""What of a date-time is compared: its day, its time of day as it is written, or the moment itself."""
MOMENT = (
    r"^((?:19|2[01])[0-9]{2})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
    r"(?:T([01][0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9])(?:\.[0-9]{1,9})?)?"
    r"(?:(Z)|([+-])(0[0-9]|1[0-4]):([0-5][0-9]))?)?$"
)
"""What a date or a date-time looks like; the library's Rego has the same expression."""
_MOMENT = re.compile(MOMENT.removesuffix("$") + r"\Z")
_EPOCH = date(1970, 1, 1).toordinal()
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_COMPARED = ("equals", "not_equals", "lt", "le", "gt", "ge")
_EXAMPLES: dict[Part, str] = {"date": "2026-11-23", "time": "07:00", "instant": "2026-11-23T07:00:00Z"}
_HOURS = re.compile(r"[0-9]{2}:[0-9]{2}-[0-9]{2}:[0-9]{2}")


class Moment(Struct):
    """A part of a date or date-time as a number.

    Attributes:
        number: Days since 1970-01-01, seconds since midnight, or seconds since 1970-01-01T00:00:00.
        is_zoned: Whether the text says how far from UTC it is; only alike instants can be compared.
    """

    number: int
    is_zoned: bool


def moment_of(text: str, part: Part) -> Moment | None:
    """Return a part of a text, None of what is no date or date-time or lacks the part."""
    found = _MOMENT.match(text)
    if found is None:
        return None
    year, month, day, hour, minute, second, utc, sign, ahead_hours, ahead_minutes = found.groups()
    try:
        days = date(int(year), int(month), int(day)).toordinal() - _EPOCH
    except ValueError:
        return None
    is_zoned = utc is not None or sign is not None
    if part == "date":
        return Moment(days, is_zoned)
    if part == "time" and hour is None:
        return None
    seconds = int(hour or 0) * _HOUR + int(minute or 0) * _MINUTE + int(second or 0)
    if part == "time":
        return Moment(seconds, is_zoned)
    ahead = int(f"{sign or '+'}1") * (int(ahead_hours or 0) * _HOUR + int(ahead_minutes or 0) * _MINUTE)
    return Moment(days * _DAY + seconds - ahead, is_zoned)


class MomentTest(Struct):
    """A test of a part of a date-time, with its operand read.

    Attributes:
        part: The part.
        op: How it is compared.
        windows: For `within`, the half-open seconds of the day.
        constant: What a part is compared with, None where that is another value.
        later: Days or seconds that are added to another value.
    """

    part: Part
    op: str
    windows: tuple[tuple[int, int], ...] = ()
    constant: Moment | None = None
    later: int = 0


def moment_test(part: Part, op: str, value: JsonValue) -> MomentTest:
    """Return the test of a part, as a rule writes it.

    Raises:
        ValueError: If the operand is none that such a test can have.
    """
    if op == "within":
        if part != "time" or not isinstance(value, list | tuple) or not value:
            msg = 'within takes a list of times such as "07:00-22:00", with "part": "time"'
            raise ValueError(msg)
        return MomentTest(part, op, windows=windows_of(str(text) for text in value))
    if op not in _COMPARED:
        msg = f"a date or time is compared by {', '.join(_COMPARED)} and within"
        raise ValueError(msg)
    if isinstance(value, dict):
        return MomentTest(part, op, later=_later(part, value))
    constant = moment_of(f"2000-01-01T{value}" if part == "time" else str(value), part)
    if constant is None:
        msg = f"{value!r} is no {part} such as {_EXAMPLES[part]}"
        raise ValueError(msg)
    return MomentTest(part, op, constant=constant)


def _later(part: Part, value: Mapping[str, JsonValue]) -> int:
    """Return what is added to another value: days to a date, seconds to an instant, nothing to a time."""
    if {*value} - {"arg", "plus"} or "arg" not in value:
        msg = 'a date or time is compared with {"arg": POINTER}, perhaps with "plus"'
        raise ValueError(msg)
    plus = value.get("plus")
    if plus is None:
        return 0
    text = str(plus)
    seconds = seconds_of(text.removeprefix("-")) * (-1 if text.startswith("-") else 1)
    if part == "time" or (part == "date" and seconds % _DAY):
        msg = f'{text!r} cannot be added to a {part}; "plus" is days such as 7d for dates'
        raise ValueError(msg)
    return seconds // _DAY if part == "date" else seconds


def windows_of(times: Iterable[str]) -> tuple[tuple[int, int], ...]:
    """Return the seconds of a day that times such as `07:00-22:00` or `22:00-06:00` cover, half-open.

    Raises:
        ValueError: If one is no such time.
    """
    listed = list(times)
    for text in listed:
        if not _HOURS.fullmatch(text):
            msg = f"{text!r} is no time such as 07:00-22:00"
            raise ValueError(msg)
    minutes = _DAY // _MINUTE
    week = minutes_within(listed)
    return tuple((a * _MINUTE, min(b, minutes) * _MINUTE) for a, b in week if a < minutes)
