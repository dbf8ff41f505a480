"""Exchanges of a shop, which name several items at once: the policy over records, and the sentence itself.

The sentence: each item of the customer's own order is exchanged for an available item of the same product but
of another option, paid with a method of the customer's own profile, whose balance covers the difference if it
is a gift card.
"""

from __future__ import annotations

import json
from fractions import Fraction
from random import Random
from typing import Any

from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.compiler.rules.checks.policy import check_policy
from ironcurtain.decision.roles import Registry
from ironcurtain.model.policy import CompiledPolicy
from support.projects.policies import CALLER, annotations_of

TEXT: dict[str, Any] = {"type": "string"}
TEXTS: dict[str, Any] = {"type": "array", "items": TEXT}
PROPERTIES: dict[str, dict[str, Any]] = {
    "exchange": {"order_id": TEXT, "item_ids": TEXTS, "new_item_ids": TEXTS, "method": TEXT},
    "get_order": {"order_id": TEXT},
    "get_product": {"product_id": TEXT},
    "get_customer": {"customer_id": TEXT},
}


def _record(tool: str, arguments: dict[str, Any], fields: dict[str, Any], **more: Any) -> dict[str, Any]:
    named = {"source": "record", "clause": "C1", "server": "shop", "tool": tool, "arguments": arguments}
    return {**named, "fields": fields, **more}


ORDER = {"order_id": {"arg": "/order_id"}}
OLD = {"/items/*/item_id": {"each": "/item_ids"}}
NEW = {"/variants/*/item_id": {"each": "/new_item_ids"}}
METHOD = {"/methods/*": {"arg": "/method"}}
FACTS: dict[str, Any] = {
    "order": _record("get_order", ORDER, {"owner": {"at": "/owner", "type": "string"}}),
    "customer": _record(
        "get_customer",
        {"customer_id": {"fact": "order/owner"}},
        {
            "methods": {"at": "/methods", "type": "keys"},
            "kind": {"at": "/methods/*/kind", "type": "string", "where": METHOD},
            "balance": {"at": "/methods/*/balance", "type": "number", "where": METHOD, "default": 0},
        },
    ),
    "old": _record(
        "get_order",
        ORDER,
        {
            "product": {"at": "/items/*/product_id", "type": "string", "where": OLD},
            "price": {"at": "/items/*/price", "type": "number", "where": OLD},
        },
        each="/item_ids",
    ),
    "new": _record(
        "get_product",
        {"product_id": {"fact": "old/product"}},
        {
            "available": {"at": "/variants/*/available", "type": "boolean", "where": NEW},
            "other": {
                "at": "/variants/*/item_id",
                "type": "boolean",
                "where": NEW,
                "not_equals": {"each": "/item_ids"},
            },
            "difference": {
                "at": "/variants/*/price",
                "type": "number",
                "where": NEW,
                "minus": {"fact": "old/price"},
            },
        },
        each="/item_ids",
    ),
}


def _rule(name: str, *tests: dict[str, Any]) -> dict[str, Any]:
    always = [
        {"fact": "order/owner", "op": "equals", "value": {"caller": "/sub"}},
        {"fact": "customer/methods", "op": "contains", "value": {"arg": "/method"}},
        {"fact": "new/available", "op": "equals", "value": True},
        {"fact": "new/other", "op": "equals", "value": True},
    ]
    condition = {"tool": ["exchange"], "facts": [*always, *tests]}
    return {"name": name, "clause": "C1", "reason": "As said.", "then": "allow", "if": condition}


RULES = [
    _rule("by-card", {"fact": "customer/kind", "op": "not_equals", "value": "gift_card"}),
    _rule(
        "by-gift-card",
        {"fact": "customer/kind", "op": "equals", "value": "gift_card"},
        {"fact": "customer/balance", "op": "ge", "value": {"fact": "new/difference"}},
    ),
]


def bundle() -> Bundle:
    """Return the policy's bundle, after the checks of a compile."""
    document = {
        "format": "ironcurtain/policy/v1",
        "clauses": [{"id": "C1", "text": "As said."}],
        "facts": FACTS,
        "caller": {"sub": CALLER["sub"]},
        "rules": RULES,
    }
    policy = CompiledPolicy.model_validate_json(json.dumps(document))
    annotated = annotations_of({"shop": [_tool(name) for name in PROPERTIES]})
    check_policy(policy, annotated, None, Registry(annotated.roles))
    return assemble(
        policy, annotated, registry=Registry(annotated.roles), release=Release(engine_version="test")
    )


def _tool(name: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": PROPERTIES[name], "required": [*PROPERTIES[name]]}
    is_read = name.startswith("get")
    args = [
        {"name": f"/{each}/*" if kind is TEXTS else each, "roles": ["none"]}
        for each, kind in PROPERTIES[name].items()
    ]
    return {"tool": name, "side_effects": not is_read, "reads": is_read, "input_schema": schema, "args": args}


class Records:
    """A random shop: its orders, products and customers."""

    def __init__(self, random: Random) -> None:
        products = {f"p{number}": _product(random, number) for number in range(3)}
        items = [(product, item) for product, each in products.items() for item in each["variants"]]
        self.of: dict[str, dict[str, Any]] = {"get_product": products, "get_order": {}, "get_customer": {}}
        for who in ("ann", "bob"):
            methods: dict[str, dict[str, Any]] = {
                "card": {"kind": "credit_card"},
                "gift": {"kind": "gift_card"},
            }
            methods["gift"]["balance"] = random.choice([0, 5, 9.99, 10, 20.5, 100])
            self.of["get_customer"][who] = {
                "methods": dict(random.sample([*methods.items()], 2 - (who == "bob")))
            }
        for number in range(4):
            chosen = random.sample(items, random.randint(1, 4))
            bought = [
                {**item, "product_id": product, "price": random.choice([5, 10, 10.01])}
                for product, item in chosen
            ]
            self.of["get_order"][f"o{number}"] = {"owner": random.choice(["ann", "bob"]), "items": bought}

    def answer(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return what a look-up answers."""
        (key,) = arguments.values()
        found = self.of[tool].get(key)
        return {"isError": True} if found is None else {"structuredContent": found}

    def random_arguments(self, random: Random) -> dict[str, Any]:
        """Return a random exchange, often a right one."""
        order_id = random.choice([*self.of["get_order"], *self.of["get_order"], "o9"])
        items = self.of["get_order"].get(order_id, {"items": [{"item_id": "i", "product_id": "p0"}]})["items"]
        old = random.choices(items, k=random.randint(1, 3))
        new = [
            random.choice(self.of["get_product"][each["product_id"]]["variants"])["item_id"] for each in old
        ]
        if random.random() < 0.2:
            new[-1] = random.choice(["p0-i0", "p1-i1", "nothing"])
        return {
            "order_id": order_id,
            "item_ids": [each["item_id"] for each in old] if random.random() < 0.95 else [],
            "new_item_ids": new[: random.choice([3, 3, 3, 3, 1])],
            "method": random.choice(["card", "gift", "gift", "cash"]),
        }

    def is_right(self, call: dict[str, Any], who: str | None) -> bool:
        """Tell whether an exchange is what the sentence asks for: plain Python over the shop itself."""
        order = self.of["get_order"].get(call["order_id"])
        if order is None or order["owner"] != who or len(call["item_ids"]) != len(call["new_item_ids"]):
            return False
        methods = self.of["get_customer"][order["owner"]]["methods"]
        if call["method"] not in methods or not call["item_ids"]:
            return False
        difference = Fraction(0)
        for old_id, new_id in zip(call["item_ids"], call["new_item_ids"], strict=True):
            bought = [item for item in order["items"] if item["item_id"] == old_id]
            if len(bought) != 1:
                return False
            variants = self.of["get_product"][bought[0]["product_id"]]["variants"]
            offered = [variant for variant in variants if variant["item_id"] == new_id]
            if not offered or not offered[0]["available"] or new_id == old_id:
                return False
            difference += Fraction(str(offered[0]["price"])) - Fraction(str(bought[0]["price"]))
        method = methods[call["method"]]
        return method["kind"] != "gift_card" or Fraction(str(method["balance"])) >= difference


def _product(random: Random, number: int) -> dict[str, Any]:
    return {
        "variants": [
            {
                "item_id": f"p{number}-i{each}",
                "available": random.random() < 0.8,
                "price": random.choice([5, 9.99, 10, 14.99, 20]),
            }
            for each in range(3)
        ]
    }
