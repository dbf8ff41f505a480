"""A shop's tools and declared facts, with random policies, records, moments and calls of a session."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.decision.roles import Registry
from ironcurtain.model.annotations import Annotations
from ironcurtain.model.policy import CompiledPolicy
from ironcurtain.model.scenarios import DescribedWorld
from ironcurtain.system.files import parse_document
from support.projects.policies import CALLER, annotations_of

WORLD = DescribedWorld(home="/home/user", sandbox=None)

AT = datetime(2026, 11, 23, 10, 30, tzinfo=UTC)  # a Monday
TEXT, NUMBER = {"type": "string"}, {"type": "number"}
SCHEMA: dict[str, dict[str, Any]] = {
    "get_order": {"order_id": TEXT},
    "get_user": {"user_id": TEXT},
    "cancel": {"order_id": TEXT, "item": TEXT},
    "pay": {"order_id": TEXT, "amount": NUMBER, "method": TEXT},
    "mail": {"subject": TEXT},
}
REQUIRED = {"get_order": ["order_id"], "get_user": ["user_id"], "cancel": ["order_id"], "pay": ["order_id"]}
FACTS: dict[str, Any] = {
    "order": {
        "source": "record",
        "clause": "C1",
        "server": "shop",
        "tool": "get_order",
        "arguments": {"order_id": {"arg": "/order_id"}},
        "fields": {
            "status": {"at": "/status", "type": "string"},
            "user_id": {"at": "/user_id", "type": "string"},
            "total": {"at": "/total", "type": "number"},
            "paid": {"at": "/paid", "type": "boolean"},
            "items": {"at": "/items/*/item_id", "type": "strings"},
            "placed": {"at": "/created_at", "type": "instant"},
        },
    },
    "owner": {
        "source": "record",
        "clause": "C1",
        "server": "shop",
        "tool": "get_user",
        "arguments": {"user_id": {"fact": "order/user_id"}},
        "fields": {
            "methods": {"at": "/methods", "type": "strings"},
            "limit": {"at": "/limit", "type": "number"},
            "name": {"at": "/name", "type": "string"},
        },
    },
    "spent": {
        "source": "counter",
        "clause": "C1",
        "of": {"tool": ["pay"]},
        "add": {"arg": "/amount"},
        "per": "caller",
        "window": "day",
        "zone": "Europe/Berlin",
    },
    "mails": {
        "source": "counter",
        "clause": "C1",
        "of": {"tool": ["mail"]},
        "per": "session",
        "window": "hour",
        "zone": "UTC",
    },
    "private": {
        "source": "label",
        "clause": "C1",
        "from": {"tool": ["get_user"], "args": [{"name": "user_id", "op": "equals", "value": "ada"}]},
    },
    "now": {"source": "clock", "zone": "Europe/Berlin"},
}
STATUSES, USERS, ITEMS = ["pending", "shipped", "gone"], ["ada", "bob"], ["lamp", "mug", "pen"]
TESTS: list[dict[str, Any]] = [
    *({"fact": "order/status", "op": op, "value": "pending"} for op in ("equals", "not_equals")),
    *({"fact": "order/status", "op": op, "value": ["pending", "shipped"]} for op in ("in", "not_in")),
    {"fact": "order/status", "op": "matches", "value": "[ps].*"},
    {"fact": "order/status", "op": "present", "value": True},
    {"fact": "order/user_id", "op": "equals", "value": {"caller": "/user"}},
    {"fact": "order/user_id", "op": "not_equals", "value": {"caller": "/user"}},
    {"fact": "owner/name", "op": "equals", "value": {"fact": "order/user_id"}},
    *(
        {"fact": "order/total", "op": op, "value": bound}
        for op in ("lt", "le", "gt")
        for bound in (50, 100.5)
    ),
    {"fact": "order/paid", "op": "equals", "value": True},
    {"fact": "order/paid", "op": "not_equals", "value": True},
    *({"fact": "order/items", "op": op, "value": "lamp"} for op in ("contains", "not_contains")),
    *({"fact": "order/placed", "op": op, "value": "1h"} for op in ("older_than", "younger_than")),
    {"fact": "order/placed", "op": "older_than", "value": "2d"},
    *({"fact": "spent", "op": op, "value": bound} for op in ("le", "gt") for bound in (100, 50)),
    {"fact": "mails", "op": "ge", "value": 3},
    {"fact": "mails", "op": "lt", "value": 2},
    {"fact": "private", "op": "equals", "value": True},
    {"fact": "private", "op": "equals", "value": False},
    {"fact": "now", "op": "within", "value": ["mon-fri 09:00-17:00"]},
    {"fact": "now", "op": "within", "value": ["sat", "sun", "fri 22:00-06:00"]},
]
OF_TOOL: dict[str, list[dict[str, Any]]] = {
    "cancel": [
        {"fact": "order/items", "op": "contains", "value": {"arg": "/item"}},
        {"fact": "order/items", "op": "not_contains", "value": {"arg": "/item"}},
    ],
    "pay": [
        {"fact": "owner/methods", "op": "contains", "value": {"arg": "/method"}},
        {"fact": "owner/methods", "op": "not_contains", "value": {"arg": "/method"}},
    ],
}


def annotated_tools() -> Annotations:
    """Return the annotations of the tools: none of them names a resource."""
    tools = [
        {
            "tool": name,
            "side_effects": not name.startswith("get_"),
            "reads": name.startswith("get_"),
            "input_schema": {
                "type": "object",
                "properties": properties,
                "required": REQUIRED.get(name, []),
                "additionalProperties": False,
            },
            "args": [{"name": argument, "roles": ["none"]} for argument in properties],
        }
        for name, properties in SCHEMA.items()
    ]
    return annotations_of({"shop": tools})


def random_rule(random: Random, name: str) -> dict[str, Any]:
    """Return a rule for one of the tools that change something, with up to three tests of facts."""
    tool = random.choice(["cancel", "pay", "mail"])
    pool = [*(test for test in TESTS if _fits(test, tool)), *OF_TOOL.get(tool, [])]
    condition: dict[str, Any] = {"server": ["shop"], "tool": [tool]}
    if random.random() < 0.85:
        condition["facts"] = random.sample(pool, random.randint(1, 3))
    if random.random() < 0.2:
        condition["caller"] = [{"name": "/user", "op": "equals", "value": random.choice(USERS)}]
    then = random.choice(["allow", "allow", "escalate", "deny"])
    return {"name": name, "clause": "C1", "reason": "so", "then": then, "if": condition}


def _fits(test: dict[str, Any], tool: str) -> bool:
    """Tell whether the facts of a test can be had for a tool: mail names no order."""
    return tool != "mail" or test["fact"].split("/")[0] not in ("order", "owner")


def random_policy(random: Random, most: int = 12) -> list[dict[str, Any]]:
    """Return the rules of a random policy; looking up is always allowed."""
    looking = {
        "name": "look",
        "clause": "C1",
        "reason": "so",
        "then": "allow",
        "if": {"server": ["shop"], "tool": ["get_order", "get_user"]},
    }
    return [looking, *(random_rule(random, f"r{number}") for number in range(random.randint(1, most)))]


def random_moment(random: Random) -> datetime:
    """Return a moment near one at which something changes: an hour, a day, an opening time, a weekend."""
    hours = random.choice([0, 1, 6, 7, 12, 13, 36, 60, 84, 100, 108, 115, 132])
    return AT + timedelta(hours=hours, minutes=random.choice([-31, -30, -1, 0, 1, 29, 30]))


def random_records(random: Random, at: datetime) -> dict[str, dict[str, Any]]:
    """Return what the look-ups of an order and of its owner answer."""
    user = random.choice(USERS)
    age = random.choice([0, 3599, 3600, 3601, 86400, 172800, 172801, 10**7])
    placed = (at - timedelta(seconds=age, microseconds=random.choice([0, 1]))).isoformat()
    order = {
        "status": random.choice(STATUSES),
        "user_id": user,
        "total": random.choice([0, 49.99, 50, 100, 100.5, 101]),
        "paid": random.random() < 0.5,
        "items": [{"item_id": one, "price": 1} for one in random.choices(ITEMS, k=random.randint(0, 3))],
        "created_at": placed,
    }
    owner = {
        "methods": random.sample(["card", "gift", "cash"], random.randint(0, 3)),
        "limit": random.choice([50, 100]),
        "name": random.choice(USERS),
    }
    return {"order": order, "owner": owner}


def random_arguments(random: Random, tool: str) -> dict[str, Any]:
    """Return random arguments of a tool."""
    values: dict[str, Any] = {
        "order_id": "W1",
        "user_id": random.choice(USERS),
        "item": random.choice(ITEMS),
        "amount": random.choice([0, 0.1, 10, 40, 49.9, 50, 60, 100.5]),
        "method": random.choice(["card", "gift", "cash"]),
        "subject": "Hi",
    }
    required = REQUIRED.get(tool, [])
    return {name: values[name] for name in SCHEMA[tool] if name in required or random.random() < 0.8}


def random_caller(random: Random) -> dict[str, Any]:
    """Return random caller facts."""
    return random.choice([{"user": "ada"}, {"user": "bob"}, {"user": 1}, {}])


def raw_fields(records: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the declared fields of records, by their names, as servers wrote them."""
    raw = {}
    if "order" in records:
        order = records["order"]
        named = {name: order[name] for name in ("status", "user_id", "total", "paid")}
        raw["order"] = {
            **named,
            "items": [item["item_id"] for item in order["items"]],
            "placed": order["created_at"],
        }
    if "owner" in records:
        raw["owner"] = dict(records["owner"])
    return raw


def bundle_of(rules: list[dict[str, Any]]) -> Bundle:
    """Return the bundle of rules over the declared facts."""
    document = {
        "format": "ironcurtain/policy/v1",
        "caller": CALLER,
        "clauses": [{"id": "C1", "text": "As said."}],
        "facts": FACTS,
        "rules": rules,
    }
    annotated = annotated_tools()
    return assemble(
        parse_document(json.dumps(document), "compiled-policy.json", CompiledPolicy),
        annotated,
        registry=Registry(annotated.roles),
        release=Release(engine_version="test"),
    )
