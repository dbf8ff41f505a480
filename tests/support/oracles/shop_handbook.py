"""What the shop's constitution says of a call, in plain Python over the records themselves.

It reads the database and none of the product: no rule, no look-up, no fact.
"""

from __future__ import annotations

import sqlite3
import zoneinfo
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
BUDGET = Decimal(100)
LOOKS_UP = {
    "get_order_details": "order_id",
    "get_user_details": "user_id",
    "get_product_details": "product_id",
    "read_notes": "user_id",
}
"""The tools that change nothing, with what each is asked about."""


@dataclass(frozen=True)
class Told:
    """A call, and what else decides about it.

    Attributes:
        caller: Whom the agent acts for; None where nobody knows.
        spent: Euros that were refunded before, on the same day.
        notes: Whether the session has read what colleagues noted.
    """

    tool: str
    arguments: dict[str, Any]
    caller: str | None
    at: datetime
    spent: Decimal = Decimal(0)
    notes: bool = False


class Handbook:
    """The constitution over the records of a database, which do not change meanwhile."""

    def __init__(self, file: Path) -> None:
        connection = sqlite3.connect(file)
        self._orders = {row[0]: row[1:] for row in connection.execute("SELECT * FROM orders")}
        self._items = list(connection.execute("SELECT placed, variant FROM items"))
        self._methods = dict(connection.execute("SELECT id, customer FROM methods"))
        self._variants = {
            id_: (product, stock)
            for id_, product, stock in connection.execute("SELECT id, product, stock FROM variants")
        }
        connection.close()

    def verdict(self, told: Told) -> str:
        """Say `allow`, `escalate` or `deny`."""
        if told.tool in LOOKS_UP:
            return "allow"
        if told.tool == "send_mail":
            if told.arguments["user_id"] != told.caller:
                return "deny"
            return "escalate" if told.notes else "allow"
        customer, status, paid_with, placed = self._orders[told.arguments["order_id"]]
        if customer != told.caller:
            return "deny"
        if told.tool == "cancel_order":
            is_old = told.at - datetime.fromisoformat(placed) > timedelta(hours=24)
            return "deny" if status != "pending" else "escalate" if is_old else "allow"
        method = told.arguments["payment_method_id"]
        if status != "delivered" or self._methods.get(method) != told.caller:
            return "deny"
        if told.tool == "return_items":
            return "allow" if method == paid_with else "escalate"
        if told.tool == "refund":
            amount = Decimal(str(told.arguments["amount"]))
            return "escalate" if told.spent + amount > BUDGET else "allow"
        if not self._is_exchange(**told.arguments):
            return "deny"
        there = told.at.astimezone(BERLIN)
        return "allow" if there.weekday() < 5 and 9 <= there.hour < 17 else "escalate"

    def _is_exchange(self, order_id: str, item_ids: list[str], new_item_ids: list[str], **_: str) -> bool:
        """Tell whether each item of an order becomes another option of its product that is in stock."""
        return 0 < len(item_ids) == len(new_item_ids) and all(
            (order_id, old) in self._items
            and new != old
            and new in self._variants
            and self._variants[new][0] == self._variants[old][0]
            and self._variants[new][1] > 0
            for old, new in zip(item_ids, new_item_ids, strict=True)
        )
