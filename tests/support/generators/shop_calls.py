"""Records of a shop, and calls about them: right ones, and those that differ from one by a single thing."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from support.oracles.shop_handbook import LOOKS_UP, Told

CUSTOMERS = ("ada", "blaise", "carl", "dora", "emmy", "felix", "grace", "hypatia")
STATUSES = ("pending", "delivered", "cancelled")
PRODUCTS = {
    "lamp": {"lamp-black": 3, "lamp-white": 1, "lamp-brass": 0, "lamp-green": 2},
    "mug": {"mug-blue": 9, "mug-red": 4, "mug-grey": 0},
    "chair": {"chair-oak": 1, "chair-ash": 5, "chair-pine": 0},
}
OTHER_OPTION = {"lamp-black": "lamp-white", "mug-blue": "mug-red", "chair-oak": "chair-ash"}
SOLD_OUT = {"lamp-black": "lamp-brass", "mug-blue": "mug-grey", "chair-oak": "chair-pine"}
BASKETS = (("lamp-black", "mug-blue"), ("chair-oak",), ("mug-blue", "chair-oak", "lamp-black"))
# Orders of two months, with the change to summer time between them, at all hours and on all days.
FIRST = datetime(2026, 2, 27, 6, 30, tzinfo=UTC)
BETWEEN = timedelta(hours=23, minutes=47)
AGES = (timedelta(hours=1), timedelta(hours=24), timedelta(hours=24, seconds=1), timedelta(days=9))
AMOUNTS = ((Decimal(0), 40), (Decimal(60), 40), (Decimal("60.01"), 40), (Decimal(0), 100.01))


def methods_of(customer: str) -> list[str]:
    """Return the methods of payment of a customer: two, and of every second one three."""
    kinds = ("card", "gift", "bank") if CUSTOMERS.index(customer) % 2 else ("card", "gift")
    return [f"{kind}-{customer}" for kind in kinds]


def fill(records: sqlite3.Connection) -> None:
    """Put the customers, products and orders in the place of those that are there."""
    for table in ("items", "orders", "methods", "customers", "variants", "products"):
        records.execute(f"DELETE FROM {table}")
    for product, variants in PRODUCTS.items():
        records.execute("INSERT INTO products VALUES (?, ?)", [product, product.title()])
        options = [(id_, product, id_.partition("-")[2], 4900, stock) for id_, stock in variants.items()]
        records.executemany("INSERT INTO variants VALUES (?, ?, ?, ?, ?)", options)
    for name in CUSTOMERS:
        records.execute("INSERT INTO customers VALUES (?, ?, '', 'Pays late.')", [name, name.title()])
        rows = [(method, name, method.partition("-")[0], 0) for method in methods_of(name)]
        records.executemany("INSERT INTO methods VALUES (?, ?, ?, ?)", rows)
    made = itertools.product(CUSTOMERS, STATUSES, BASKETS)
    for number, (name, status, basket) in enumerate(made):
        own = methods_of(name)
        placed = (FIRST + number * BETWEEN).isoformat().replace("+00:00", "Z")
        row = [f"W{number}", name, status, own[number % len(own)], placed]
        records.execute("INSERT INTO orders VALUES (?, ?, ?, ?, ?)", row)
        records.executemany("INSERT INTO items VALUES (?, ?)", [(f"W{number}", item) for item in basket])


def calls() -> Iterator[Told]:
    """Yield calls of every tool, about every order and customer, and what is wrong beside each."""
    for number, (name, status, basket) in enumerate(itertools.product(CUSTOMERS, STATUSES, BASKETS)):
        placed = FIRST + number * BETWEEN
        for told in _about(f"W{number}", name, basket, placed):
            yield told
            if status == ("pending" if told.tool == "cancel_order" else "delivered"):
                yield from _wrong(told)
    for name in CUSTOMERS:
        for notes in (False, True):
            mail = {"user_id": name, "subject": "Your order", "body": "It is on its way."}
            for caller in (name, _other(name), None):
                yield Told("send_mail", mail, caller, FIRST, notes=notes)
    for caller in (*CUSTOMERS, None):
        known = {"order_id": "W1", "product_id": "mug", "user_id": caller or "ada"}
        for tool, argument in LOOKS_UP.items():
            yield Told(tool, {argument: known[argument]}, caller, FIRST)


def _about(order: str, owner: str, basket: tuple[str, ...], placed: datetime) -> Iterator[Told]:
    """Yield what its owner may want of an order, were it of the right status."""
    for age in AGES:
        yield Told("cancel_order", {"order_id": order}, owner, placed + age)
    hour = timedelta(hours=3)
    for number, method in enumerate(methods_of(owner)):
        money: dict[str, Any] = {"order_id": order, "payment_method_id": method}
        at = placed + timedelta(days=5 + number) + number * hour
        for items in dict.fromkeys((basket[:1], basket)):
            yield Told("return_items", {**money, "item_ids": list(items)}, owner, at)
            wanted = [OTHER_OPTION[item] for item in items]
            exchange = {**money, "item_ids": list(items), "new_item_ids": wanted}
            yield Told("exchange_items", exchange, owner, at + len(items) * hour)
        spent, amount = AMOUNTS[(number + int(order[1:])) % len(AMOUNTS)]
        yield Told("refund", {**money, "amount": amount}, owner, at, spent=spent)


def _wrong(told: Told) -> Iterator[Told]:
    """Yield a right call with one thing changed: whom it is for, the method of payment, an item."""
    assert told.caller is not None
    other = _other(told.caller)
    yield replace(told, caller=other)
    yield replace(told, caller=None)
    if told.tool == "cancel_order":
        return
    for method in (methods_of(other)[0], "card-nobody"):
        yield replace(told, arguments={**told.arguments, "payment_method_id": method})
    if told.tool == "exchange_items" and told.arguments["payment_method_id"].startswith("card-"):
        old, new = told.arguments["item_ids"], told.arguments["new_item_ids"]
        changes: tuple[dict[str, list[str]], ...] = (
            {"new_item_ids": [SOLD_OUT[old[0]], *new[1:]]},
            {"new_item_ids": [*new[:-1], old[-1]]},  # no other option
            {
                "new_item_ids": [*new[:-1], "mug-red" if old[-1] != "mug-blue" else "chair-ash"]
            },  # no such lamp
            {"new_item_ids": [*new[:-1], "lamp-gold"]},  # there is none
            {"new_item_ids": [*new, new[0]]},
            {"new_item_ids": new[:-1]},
            {"item_ids": ["mug-red", *old[1:]], "new_item_ids": ["mug-blue", *new[1:]]},  # not in the order
            {"item_ids": [], "new_item_ids": []},
        )
        for changed in changes:
            yield replace(told, arguments={**told.arguments, **changed})


def _other(customer: str) -> str:
    return CUSTOMERS[(CUSTOMERS.index(customer) + 1) % len(CUSTOMERS)]
