"""The shop's records: SQLite, one file, made with a few customers and orders where there is none."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FILE = Path(os.environ.get("SHOP", Path(__file__).parent / "data" / "shop.sqlite"))

SCHEMA = """
CREATE TABLE customers (id TEXT PRIMARY KEY, name TEXT, email TEXT, note TEXT);
CREATE TABLE methods (id TEXT PRIMARY KEY, customer TEXT REFERENCES customers, kind TEXT, cents INTEGER);
CREATE TABLE products (id TEXT PRIMARY KEY, name TEXT);
CREATE TABLE variants (
  id TEXT PRIMARY KEY, product TEXT REFERENCES products, option TEXT, cents INTEGER, stock INTEGER);
CREATE TABLE orders (
  id TEXT PRIMARY KEY, customer TEXT REFERENCES customers, status TEXT, method TEXT REFERENCES methods,
  created_at TEXT);
CREATE TABLE items (placed TEXT REFERENCES orders, variant TEXT REFERENCES variants);
CREATE TABLE payments (placed TEXT REFERENCES orders, method TEXT REFERENCES methods, cents INTEGER);
CREATE TABLE mail (customer TEXT REFERENCES customers, subject TEXT, body TEXT);
INSERT INTO customers VALUES
  ('ada', 'Ada Lovelace', 'ada@example.com', 'Pays late. Her landlord rang.'),
  ('blaise', 'Blaise Pascal', 'blaise@example.org', 'Asked for a wheelchair ramp.');
INSERT INTO methods VALUES
  ('card-ada', 'ada', 'card', 0), ('gift-ada', 'ada', 'gift card', 2000),
  ('card-blaise', 'blaise', 'card', 0);
INSERT INTO products VALUES ('lamp', 'Desk lamp'), ('mug', 'Mug');
INSERT INTO variants VALUES
  ('lamp-black', 'lamp', 'black', 4900, 3), ('lamp-white', 'lamp', 'white', 5400, 1),
  ('lamp-brass', 'lamp', 'brass', 8900, 0), ('mug-blue', 'mug', 'blue', 1200, 9),
  ('mug-red', 'mug', 'red', 1200, 4);
INSERT INTO orders VALUES
  ('W1', 'ada', 'pending', 'card-ada', '2026-11-23T08:30:00Z'),
  ('W2', 'ada', 'delivered', 'card-ada', '2026-11-12T10:00:00Z'),
  ('W3', 'ada', 'cancelled', 'gift-ada', '2026-11-02T18:15:00Z'),
  ('W4', 'blaise', 'pending', 'card-blaise', '2026-11-22T20:05:00Z'),
  ('W5', 'ada', 'pending', 'card-ada', '2026-11-23T08:55:00Z');
INSERT INTO items VALUES
  ('W1', 'lamp-black'), ('W1', 'mug-blue'), ('W2', 'lamp-black'), ('W3', 'mug-red'), ('W4', 'mug-blue'),
  ('W5', 'mug-blue');
"""


class ShopError(Exception):
    """What was asked for does not exist or cannot be done."""


@contextmanager
def _opened() -> Iterator[sqlite3.Connection]:
    """Open the records for one transaction, and fill them first where they are empty."""
    FILE.parent.mkdir(exist_ok=True)
    connection = sqlite3.connect(FILE, timeout=10, isolation_level=None)
    connection.row_factory = sqlite3.Row
    try:
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            if not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
                for statement in SCHEMA.split(";"):
                    connection.execute(statement)
            yield connection
    finally:
        connection.close()


def _rows(query: str, *values: object) -> list[dict[str, Any]]:
    with _opened() as connection:
        return [dict(row) for row in connection.execute(query, values)]


def _one(query: str, key: str) -> dict[str, Any]:
    found = _rows(query, key)
    if not found:
        msg = f"nothing has the id {key}"
        raise ShopError(msg)
    return found[0]


def order(order_id: str) -> dict[str, Any]:
    """Return an order with its items; prices are in euros."""
    found = _one("SELECT * FROM orders WHERE id = ?", order_id)
    items = _rows(
        "SELECT v.id AS item_id, v.product AS product_id, v.cents FROM items JOIN variants v "
        "ON v.id = items.variant WHERE items.placed = ? ORDER BY items.rowid",
        order_id,
    )
    return {
        "order_id": order_id,
        "user_id": found["customer"],
        "status": found["status"],
        "created_at": found["created_at"],
        "payment_method_id": found["method"],
        "total": sum(item["cents"] for item in items) / 100,
        "items": [
            {"item_id": i["item_id"], "product_id": i["product_id"], "price": i["cents"] / 100} for i in items
        ],
    }


def user(user_id: str) -> dict[str, Any]:
    """Return a customer with the methods of payment; balances are in euros."""
    found = _one("SELECT id AS user_id, name, email FROM customers WHERE id = ?", user_id)
    methods = _rows("SELECT id, kind, cents FROM methods WHERE customer = ? ORDER BY id", user_id)
    told = [{"id": m["id"], "kind": m["kind"], "balance": m["cents"] / 100} for m in methods]
    return {**found, "payment_methods": told}


def product(product_id: str) -> dict[str, Any]:
    """Return a product with its variants; prices are in euros."""
    found = _one("SELECT id AS product_id, name FROM products WHERE id = ?", product_id)
    variants = _rows("SELECT * FROM variants WHERE product = ? ORDER BY id", product_id)
    told = [
        {"item_id": v["id"], "option": v["option"], "price": v["cents"] / 100, "available": v["stock"] > 0}
        for v in variants
    ]
    return {**found, "variants": told}


def notes(user_id: str) -> dict[str, Any]:
    """Return what colleagues noted about a customer."""
    return _one("SELECT note FROM customers WHERE id = ?", user_id)


def cancel(order_id: str) -> dict[str, Any]:
    """Cancel an order, whatever its status."""
    with _opened() as connection:
        connection.execute("UPDATE orders SET status = 'cancelled' WHERE id = ?", [order_id])
    return order(order_id)


def give_back(order_id: str, item_ids: list[str], payment_method_id: str) -> dict[str, Any]:
    """Take items back and pay for them, to whatever method of payment is given."""
    with _opened() as connection:
        for item in item_ids:
            _take_out(connection, order_id, item)
            price = connection.execute("SELECT cents FROM variants WHERE id = ?", [item]).fetchone()["cents"]
            _pay(connection, order_id, payment_method_id, price)
    return order(order_id)


def exchange(
    order_id: str, item_ids: list[str], new_item_ids: list[str], payment_method_id: str
) -> dict[str, Any]:
    """Put other items into an order and settle the difference, with whatever method is given."""
    with _opened() as connection:
        for item, new in zip(item_ids, new_item_ids, strict=True):
            _take_out(connection, order_id, item)
            connection.execute("INSERT INTO items VALUES (?, ?)", [order_id, new])
            prices = dict(
                connection.execute("SELECT id, cents FROM variants WHERE id IN (?, ?)", [item, new])
            )
            _pay(connection, order_id, payment_method_id, prices[item] - prices[new])
    return order(order_id)


def refund(order_id: str, amount: float, payment_method_id: str) -> dict[str, Any]:
    """Pay an amount of euros for an order, to whatever method of payment is given."""
    with _opened() as connection:
        _pay(connection, order_id, payment_method_id, round(amount * 100))
    return {"refunded": amount}


def send_mail(user_id: str, subject: str, body: str) -> dict[str, Any]:
    """Send a message to a customer; here it is only kept."""
    with _opened() as connection:
        connection.execute("INSERT INTO mail VALUES (?, ?, ?)", [user_id, subject, body])
    return {"sent": user_id}


def _take_out(connection: sqlite3.Connection, order_id: str, item: str) -> None:
    gone = connection.execute(
        "DELETE FROM items WHERE rowid = "
        "(SELECT rowid FROM items WHERE placed = ? AND variant = ? ORDER BY rowid LIMIT 1)",
        [order_id, item],
    )
    if gone.rowcount != 1:
        msg = f"order {order_id} has no item {item}"
        raise ShopError(msg)


def _pay(connection: sqlite3.Connection, order_id: str, method: str, cents: int) -> None:
    connection.execute("INSERT INTO payments VALUES (?, ?, ?)", [order_id, method, cents])
    connection.execute(
        "UPDATE methods SET cents = cents + ? WHERE id = ? AND kind = 'gift card'", [cents, method]
    )
