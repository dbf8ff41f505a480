"""Times of the week, as conditions write them and as reports say them."""

from __future__ import annotations

import pytest

from ironcurtain.model.times import duration_words, minutes_within, times_words


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (["mon-fri 09:00-17:00"], "mon-fri 09:00-17:00"),
        (["mon 09:00-17:00", "wed-thu 09:00-17:00"], "mon 09:00-17:00, wed-thu 09:00-17:00"),
        (["mon 09:00-12:00", "mon 13:00-17:00"], "mon 09:00-12:00, mon 13:00-17:00"),
        (["sat-sun"], "sat-sun"),
        (["wed"], "wed"),
        (["mon-thu 22:00-06:00"], "mon-thu 22:00-06:00"),
        (["sun 22:00-06:00"], "mon 00:00-06:00, sun 22:00-24:00"),
        (["fri 17:00-24:00", "sat", "sun 00:00-12:00"], "fri 17:00 to sun 12:00"),
        (["mon-sun"], "mon-sun"),
    ],
)
def test_times_are_said_as_people_write_them(written: list[str], said: str) -> None:
    intervals = minutes_within(written)
    assert times_words([bound for each in intervals for bound in each]) == said


@pytest.mark.parametrize(
    "written", ["mon-fri 09:00-17:00", "sat-sun", "mon-thu 22:00-06:00", "tue 00:00-08:30"]
)
def test_what_is_said_means_what_was_written(written: str) -> None:
    intervals = minutes_within([written])
    said = times_words([bound for each in intervals for bound in each])
    assert minutes_within(said.split(", ")) == intervals


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (2592000, "30 days"),
        (86400, "24 hours"),
        (7200, "2 hours"),
        (3600, "60 minutes"),
        (60, "60 seconds"),
        (86401, "86,401 seconds"),
        (1, "1 second"),
        (0, "0 seconds"),
    ],
)
def test_durations_are_said_in_the_largest_unit_of_which_there_are_several(seconds: int, said: str) -> None:
    assert duration_words(seconds) == said
