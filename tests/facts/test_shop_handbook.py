"""The shop's policy over its real records: it refuses every call that breaks the handbook, and no right one.

What is right is said here once more, in plain Python after the constitution. Records are those that the
shop's own server answers with, read as a proxy reads them; calls differ from right ones by as little as one
thing.
"""

from __future__ import annotations

import importlib.util
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support.documentation.transcript import ROOT

from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.decide import Call
from ironcurtain.enforcement.facts.records.answers import fields_of, look_up_of
from ironcurtain.enforcement.facts.records.references import Operands
from ironcurtain.model.records import RecordFact
from ironcurtain.policy import Policy

SHOP = ROOT / "examples" / "shop"
CUSTOMERS = ("ada", "blaise", "carl", "dora")
STATUSES = ("pending", "delivered", "cancelled")
OPEN = datetime(2026, 11, 24, 9, 0, tzinfo=UTC)  # Tuesday, ten o'clock in Berlin
CLOSED = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)  # Sunday
AGES = (timedelta(hours=24), timedelta(hours=24, seconds=1))
MONEY_TOOLS = ("return_items", "exchange_items", "refund")


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
    at: datetime = OPEN
    spent: float = 0
    notes: bool = False


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """Return the example's records, with an order of each status and age for each of four customers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHOP", str(tmp_path_factory.mktemp("shop") / "shop.sqlite"))
        spec = importlib.util.spec_from_file_location("shop_records", SHOP / "shop.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.product("lamp")  # makes the tables
        with module._opened() as records:
            for table in ("items", "orders", "methods", "customers"):
                records.execute(f"DELETE FROM {table}")
            for name in CUSTOMERS:
                records.execute("INSERT INTO customers VALUES (?, ?, '', '')", [name, name.title()])
                for kind in ("card", "gift"):
                    records.execute("INSERT INTO methods VALUES (?, ?, ?, 0)", [f"{kind}-{name}", name, kind])
                for status in STATUSES:
                    for age in AGES:
                        id_ = f"{name}-{status}-{age.seconds}"
                        placed = (OPEN - age).isoformat().replace("+00:00", "Z")
                        row = [id_, name, status, f"card-{name}", placed]
                        records.execute("INSERT INTO orders VALUES (?, ?, ?, ?, ?)", row)
        yield module


def handbook(shop: ModuleType, told: Told) -> str:
    """Say what the constitution says of a call: `allow`, `escalate` or `deny`."""
    if told.tool == "send_mail":
        if told.arguments["user_id"] != told.caller:
            return "deny"
        return "escalate" if told.notes else "allow"
    order = shop.order(told.arguments["order_id"])
    if order["user_id"] != told.caller:
        return "deny"
    if told.tool == "cancel_order":
        is_old = told.at - datetime.fromisoformat(order["created_at"]) > timedelta(hours=24)
        return "deny" if order["status"] != "pending" else "escalate" if is_old else "allow"
    method = told.arguments["payment_method_id"]
    if order["status"] != "delivered" or method not in (f"card-{told.caller}", f"gift-{told.caller}"):
        return "deny"
    is_asked = {
        "return_items": method != order["payment_method_id"],
        "exchange_items": told.at == CLOSED,
        "refund": told.spent + told.arguments.get("amount", 0) > 100,
    }
    return "escalate" if is_asked[told.tool] else "allow"


def calls(shop: ModuleType) -> Iterator[Told]:
    """Yield calls about every order: for its customer, another one and nobody, paid in five ways."""
    items = {"item_ids": ["lamp-black"]}
    for id_ in [row["id"] for row in shop._rows("SELECT id FROM orders ORDER BY id")]:
        owner, other = id_.partition("-")[0], "blaise" if id_.startswith("ada") else "ada"
        methods = (f"card-{owner}", f"gift-{owner}", f"card-{other}", f"gift-{other}", "card-nobody")
        for caller in (owner, other, None):
            yield Told("cancel_order", {"order_id": id_}, caller)
            for number, method in enumerate(methods):
                money = {"order_id": id_, "payment_method_id": method}
                when = CLOSED if number % 2 else OPEN
                yield Told("return_items", {**money, **items}, caller)
                exchange = {**money, **items, "new_item_ids": ["lamp-white"]}
                yield Told("exchange_items", exchange, caller, at=when)
                yield Told("refund", {**money, "amount": 40}, caller, spent=60 + number * 0.01)
    for to in CUSTOMERS:
        for caller in (*CUSTOMERS, None):
            for notes in (False, True):
                mail = {"user_id": to, "subject": "Your order", "body": "It is on its way."}
                yield Told("send_mail", mail, caller, notes=notes)


def found(shop: ModuleType, policy: Policy, told: Told) -> dict[str, Any]:
    """Return the facts of a call, its records as the shop's server answers and a proxy reads them."""
    stated: dict[str, Any] = {"private": told.notes}
    stated["refunded"] = told.spent + told.arguments.get("amount", 0)
    if "order_id" in told.arguments:
        caller = {"sub": told.caller} if told.caller is not None else {}
        answers = {"order": shop.order, "customer": shop.user}
        for name, answered in answers.items():
            fact = PolicyContent.of(policy.bundle).facts[name]
            assert isinstance(fact, RecordFact)
            operands = Operands(told.arguments, caller, stated)
            asked = look_up_of(name, fact, operands)
            answer = {"structuredContent": answered(**asked.arguments)}
            stated[name] = fields_of(name, fact, asked, answer, operands)
    return policy.known_facts(stated, told.at.isoformat())


def test_every_call_that_breaks_the_handbook_is_refused_and_no_right_one(
    shop: ModuleType, tmp_path: Path
) -> None:
    told = list(calls(shop))
    with Policy.load(SHOP / "generated" / "bundle", sandbox=tmp_path) as policy:
        asked = [
            Call(
                "shop",
                each.tool,
                each.arguments,
                {"sub": each.caller} if each.caller is not None else {},
                facts=found(shop, policy, each),
            )
            for each in told
        ]
        decided = [str(decision.verdict.value) for decision in policy.decide_many(asked)]
    said = [handbook(shop, each) for each in told]
    wrong = [(each, is_, ought) for each, is_, ought in zip(told, decided, said, strict=True) if is_ != ought]
    assert wrong == []
    assert Counter(said) == {"deny": 1128, "escalate": 32, "allow": 32}
