"""The end of an approval as people write it: when their own clock next shows it, at most 8 hours on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from ironcurtain.enforcement.approvals.grant_end import offered_ends, read_end, shown_end
from ironcurtain.errors import UsageError

NOON = datetime(2030, 1, 1, 12, 0, 30, tzinfo=UTC)


@pytest.fixture(params=["UTC", "Asia/Kolkata", "America/St_Johns"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("zone")
def test_it_is_the_next_time_that_the_local_clock_shows_it() -> None:
    for minutes in (1, 59, 240, 479):
        then = NOON + timedelta(minutes=minutes)
        end = read_end(f"{then.astimezone():%H:%M}", NOON)
        assert end == then.replace(second=0)
        assert shown_end(end).startswith(f"{then.astimezone():%H:%M} ")


@pytest.mark.usefixtures("zone")
def test_what_is_offered_can_be_taken_until_the_time_to_answer_is_over() -> None:
    for late in (timedelta(), timedelta(minutes=10)):
        ends = [read_end(text, NOON + late) for text in offered_ends(NOON)]
        assert ends == [NOON.replace(second=0) + timedelta(hours=hours) for hours in (1, 4, 8)]


@pytest.mark.parametrize(
    "text", ["", "7", "24:00", "12:60", "7:30", "17:30:00", "tomorrow", "\uff11\uff17:30", "17:30\n"]
)
def test_what_is_no_time_of_day(text: str) -> None:
    with pytest.raises(UsageError, match="no time of day"):
        read_end(text, NOON)


def test_more_than_8_hours_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    assert read_end("20:00", NOON) == datetime(2030, 1, 1, 20, tzinfo=UTC)
    for text in ("20:01", "12:00", "11:59"):
        with pytest.raises(UsageError, match="more than 8 hours away"):
            read_end(text, NOON)
