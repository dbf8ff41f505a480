"""The independent evaluator of declared facts, held against situations that were worked out by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from support.oracles import facts_oracle
from support.oracles.facts_oracle import Memory, Step, UnavailableError, holds, run

AT = datetime(2026, 11, 23, 10, 30, tzinfo=UTC)  # a Monday
BERLIN = ZoneInfo("Europe/Berlin")
ORDER: dict[str, Any] = {
    "source": "record",
    "identity": {"order_id": "/order_id"},
    "fields": {
        "status": {"at": "/status", "type": "string"},
        "total": {"at": "/total", "type": "number"},
        "paid": {"at": "/paid", "type": "boolean"},
        "items": {"at": "/items/*/item_id", "type": "strings"},
        "placed": {"at": "/created_at", "type": "instant"},
    },
}
DOCUMENT: dict[str, Any] = {
    "order_id": "W1",
    "status": "pending",
    "total": 61,
    "paid": True,
    "items": [{"item_id": "lamp"}, {"item_id": "mug"}, {"item_id": "lamp"}],
    "created_at": "2026-11-22T11:30:00+01:00",  # a day ago to the second
}
PAY: dict[str, Any] = {
    "rules": [
        {"name": "over", "then": "deny", "if": {"facts": [{"fact": "paid", "op": "gt", "value": 100}]}},
        {"name": "pay", "then": "allow", "if": {"tool": ["pay"]}},
    ],
    "facts": {
        "paid": {
            "source": "counter",
            "of": {"tool": ["pay"]},
            "add": {"arg": "/amount"},
            "per": "caller",
            "window": "day",
            "zone": "Europe/Berlin",
        }
    },
}


def asked(tool: str, **arguments: Any) -> dict[str, Any]:
    """Return the policy input of a call without resources."""
    return {
        "server": "shop",
        "tool": tool,
        "side_effects": True,
        "args": arguments,
        "caller": {"user": "ada"},
        "subjects": {"call": {"role": "none", "discharged": False}},
        "within": {},
        "sandboxed": {"within": {}},
    }


@pytest.mark.parametrize(
    ("fact", "op", "value", "expected"),
    [
        ("order/status", "equals", "pending", True),
        ("order/status", "in", ["shipped", "delivered"], False),
        ("order/status", "not_in", ["shipped", "delivered"], True),
        ("order/status", "matches", "pend", False),
        ("order/status", "matches", "pend.*", True),
        ("order/status", "equals", {"arg": "/status"}, True),
        ("order/status", "not_equals", {"caller": "/user"}, True),
        ("order/items", "contains", "mug", True),
        ("order/items", "contains", {"arg": "/item"}, False),
        ("order/items", "not_contains", {"arg": "/item"}, True),
        ("order/total", "le", 61, True),
        ("order/total", "lt", {"arg": "/amount"}, False),
        ("order/paid", "equals", True, True),
        ("order/placed", "older_than", "24h", False),
        ("order/placed", "younger_than", "1d", False),
        ("order/placed", "older_than", "86399s", True),
        ("order/placed", "younger_than", "1441m", True),
        ("order/status", "present", True, True),
        ("order/status", "present", False, False),
        ("owner/name", "present", False, True),
        ("private", "equals", False, True),
    ],
)
def test_a_condition_on_a_known_fact_holds_alike_in_every_rule(
    fact: str, op: str, value: Any, *, expected: bool
) -> None:
    values = {"order": facts_oracle.record(ORDER, DOCUMENT), "private": False}
    call = asked("cancel", status="pending", item="chair", amount=61)
    test = {"fact": fact, "op": op, "value": value}
    told = {then: holds(test, values, call, AT, then) for then in ("allow", "escalate", "deny")}
    assert told == dict.fromkeys(told, expected)


@pytest.mark.parametrize(
    ("fact", "op", "value"),
    [
        ("owner/name", "equals", "Ada"),  # no such record
        ("owner/name", "present", True),
        ("order/status", "within", ["mon-fri"]),
        ("order/status", "equals", 1),
        ("order/status", "lt", "shipped"),
        ("order/total", "matches", "61"),
        ("order/items", "equals", "mug"),
        ("order/items", "contains", 1),
        ("order/status", "contains", "pending"),
        ("order/status", "older_than", "1h"),
        ("order/status", "equals", {"caller": "/nobody"}),
        ("order/status", "equals", {"fact": "owner/name"}),
    ],
)
def test_a_condition_that_needs_what_is_not_known_holds_where_a_rule_asks_or_denies(
    fact: str, op: str, value: Any
) -> None:
    values = {"order": facts_oracle.record(ORDER, DOCUMENT)}
    test = {"fact": fact, "op": op, "value": value}
    told = {then: holds(test, values, asked("cancel"), AT, then) for then in ("allow", "escalate", "deny")}
    assert told == {"allow": False, "escalate": True, "deny": True}


@pytest.mark.parametrize(
    ("span", "day", "hour", "minute", "expected"),
    [
        ("mon-fri 09:00-17:00", 23, 8, 59, False),
        ("mon-fri 09:00-17:00", 23, 9, 0, True),
        ("mon-fri 09:00-17:00", 27, 16, 59, True),
        ("mon-fri 09:00-17:00", 27, 17, 0, False),
        ("mon-fri 09:00-17:00", 28, 12, 0, False),
        ("fri 22:00-06:00", 28, 5, 59, True),  # Saturday morning
        ("fri 22:00-06:00", 28, 6, 0, False),
        ("fri 22:00-06:00", 27, 5, 0, False),
        ("sun 22:00-06:00", 23, 5, 0, True),  # Monday morning
        ("sat-mon 08:00-09:00", 29, 8, 30, True),
        ("sat-mon 08:00-09:00", 25, 8, 30, False),
        ("sat", 28, 23, 59, True),
        ("sat", 29, 0, 0, False),
        ("22:00-06:00", 25, 23, 0, True),
        ("20:00-24:00", 25, 23, 59, True),
    ],
)
def test_times_of_the_week(span: str, day: int, hour: int, minute: int, *, expected: bool) -> None:
    now = datetime(2026, 11, day, hour, minute, tzinfo=BERLIN)
    test = {"fact": "now", "op": "within", "value": [span]}
    assert holds(test, {"now": now}, asked("cancel"), AT, "allow") is expected


@pytest.mark.parametrize(
    "changed",
    [
        {"status": None},
        {"status": 1},
        {"total": "61"},
        {"total": True},
        {"paid": 1},
        {"items": [{"item_id": 1}]},
        {"items": {"item_id": "lamp"}},
        {"created_at": "yesterday"},
        {"created_at": "2026-11-22T11:30:00"},
        {"order_id": "W2"},
    ],
)
def test_a_record_of_another_type_or_about_something_else_is_none(changed: dict[str, Any]) -> None:
    with pytest.raises(UnavailableError):
        facts_oracle.record(ORDER, DOCUMENT | changed, {"order_id": "W1"})


def paid(amount: Any, at: datetime = AT, session: str = "s", caller: str = "c") -> Step:
    return Step(asked("pay", amount=amount), at, session=session, caller=caller)


def verdicts(policy: dict[str, Any], *steps: Step) -> list[str]:
    return [one["verdict"] for one in run(policy, steps)]


def test_a_total_is_with_the_call_and_a_refused_call_adds_nothing() -> None:
    assert verdicts(PAY, paid(60), paid(50), paid(40), paid(0.01)) == ["allow", "deny", "allow", "deny"]


def test_tenths_add_up_exactly() -> None:
    memory = Memory()
    run(PAY, [paid(0.1), paid(0.2)], memory)
    assert memory.total("paid", PAY["facts"]["paid"], "s", "c", AT) == Decimal("0.3")


@pytest.mark.parametrize("amount", [-1, None, "5", True, float("inf"), float("nan")])
def test_an_amount_that_is_none_is_refused(amount: Any) -> None:
    assert run(PAY, [paid(amount)]) == [{"verdict": "deny", "rule": "structural-fact-unavailable"}]


def test_a_budget_is_the_callers_over_all_sessions_and_nobody_elses() -> None:
    steps = paid(60), paid(50, session="t"), paid(50, session="t", caller="d")
    assert verdicts(PAY, *steps) == ["allow", "deny", "allow"]


def test_a_day_ends_at_midnight_of_its_zone() -> None:
    eve = datetime(2026, 11, 23, 22, 59, tzinfo=UTC)  # 23:59 in Berlin
    assert verdicts(PAY, paid(60, eve), paid(50, eve + timedelta(minutes=1))) == ["allow", "allow"]
    assert verdicts(PAY, paid(60, eve - timedelta(hours=1)), paid(50, eve)) == ["allow", "deny"]


def test_a_week_begins_on_monday_and_an_hour_that_comes_twice_is_two() -> None:
    week = {"window": "week", "zone": "UTC"}
    sunday = datetime(2026, 11, 22, 23, 59, tzinfo=UTC)
    assert facts_oracle.window(week, sunday) == facts_oracle.window(week, sunday - timedelta(days=6))
    assert facts_oracle.window(week, sunday) != facts_oracle.window(week, sunday + timedelta(minutes=1))
    hour = {"window": "hour", "zone": "Europe/Berlin"}
    first = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)  # 02:30 in Berlin, for the first time
    assert facts_oracle.window(hour, first) != facts_oracle.window(hour, first + timedelta(hours=1))


def test_a_label_is_given_when_a_call_is_sent_and_never_taken() -> None:
    policy = {
        "rules": [
            {"name": "no", "then": "deny", "if": {"tool": ["notes"], "args": [equals("user", "bob")]}},
            {"name": "ask", "then": "escalate", "if": {"tool": ["mail"], "facts": [is_private()]}},
            {"name": "ok", "then": "allow", "if": {"server": ["shop"]}},
        ],
        "facts": {"private": {"source": "label", "from": {"tool": ["notes"]}}},
    }
    mail, refused, notes = (Step(asked(*one[:1], **one[1]), AT) for one in CALLS)
    other = Step(asked("mail"), AT, session="t")
    assert verdicts(policy, mail, refused, mail, notes, mail, mail, other) == [
        "allow",
        "deny",
        "allow",
        "allow",
        "escalate",
        "escalate",
        "allow",
    ]


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("mail", {}),
    ("notes", {"user": "bob"}),
    ("notes", {"user": "ada"}),
]


def equals(name: str, value: str) -> dict[str, Any]:
    return {"name": name, "op": "equals", "value": value}


def is_private() -> dict[str, Any]:
    return {"fact": "private", "op": "equals", "value": True}


def test_an_asked_call_counts_once_it_is_approved() -> None:
    policy = PAY | {"rules": [{"name": "ask", "then": "escalate", "if": {"tool": ["pay"]}}]}
    approved, asked_only = Step(asked("pay", amount=5), AT, approved=True), paid(7)
    memory = Memory()
    run(policy, [approved, asked_only], memory)
    assert [dict(one.amounts) for one in memory.sent] == [{"paid": Decimal(5)}]
