"""Random policies over declared facts, and random calls with facts."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.decision.roles import Registry
from ironcurtain.model.policy import CompiledPolicy
from ironcurtain.model.scenarios import DescribedWorld
from support.projects.policies import CALLER, annotations_of

WORLD = DescribedWorld(home="/home/user", sandbox=None)
TEXT = {"type": "string"}
PAY = {
    "type": "object",
    "properties": {
        "order_id": TEXT,
        "amount": {"type": "number", "minimum": 0},
        "method": TEXT,
        "note": TEXT,
    },
    "required": ["order_id"],
}
READ = {"type": "object", "properties": {"id": TEXT}, "required": ["id"]}
SEND = {"type": "object", "properties": {"to": TEXT, "text": TEXT, "order_id": TEXT}, "required": ["to"]}


def _args(schema: dict[str, Any], **roles: str) -> list[dict[str, Any]]:
    return [{"name": name, "roles": [roles.get(name, "none")]} for name in schema["properties"]]


TOOLS: list[dict[str, Any]] = [
    {"tool": "pay", "side_effects": True, "input_schema": PAY, "args": _args(PAY)},
    {"tool": "send", "side_effects": True, "input_schema": SEND, "args": _args(SEND, to="recipient")},
    {"tool": "get_order", "side_effects": False, "reads": True, "input_schema": READ, "args": _args(READ)},
    {"tool": "get_user", "side_effects": False, "reads": True, "input_schema": READ, "args": _args(READ)},
]
DECLARED: dict[str, Any] = {
    "order": {
        "source": "record",
        "clause": "C1",
        "server": "shop",
        "tool": "get_order",
        "arguments": {"id": {"arg": "/order_id"}},
        "fields": {
            "status": {"at": "/status", "type": "string"},
            "user": {"at": "/user_id", "type": "string"},
            "items": {"at": "/items/*/id", "type": "strings"},
            "total": {"at": "/total", "type": "number"},
            "gift": {"at": "/gift", "type": "boolean"},
            "placed": {"at": "/placed_at", "type": "instant"},
        },
    },
    "owner": {
        "source": "record",
        "clause": "C1",
        "server": "shop",
        "tool": "get_user",
        "arguments": {"id": {"fact": "order/user"}},
        "fields": {
            "id": {"at": "/id", "type": "string"},
            "methods": {"at": "/methods/*/id", "type": "strings"},
        },
    },
    "paid": {
        "source": "counter",
        "clause": "C1",
        "of": {"tool": ["pay"]},
        "add": {"arg": "/amount"},
        "per": "caller",
        "window": "day",
    },
    "private": {"source": "label", "clause": "C1", "from": {"tool": ["get_user"]}},
    "named": {"source": "said", "clause": "C1", "args": ["/to", "/note"]},
    "now": {"source": "clock", "zone": "Europe/Berlin"},
}
STATUS = ["pending", "delivered", "cancelled"]
PEOPLE = ["ann", "bob"]
METHODS = ["card", "gift_1"]
HOURS = [["mon-fri 09:00-17:00"], ["sat", "sun 22:00-06:00"], ["22:00-06:00"]]
STRINGS = {"order/status": STATUS, "order/user": PEOPLE, "owner/id": PEOPLE}
SETS = {"order/items": ["i1", "i2"], "owner/methods": METHODS}


def random_test(random: Random, tool: str) -> dict[str, Any]:
    """Return a random test of a declared fact."""
    made = random.choice([_of_text, _of_set, _of_number, _of_flag, _of_time])
    fact, op, value = made(random, tool)
    return {"fact": fact, "op": op, "value": value}


def _of_text(random: Random, tool: str) -> tuple[str, str, Any]:
    fact = random.choice([*STRINGS])
    others: list[dict[str, str]] = [{"caller": "/sub"}]
    others += [{"fact": random.choice([f for f in STRINGS if f != fact])}]
    others += [{"arg": "/note"}] if tool == "pay" else []
    one = random.choice(STRINGS[fact])
    op, value = random.choice(
        [
            (random.choice(["equals", "not_equals"]), one),
            (random.choice(["equals", "not_equals"]), random.choice(others)),
            (random.choice(["in", "not_in"]), random.sample(STRINGS[fact], 2)),
            ("matches", "[a-p].*"),
        ]
    )
    return fact, op, value


def _of_set(random: Random, tool: str) -> tuple[str, str, Any]:
    fact = random.choice([*SETS])
    others: list[Any] = [random.choice(SETS[fact])]
    others += [{"arg": "/method"}] if tool == "pay" and fact == "owner/methods" else []
    return fact, random.choice(["contains", "not_contains"]), random.choice(others)


def _of_number(random: Random, tool: str) -> tuple[str, str, Any]:
    op = random.choice(["lt", "le", "gt", "ge", "equals", "not_equals"])
    fact = random.choice(["order/total", "paid"])
    return fact, op, random.choice([0, 50, 99.5, 100, _other_number(random, tool, fact)])


def _other_number(random: Random, tool: str, fact: str) -> Any:
    """Return another number to compare with, perhaps as it is made greater."""
    others: list[dict[str, Any]] = [{"caller": "/limit"}]
    others += [{"fact": "order/total"}] if fact == "paid" else []
    others += [{"arg": "/amount"}] if tool == "pay" else []
    scaled = random.choice([{}, {}, {"times": 2}, {"plus": -50}])
    return random.choice(
        [*({**other, **scaled} for other in others), {"fact": "order/items", "measure": "count"}]
    )


def _of_flag(random: Random, _: str) -> tuple[str, str, Any]:
    return random.choice(["order/gift", "private", "named"]), "equals", random.choice([True, False])


def _of_time(random: Random, _: str) -> tuple[str, str, Any]:
    if random.random() < 0.5:
        return "now", "within", random.choice(HOURS)
    return "order/placed", random.choice(["older_than", "younger_than"]), random.choice(["30m", "24h"])


def random_rule(random: Random, name: str) -> dict[str, Any]:
    tool = random.choice(["pay", "pay", "send"])
    condition: dict[str, Any] = {"tool": [tool]}
    condition["facts"] = [random_test(random, tool) for _ in range(random.choice([1, 1, 2]))]
    if random.random() < 0.4 and tool == "pay":
        condition["args"] = [
            random.choice(
                [
                    {"name": "amount", "op": random.choice(["le", "gt"]), "value": random.choice([50, 100])},
                    {"name": "method", "op": "equals", "value": random.choice(METHODS)},
                ]
            )
        ]
    if random.random() < 0.2:
        condition["caller"] = [{"name": "sub", "op": "equals", "value": random.choice(PEOPLE)}]
    then = random.choice(["allow", "allow", "deny", "escalate"])
    return {"name": name, "clause": "C1", "reason": f"It says {then}.", "then": then, "if": condition}


def random_policy(random: Random) -> list[dict[str, Any]]:
    return [random_rule(random, f"r{number}") for number in range(random.randint(2, 7))]


def bundle_of(rules: list[dict[str, Any]], declared: dict[str, Any] = DECLARED) -> Bundle:
    policy = {
        "format": "ironcurtain/policy/v1",
        "caller": CALLER,
        "clauses": [{"id": "C1", "text": "As said."}],
        "facts": declared,
        "rules": rules,
    }
    annotated = annotations_of({"shop": TOOLS})
    return assemble(
        CompiledPolicy.model_validate_json(json.dumps(policy)),
        annotated,
        registry=Registry(annotated.roles),
        release=Release(engine_version="test"),
    )


def random_arguments(random: Random, tool: str) -> dict[str, Any]:
    if tool == "send":
        ordered = random.choice([{}, {"order_id": "1"}])
        return {"to": random.choice(["ann@example.com", "bob@example.com"]), **ordered}
    if tool != "pay":
        return {"id": "1"}
    given: dict[str, Any] = {"order_id": "1"}
    pools: dict[str, list[Any]] = {
        "amount": [0, 1, 50, 50.5, 99.5, 100, 101],
        "method": [*METHODS, "cash", ""],
        "note": [*PEOPLE, *STATUS, ""],
    }
    given |= {name: random.choice(pool) for name, pool in pools.items() if random.random() < 0.7}
    return given


def random_facts(random: Random, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return random values of the facts as a decision sees them; some are not known."""
    amount = arguments.get("amount", 0)
    pools: dict[str, list[Any]] = {
        **{fact: [*values, "other", ""] for fact, values in STRINGS.items()},
        **{fact: [[], values[:1], values[1:], values, [*values, "zz"]] for fact, values in SETS.items()},
        "order/total": [-1, 0, 0.5, 50, 99.5, 100, 1000],
        "order/gift": [True, False],
        "order/placed": [-5, 0, 1799, 1800, 1801, 86399, 86400, 86401],
        "paid": [amount, amount + 0.5, amount + 50, amount + 200],
        "private": [True, False],
        "named": [True, False],
        "now": [0, 359, 360, 539, 540, 1019, 1020, 7199, 7200, 9959, 9960, 10079],
    }
    return {name: random.choice(pool) for name, pool in pools.items() if random.random() < 0.8}


def random_caller(random: Random) -> dict[str, Any]:
    known: dict[str, Any] = random.choice([{}, {"sub": "ann"}, {"sub": "bob"}, {"sub": "eve"}, {"sub": 7}])
    limits: list[dict[str, Any]] = [{}, {}, {"limit": 50}, {"limit": 100.5}, {"limit": "100"}]
    return {**known, **random.choice(limits)}
