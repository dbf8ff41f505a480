"""Dates and date-times to try where tests compare parts of them: near each constant, edge and distance.

They are not shown to be all that tests can tell apart, so whatever is tested so is searched and not proved.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from datetime import datetime, timedelta

from ironcurtain.model.conditions import ValueTest
from ironcurtain.model.moments import MomentTest, moment_test

MOMENT_GAP = "a date or time that is compared"
_DAY = 86400
_NOON = _DAY // 2
_FIRST = datetime(1970, 1, 1)  # noqa: DTZ001 - texts without a zone are made of it, too
_USUAL_DAY = 20_463
_MOST = 160


def moment_texts(conditions: Iterable[ValueTest]) -> list[str]:
    """Return texts to try for what is compared by tests of parts of dates; none if there is no such test."""
    tests = [moment_test(c.part, c.op, c.value) for c in conditions if c.part is not None]
    if not tests:
        return []
    days = {day + step for test in tests for day in _days(test) for step in (-1, 0, 1)}
    times = {second for test in tests for second in _times(test) if 0 <= second < _DAY}
    moments = {day * _DAY + second for day, second in itertools.product(days, times)}
    usual = _USUAL_DAY * _DAY + _NOON
    steps = {sign * test.later + step for test in tests for sign in (1, -1) for step in (-1, 0, 1)}
    moments = {*moments, *(usual + step for step in steps if abs(step) < _USUAL_DAY * _DAY)}
    ordered = sorted(moments, key=lambda moment: (abs(moment - usual), moment))[:_MOST]
    texts = [(_FIRST + timedelta(seconds=moment)).isoformat() for moment in ordered]
    dates = dict.fromkeys(text[:10] for text in texts)
    return [*texts, *(f"{text}Z" for text in texts[: _MOST // 4]), *dates]


def _days(test: MomentTest) -> Iterable[int]:
    yield _USUAL_DAY
    if test.part == "date":
        yield _USUAL_DAY + test.later
        yield from [test.constant.number] if test.constant else ()
    if test.part == "instant" and test.constant:
        yield test.constant.number // _DAY


def _times(test: MomentTest) -> Iterable[int]:
    yield _NOON
    edges = [second for window in test.windows for second in window]
    if test.part == "time" and test.constant:
        edges.append(test.constant.number)
    if test.part == "instant" and test.constant:
        edges.append(test.constant.number % _DAY)
    for edge in edges:
        yield from (edge - 1, edge, edge + 1)
