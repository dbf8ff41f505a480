"""Facts as a decision sees them: types, ages and minutes, and what is not known."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import TypeAdapter
from support.generators.spaces_facts import DECLARED

from ironcurtain.decision.facts import known_facts, normalise, stated_facts, with_whole_totals
from ironcurtain.errors import ScenarioError
from ironcurtain.model.facts import Fact

FACTS: dict[str, Fact] = TypeAdapter(dict[str, Fact]).validate_json(json.dumps(DECLARED))
MONDAY = datetime(2026, 3, 2, 8, 30, tzinfo=UTC)


def test_each_value_is_of_its_type() -> None:
    order = {"status": "pending", "items": ["b", "a", "b"], "total": 5.0, "gift": False}
    raw = {"order": order, "paid": 130, "private": True}
    assert normalise(FACTS, raw, None) == {
        "order/status": "pending",
        "order/items": ["a", "b"],
        "order/total": 5,
        "order/gift": False,
        "paid": 130,
        "private": True,
    }


@pytest.mark.parametrize(
    "raw",
    [
        {"order": {"status": 1, "items": "a", "total": True, "gift": 0, "placed": 5}},
        {"order": {"items": ["a", 1], "total": float("nan"), "gift": None, "placed": "yesterday"}},
        {"order": {"total": float("inf"), "placed": "2026-13-01T00:00:00Z"}},
        {"order": ["pending"], "paid": -1, "private": "true"},
        {"order": None, "paid": "5", "private": 1, "unknown": 1},
    ],
)
def test_a_value_of_another_type_is_not_known(raw: dict[str, Any]) -> None:
    assert normalise(FACTS, raw, MONDAY) == {"now": 9 * 60 + 30}


@pytest.mark.parametrize(
    ("placed", "age"),
    [
        ("2026-03-02T08:30:00Z", 0),
        ("2026-03-02T08:29:59.5Z", 0),
        ("2026-03-02T08:29:59Z", 1),
        ("2026-03-01t08:30:00z", 86400),
        ("2026-03-02T09:30:00+01:00", 0),
        ("2026-03-02T08:30:01Z", -1),
    ],
)
def test_an_instant_is_its_age_in_whole_seconds(placed: str, age: int) -> None:
    assert normalise(FACTS, {"order": {"placed": placed}}, MONDAY)["order/placed"] == age


@pytest.mark.parametrize("placed", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_an_instant_that_no_calendar_has_is_not_known(placed: str) -> None:
    assert "order/placed" not in normalise(FACTS, {"order": {"placed": placed}}, MONDAY)


def test_an_instant_without_an_offset_is_of_its_field_s_zone() -> None:
    placed = {"at": "/at", "type": "instant", "zone": "Europe/Berlin"}
    zoned = {"order": {**DECLARED["order"], "fields": {"placed": placed}}}
    facts = TypeAdapter(dict[str, Fact]).validate_json(json.dumps(zoned))
    raw = {"order": {"placed": "2026-03-02 09:00:00"}}
    assert normalise(facts, raw, MONDAY) == {"order/placed": 1800}
    assert "order/placed" not in normalise(FACTS, raw, MONDAY)


def test_the_clock_follows_the_zone_over_the_change_to_summer_time() -> None:
    before = datetime(2026, 3, 29, 0, 59, tzinfo=UTC)  # 01:59 in Berlin, a minute before 03:00
    assert normalise(FACTS, {}, before)["now"] == 6 * 1440 + 119
    assert normalise(FACTS, {}, before + timedelta(minutes=1))["now"] == 6 * 1440 + 180


def test_a_decision_takes_only_what_is_declared_and_of_its_type() -> None:
    values: dict[str, Any] = {"order/status": "a", "order/placed": 5, "now": 10080, "paid": "5", "x": 1}
    assert known_facts(FACTS, values) == {"order/status": "a", "order/placed": 5}


def test_people_state_facts_by_name_or_as_a_decision_sees_them() -> None:
    stated: dict[str, Any] = {"order": {"placed": "2026-03-02T08:00:00Z"}, "order/status": "a", "paid": 7}
    at = "2026-03-02T08:30:00Z"
    expected = {"order/placed": 1800, "order/status": "a", "paid": 7, "now": 570}
    assert stated_facts(FACTS, stated, at) == expected
    assert stated_facts(FACTS, {"now": 5}, None) == {"now": 5}


@pytest.mark.parametrize(
    ("stated", "at", "words"),
    [
        ({"order": ["pending"]}, None, "'order' is a record, so its value is an object of its fields"),
        ({"order": {"state": "a"}}, None, "no fact 'order/state' is declared; did you mean"),
        ({"payed": 5}, None, "no fact 'payed' is declared; did you mean 'paid'"),
        ({"order": {"status": 5}}, None, "'order/status' is of type string"),
        ({"order": {"placed": "2026-03-02T08:00:00Z"}}, None, "'order/placed' is of type instant"),
        ({"paid": -1}, None, "'paid' is of type number"),
        ({}, "2026-03-02", "is no time with its zone"),
        ({}, "2026-03-02T08:00:00", "is no time with its zone"),
        ({}, "0001-01-01T00:00:00+14:00", "is no time with its zone"),
        ({}, "0001-01-01T00:00:00Z", "is no time with its zone"),
        ({}, "9999-12-31T23:59:59Z", "is no time with its zone"),
    ],
)
def test_what_people_state_amiss_is_an_error(stated: dict[str, Any], at: str | None, words: str) -> None:
    with pytest.raises(ScenarioError, match=words):
        stated_facts(FACTS, stated, at)


@pytest.mark.parametrize(
    ("tool", "paid", "known"),
    [("pay", 99, False), ("pay", 100, True), ("pay", 130, True), ("send", 99, True)],
)
def test_a_total_that_does_not_include_the_call_is_not_known(tool: str, paid: int, known: bool) -> None:
    """Evidence examines no such call: a payment above the budget would pass with what was paid before it."""
    values = with_whole_totals(FACTS, {"paid": paid, "private": True}, "shop", tool, {"amount": 100})
    assert ("paid" in values) is known
    assert values["private"] is True


def test_a_count_without_the_call_is_not_known() -> None:
    calls = {"source": "counter", "clause": "C1", "of": {"tool": ["pay"]}, "per": "session"}
    written = json.dumps({"calls": {**calls, "window": "session"}})
    facts: dict[str, Fact] = TypeAdapter(dict[str, Fact]).validate_json(written)
    assert with_whole_totals(facts, {"calls": 0}, "shop", "pay", {}) == {}
    assert with_whole_totals(facts, {"calls": 1}, "shop", "pay", {}) == {"calls": 1}
