"""Declarations of facts: what a compiled policy may declare, and what is refused with its reason."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from ironcurtain.model.conditions import FactCondition
from ironcurtain.model.facts import LabelFact, fact_types, lookups
from ironcurtain.model.policy import CompiledPolicy
from ironcurtain.model.records import RecordFact
from ironcurtain.model.times import minutes_within, seconds_of

ORDER: dict[str, Any] = {
    "source": "record",
    "clause": "C7",
    "server": "shop",
    "tool": "get_order_details",
    "arguments": {"order_id": {"arg": "/order_id"}},
    "fields": {
        "status": {"at": "/status", "type": "string"},
        "user_id": {"at": "/user_id", "type": "string"},
        "items": {"at": "/items/*/item_id", "type": "strings"},
        "placed": {"at": "/created_at", "type": "instant"},
    },
}
OWNER = {
    **ORDER,
    "tool": "get_user_details",
    "arguments": {"user_id": {"fact": "order/user_id"}},
    "fields": {"city": {"at": "/address/city", "type": "string"}},
}
PAID = {
    "source": "counter",
    "clause": "C9",
    "of": {"tool": ["pay"]},
    "add": {"arg": "/amount"},
    "per": "caller",
    "window": "day",
}
PRIVATE = {
    "source": "label",
    "clause": "C4",
    "from": {"paths": {"roles": ["read-path"], "within": ["~/Documents"]}},
}
NOW = {"source": "clock", "zone": "Europe/Berlin"}


def declared(**facts: object) -> CompiledPolicy:
    document = {"format": "ironcurtain/policy/v1", "facts": facts, "rules": []}
    return CompiledPolicy.model_validate_json(json.dumps(document))


def refused(**facts: object) -> str:
    with pytest.raises(ValidationError) as raised:
        declared(**facts)
    return str(raised.value)


def test_each_source_is_declared_and_read_back() -> None:
    policy = declared(order=ORDER, owner=OWNER, paid=PAID, private=PRIVATE, now=NOW)
    again = CompiledPolicy.model_validate_json(policy.model_dump_json(by_alias=True, exclude_unset=True))
    assert again == policy
    assert isinstance(policy.facts["order"], RecordFact)
    assert isinstance(policy.facts["private"], LabelFact)
    assert fact_types(policy.facts) == {
        "order/status": "string",
        "order/user_id": "string",
        "order/items": "strings",
        "order/placed": "instant",
        "owner/city": "string",
        "paid": "number",
        "private": "boolean",
        "now": "clock",
    }


def test_a_policy_without_facts_is_written_as_before() -> None:
    policy = CompiledPolicy.model_validate({"format": "ironcurtain/policy/v1", "rules": ()})
    assert policy.facts == {}
    assert "facts" not in policy.model_dump_json(exclude_unset=True)


def test_records_are_looked_up_after_those_they_refer_to() -> None:
    facts = declared(owner=OWNER, order=ORDER, paid=PAID).facts
    assert lookups(facts, "owner/city") == ["order", "owner"]
    assert lookups(facts, "order/status") == ["order"]
    assert lookups(facts, "paid") == []


def test_references_must_be_known_single_values_and_not_circular() -> None:
    told = refused(order=ORDER, owner={**OWNER, "arguments": {"user_id": {"fact": "order/user"}}})
    assert "'order/user', which nothing declares; did you mean 'order/user_id'?" in told
    told = refused(order=ORDER, owner={**OWNER, "arguments": {"user_id": {"fact": "order/items"}}})
    assert "no single value" in told
    told = refused(paid=PAID, owner={**OWNER, "arguments": {"user_id": {"fact": "paid"}}})
    assert "no single value" in told
    turned = {**ORDER, "arguments": {"order_id": {"fact": "owner/city"}}}
    told = refused(order=turned, owner=OWNER)
    assert "fact 'order' refers to itself" in told
    assert "fact 'owner' refers to itself" in told
    told = refused(order={**ORDER, "arguments": {"order_id": {"args": "/order_id"}}})
    assert "argument 'order_id' is a constant" in told


@pytest.mark.parametrize(
    ("declaration", "words"),
    [
        ({**ORDER, "source": "file"}, "source"),
        ({**ORDER, "clauses": "C7"}, "clauses"),
        ({**ORDER, "fields": {"status": {"at": "/items/*/status", "type": "string"}}}, "several values"),
        ({**ORDER, "fields": {"ids": {"at": "/a/*/b/*/c", "type": "strings"}}}, "several values"),
        ({**ORDER, "fields": {"status": {"at": "status", "type": "string"}}}, "pattern"),
        ({**ORDER, "fields": {}}, "at least 1 item"),
        ({**ORDER, "arguments": {}}, "at least 1 item"),
        ({**ORDER, "identity": {"order": "/id"}}, "did you mean 'order_id'?"),
        ({**ORDER, "identity": {"order_id": "/items/*/id"}}, "an identity is one"),
        (
            {**PRIVATE, "from_result": [{"name": "/a", "op": "equals", "value": {"arg": "/b"}}]},
            "a constant only",
        ),
        ({**PAID, "window": "session"}, "per session"),
        ({**PAID, "zone": "Europe/Berlyn"}, "no time zone"),
        ({**PAID, "zone": "../etc/passwd"}, "no time zone"),
        ({**NOW, "zone": ""}, "no time zone"),
        ({**PRIVATE, "from_result": []}, "at least 1 item"),
    ],
)
def test_a_declaration_that_means_nothing_is_refused(declaration: object, words: str) -> None:
    assert words in refused(named=declaration)


@pytest.mark.parametrize("name", ["Order", "1st", "", "a-b", "a/b", "x" * 65])
def test_a_name_is_one_that_conditions_can_write(name: str) -> None:
    assert "pattern" in refused(**{name: ORDER})


@pytest.mark.parametrize(
    ("op", "value"),
    [
        ("older_than", "24 h"),
        ("younger_than", 24),
        ("older_than", "1w"),
        ("within", []),
        ("within", "mon"),
        ("within", ["monday"]),
        ("within", [9]),
        ("between", 1),
    ],
)
def test_a_condition_with_a_time_that_is_none_is_refused(op: str, value: object) -> None:
    with pytest.raises(ValidationError):
        FactCondition.model_validate({"fact": "now", "op": op, "value": value})


def test_durations_are_seconds() -> None:
    assert [seconds_of(text) for text in ("0s", "90s", "30m", "24h", "7d")] == [0, 90, 1800, 86400, 604800]


@pytest.mark.parametrize(
    ("times", "minutes"),
    [
        (["mon 09:00-17:00"], ((540, 1020),)),
        (["mon-tue 09:00-17:00"], ((540, 1020), (1980, 2460))),
        (["sat", "sun"], ((7200, 10080),)),
        (["sat-mon"], ((0, 1440), (7200, 10080))),
        (["mon 22:00-06:00"], ((1320, 1800),)),
        (["sun 22:00-06:00"], ((0, 360), (9960, 10080))),
        (["mon 00:00-24:00"], ((0, 1440),)),
        (["mon 08:00-12:00", "mon 10:00-14:00", "mon 14:00-15:00"], ((480, 900),)),
        (["00:00-24:00"], ((0, 10080),)),
    ],
)
def test_times_of_the_week_are_minutes_from_monday(times: list[str], minutes: object) -> None:
    assert minutes_within(times) == minutes


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "mo",
        "mon-",
        "mon09:00-17:00",
        "mon 9:00-17:00",
        "mon 09:00",
        "mon 09:00-09:00",
        "mon 09:60-10:00",
        "24:00-25:00",
        "24:00-08:00",
        "mon  09:00-17:00",
        "mon ",
        " 09:00-17:00",
        "Mon",
    ],
)
def test_what_is_no_time_of_the_week_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no time such as"):
        minutes_within([text])
