from __future__ import annotations

from typing import Any

from ironcurtain.enforcement.calls.repeated_calls import RepeatedCallLimiter


def breaker() -> tuple[RepeatedCallLimiter, list[float]]:
    clock = [0.0]
    return RepeatedCallLimiter(clock=lambda: clock[0]), clock


def test_the_21st_call_within_a_minute_trips_whatever_the_order_of_keys() -> None:
    tested, _ = breaker()
    orders: list[dict[str, Any]] = [{"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1}]
    assert [tested.trips("s", "t", orders[n % 2]) for n in range(22)] == [False] * 20 + [True] * 2


def test_the_window_slides() -> None:
    tested, clock = breaker()
    for second in range(20):
        clock[0] = float(second)
        assert not tested.trips("s", "t", {})
    clock[0] = 59.9
    assert tested.trips("s", "t", {})
    clock[0] = 60.0
    assert not tested.trips("s", "t", {})
    assert tested.trips("s", "t", {})
    clock[0] = 61.0
    assert not tested.trips("s", "t", {})


def test_other_servers_tools_and_arguments_are_other_calls() -> None:
    tested, _ = breaker()
    for _ in range(20):
        tested.trips("s", "t", {"a": 1})
    assert tested.trips("s", "t", {"a": 1})
    for other in (("s2", "t", {"a": 1}), ("s", "t2", {"a": 1}), ("s", "t", {"a": 2}), ("s", "t", {"a": "1"})):
        assert not tested.trips(*other)


def test_what_is_no_json_is_counted_too() -> None:
    tested, _ = breaker()
    assert [tested.trips("s", "t", b"{") for _ in range(21)] == [False] * 20 + [True]


def test_calls_of_the_past_take_no_room() -> None:
    tested, clock = breaker()
    for number in range(500):
        clock[0] += 1
        assert not tested.trips("s", "t", {"number": number})
    assert len(tested._calls) <= 61
