"""Random policies of the rarer operators, and random calls: what cells are held against, as in `spaces`."""

from __future__ import annotations

from random import Random
from typing import Any

from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.decision.roles import Registry
from ironcurtain.model.annotations import Annotations
from ironcurtain.model.scenarios import DescribedWorld
from support.projects.policies import annotations_of, compiled

WORLD = DescribedWorld(home="/home/user", sandbox="/home/user/box")
TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
PAYMENT = {
    "type": "object",
    "properties": {"payment_id": TEXT, "amount": {"type": "number"}},
    "additionalProperties": False,
}
NUMBER, FEW = {"type": "number"}, {"type": "integer", "minimum": 0, "maximum": 9}
SCHEMA: dict[str, dict[str, Any]] = {
    "fly": {"total": NUMBER, "passengers": FEW},
    "pack": {"bags": WHOLE, "people": {"type": "array", "items": TEXT}},
    "pay": {"amount": NUMBER, "limit": NUMBER},
    "tip": {"tip": WHOLE},
    "mail": {"subject": TEXT, "body": TEXT, "about": {"type": "object", "properties": {"kind": TEXT}}},
    "book": {"payments": {"type": "array", "items": PAYMENT}, "codes": {"type": "array", "items": TEXT}},
}
PASSENGERS, PEOPLE = {"arg": "/passengers"}, {"arg": "/people", "measure": "count"}
TESTS: dict[str, list[dict[str, Any]]] = {
    "fly": [
        {"name": "total", "op": "le", "value": {**PASSENGERS, "times": 100}},
        {"name": "total", "op": "gt", "value": {**PASSENGERS, "times": 50, "plus": 75}},
        {"name": "total", "op": "equals", "value": {**PASSENGERS, "times": 100}, "or_absent": True},
        {"name": "total", "op": "ge", "value": 130.5},
        {"name": "passengers", "op": "le", "value": 3},
    ],
    "pack": [
        {"name": "bags", "op": "le", "value": {**PEOPLE, "times": 2}},
        {"name": "bags", "op": "gt", "value": {**PEOPLE, "plus": 1}},
        {"name": "bags", "op": "equals", "value": PEOPLE},
        {"name": "people", "op": "le", "value": 2, "measure": "count"},
        {"name": "bags", "op": "lt", "value": 4, "or_absent": True},
    ],
    "pay": [
        {"name": "amount", "op": "le", "value": {"arg": "/limit"}},
        {"name": "amount", "op": "lt", "value": {"arg": "/limit"}, "or_absent": True},
        {"name": "limit", "op": "ge", "value": {"arg": "/amount"}},
        {"name": "amount", "op": "equals", "value": {"arg": "/limit"}},
        {"name": "amount", "op": "gt", "value": 20},
        {"name": "limit", "op": "not_equals", "value": 50},
    ],
    "tip": [
        {"name": "tip", "op": "le", "value": {"caller": "/age"}},
        {"name": "tip", "op": "ge", "value": {"caller": "/age", "plus": -3}, "or_absent": True},
        {"name": "tip", "op": "lt", "value": 18},
    ],
    "mail": [
        {"name": "subject", "also_in": ["body"], "op": "contains_any", "value": ["secret", "a.b"]},
        {
            "name": "subject",
            "op": "contains_any",
            "value": ["secret"],
            "ignore_case": True,
            "or_absent": True,
        },
        {"name": "body", "op": "equals", "value": "Secret (1)", "ignore_case": True},
        {"name": "/about/kind", "op": "in", "value": ["new", "OLD"], "ignore_case": True},
        {"name": "/about/kind", "also_in": ["subject"], "op": "contains_any", "value": ["new"]},
        {"name": "body", "op": "matches", "value": "[a-c]+.*", "ignore_case": True},
        {"name": "body", "op": "not_equals", "value": "a.b"},
    ],
    "book": [
        {"name": "/payments/*/payment_id", "op": "matches", "value": "certificate_.*", "count": {"le": 1}},
        {"name": "/payments/*/payment_id", "op": "equals", "value": "gift_1", "count": {"ge": 2}},
        {"name": "/payments/*/amount", "op": "gt", "value": 50, "count": {"equals": 1}},
        {"name": "payments", "op": "le", "value": 3, "measure": "count", "or_absent": True},
        {"name": "/codes/*", "op": "in", "value": ["a", "b"], "count": {"equals": 2}},
        {"name": "/codes/*", "op": "equals", "value": "a", "count": {"ge": 1}, "or_absent": True},
        {"name": "/codes/*", "op": "not_equals", "value": "b"},
    ],
}


MOMENTS = [
    "2026-01-10",
    "2026-01-10T06:59:59",
    "2026-01-10T07:00:00",
    "2026-01-10T21:59:00",
    "2026-01-10T22:00:00",
    "2026-01-11T07:00",
    "2026-01-11T07:00:00Z",
    "2026-01-12T08:00:00+01:00",
    "2026-12-31T23:30:00",
    "tomorrow",
]
DATED: list[dict[str, Any]] = [
    {"name": "start", "part": "date", "op": "equals", "value": {"arg": "/end"}},
    {"name": "start", "part": "time", "op": "within", "value": ["07:00-22:00"]},
    {"name": "start", "part": "time", "op": "within", "value": ["22:00-07:00"], "or_absent": True},
    {"name": "end", "part": "instant", "op": "le", "value": {"arg": "/start", "plus": "24h"}},
    {"name": "end", "part": "date", "op": "ge", "value": {"arg": "/start", "plus": "1d"}},
    {"name": "end", "part": "date", "op": "lt", "value": "2026-06-01"},
    {"name": "start", "part": "time", "op": "ge", "value": "07:00"},
    {"name": "end", "part": "instant", "op": "gt", "value": {"arg": "/start"}, "or_absent": True},
]
"""Tests of dates and times, whose evidence is searched; `meet` has `start` and `end`."""


def _elements(values: list[Any]) -> Any:
    return lambda random: [random.choice(values) for _ in range(random.randint(0, 4))]


PAYMENTS: list[dict[str, Any]] = [
    {"payment_id": "certificate_1", "amount": 10},
    {"payment_id": "certificate_2", "amount": 60},
    {"payment_id": "gift_1"},
    {"payment_id": "card", "amount": 50},
    {"amount": 51},
]
TEXTS = ["secret", "no SECRETS", "SECRET (1)", "a.b", "aXb", "Abc", "new", "New", "old", ""]
AMOUNTS = [0, 1, 2, 19.5, 20, 50, 75, 99, 100, 125, 130.5, 175, 200, 201, 300, 10**9]
VALUES: dict[str, Any] = {
    **dict.fromkeys(("total", "amount", "limit"), lambda random: random.choice(AMOUNTS)),
    **dict.fromkeys(("passengers", "bags"), lambda random: random.randint(0, 9)),
    "people": lambda random: ["x"] * random.randint(0, 5),
    **dict.fromkeys(("subject", "body"), lambda random: random.choice(TEXTS)),
    "about": lambda random: random.choice([{}, *({"kind": text} for text in TEXTS)]),
    "tip": lambda random: random.randint(13, 20),
    "payments": _elements(PAYMENTS),
    "codes": _elements(["a", "b", "c"]),
}
CALLER: list[dict[str, Any]] = [{}, {"sub": "alice"}]


def tools() -> list[dict[str, Any]]:
    """Return the annotated tools, none of whose arguments is a resource."""
    return [
        {
            "tool": name,
            "side_effects": True,
            "input_schema": {"type": "object", "properties": properties, "additionalProperties": False},
            "args": [{"name": argument, "roles": ["none"]} for argument in properties],
        }
        for name, properties in SCHEMA.items()
    ]


def annotated() -> Annotations:
    """Return the annotations of the tools on one server."""
    return annotations_of({"s": [*tools(), DATED_TOOL]})


def random_policy(random: Random) -> list[dict[str, Any]]:
    """Return the rules of a random policy."""
    return [_random_rule(random, f"r{number}") for number in range(random.randint(2, 8))]


def _random_rule(random: Random, name: str) -> dict[str, Any]:
    tool = random.choice(list(SCHEMA))
    tests = random.sample(TESTS[tool], random.choice([1, 1, 2]))
    then = random.choice(["allow", "escalate", "deny"])
    return {"name": name, "clause": "C1", "reason": "so", "then": then, "if": {"tool": [tool], "args": tests}}


DATED_TOOL: dict[str, Any] = {
    "tool": "meet",
    "side_effects": True,
    "input_schema": {"type": "object", "properties": {"start": TEXT, "end": TEXT}},
    "args": [{"name": name, "roles": ["none"]} for name in ("start", "end")],
}


def bundle_of(rules: list[dict[str, Any]]) -> Bundle:
    """Return the bundle of rules over the tools."""
    release = Release(engine_version="test")
    return assemble(compiled(rules), annotated(), registry=Registry(), release=release)


def random_arguments(random: Random, tool: str) -> dict[str, Any]:
    """Return random arguments of a tool."""
    return {name: VALUES[name](random) for name in SCHEMA[tool] if random.random() < 0.85}
