"""The windows of counters: of the calendar in the declared zone."""

from __future__ import annotations

from datetime import datetime

import pytest

from ironcurtain.enforcement.facts.clock import Window, window_of


@pytest.mark.parametrize(
    ("window", "zone", "at", "name"),
    [
        ("day", "UTC", "2026-11-23T23:59:59.999999+00:00", "2026-11-23"),
        ("day", "Europe/Berlin", "2026-11-23T23:00:00+00:00", "2026-11-24"),
        ("day", "America/New_York", "2026-11-23T04:59:59+00:00", "2026-11-22"),
        ("week", "UTC", "2026-11-22T23:59:59+00:00", "2026-W47"),
        ("week", "UTC", "2026-11-23T00:00:00+00:00", "2026-W48"),
        ("week", "UTC", "2027-01-01T12:00:00+00:00", "2026-W53"),
        ("session", "UTC", "2026-11-23T12:00:00+00:00", ""),
        ("hour", "Asia/Kolkata", "2026-11-23T12:31:00+00:00", "2026-11-23T18+0530"),
    ],
)
def test_a_moment_lies_in_one_window(window: Window, zone: str, at: str, name: str) -> None:
    assert window_of(window, zone, datetime.fromisoformat(at)) == name


def test_the_hour_that_is_there_twice_is_two_windows() -> None:
    summer, winter = (datetime.fromisoformat(f"2026-10-25T0{hour}:30:00+00:00") for hour in (0, 1))
    names = [window_of("hour", "Europe/Berlin", at) for at in (summer, winter)]
    assert names == ["2026-10-25T02+0200", "2026-10-25T02+0100"]


def test_the_day_of_a_change_of_time_is_one_window() -> None:
    moments = [
        datetime.fromisoformat(at) for at in ("2026-10-24T22:00:00+00:00", "2026-10-25T22:59:59+00:00")
    ]
    assert {window_of("day", "Europe/Berlin", at) for at in moments} == {"2026-10-25"}
