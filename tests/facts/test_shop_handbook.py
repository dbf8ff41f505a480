"""The shop's policy over its real records: it refuses every call that breaks the handbook, and no right one.

What is right is said here once more, in plain Python after the constitution and over the database itself.
Facts are gathered from what the shop's own server answers, as a proxy gathers them; calls differ from right
ones by as little as one thing.
"""

from __future__ import annotations

import importlib.util
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import pytest
from support.documentation.transcript import ROOT

from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.decide import Call, Prepared, prepare
from ironcurtain.enforcement.audit.record_types import Booked
from ironcurtain.enforcement.facts.facts_of_tool import ConcernedTools
from ironcurtain.enforcement.facts.gather import Sources, gather
from ironcurtain.enforcement.facts.memory import SessionMemory
from ironcurtain.enforcement.facts.records.answers import LookUp, LookUpError
from ironcurtain.enforcement.facts.totals.store import TotalKey, TotalsStore
from ironcurtain.enforcement.facts.unavailable import FactUnavailableError
from ironcurtain.policy import Policy

SHOP = ROOT / "examples" / "shop"
CUSTOMERS = ("ada", "blaise", "carl", "dora")
STATUSES = ("pending", "delivered", "cancelled")
OPEN = datetime(2026, 11, 24, 9, 0, tzinfo=UTC)  # Tuesday, ten o'clock in Berlin
CLOSED = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)  # Sunday
AGES = (timedelta(hours=24), timedelta(hours=24, seconds=1))
BOUGHT = ("lamp-black", "mug-blue")
EXCHANGES: tuple[tuple[list[str], list[str]], ...] = (
    (["lamp-black"], ["lamp-white"]),
    (["lamp-black", "mug-blue"], ["lamp-white", "mug-red"]),
    (["lamp-black"], ["lamp-brass"]),  # out of stock
    (["lamp-black"], ["mug-red"]),  # another product
    (["lamp-black"], ["lamp-black"]),  # no other option
    (["lamp-black"], ["lamp-green"]),  # there is none
    (["mug-red"], ["mug-blue"]),  # not in the order
    (["lamp-black", "mug-blue"], ["lamp-white", "mug-blue"]),
    (["lamp-black", "mug-blue"], ["mug-red", "lamp-white"]),  # each another product
    (["lamp-black", "mug-blue"], ["lamp-white"]),
    (["lamp-black"], ["lamp-white", "mug-red"]),
    ([], []),
)


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
                        records.executemany(
                            "INSERT INTO items VALUES (?, ?)", [(id_, item) for item in BOUGHT]
                        )
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
    if told.tool == "exchange_items" and not is_exchange(shop, **told.arguments):
        return "deny"
    method = told.arguments["payment_method_id"]
    if order["status"] != "delivered" or method not in (f"card-{told.caller}", f"gift-{told.caller}"):
        return "deny"
    is_asked = {
        "return_items": method != order["payment_method_id"],
        "exchange_items": told.at == CLOSED,
        "refund": told.spent + told.arguments.get("amount", 0) > 100,
    }
    return "escalate" if is_asked[told.tool] else "allow"


def is_exchange(
    shop: ModuleType, order_id: str, item_ids: list[str], new_item_ids: list[str], **_: str
) -> bool:
    """Tell whether each item of an order becomes another option of its product that is in stock."""
    bought = [row["variant"] for row in shop._rows("SELECT variant FROM items WHERE placed = ?", order_id)]
    variants = {row["id"]: row for row in shop._rows("SELECT * FROM variants")}
    return (
        0 < len(item_ids) == len(new_item_ids)
        and all(item in bought for item in item_ids)
        and all(
            new != item
            and new in variants
            and variants[new]["product"] == variants[item]["product"]
            and variants[new]["stock"] > 0
            for item, new in zip(item_ids, new_item_ids, strict=True)
        )
    )


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
                wanted = EXCHANGES if (caller, method) == (owner, methods[0]) else EXCHANGES[:1]
                for old, new in wanted:
                    exchange = {**money, "item_ids": old, "new_item_ids": new}
                    yield Told("exchange_items", exchange, caller, at=when)
                yield Told("refund", {**money, "amount": 40}, caller, spent=60 + number * 0.01)
    for to in CUSTOMERS:
        for caller in (*CUSTOMERS, None):
            for notes in (False, True):
                mail = {"user_id": to, "subject": "Your order", "body": "It is on its way."}
                yield Told("send_mail", mail, caller, notes=notes)


class Spent(TotalsStore):
    """The totals of a caller who has spent an amount."""

    def __init__(self, spent: float) -> None:
        self._spent = Decimal(repr(spent))

    def totals(self, keys: Collection[TotalKey]) -> dict[TotalKey, Decimal]:
        return dict.fromkeys(keys, self._spent)

    def book(self, seen: Mapping[TotalKey, Decimal], added: Mapping[TotalKey, Decimal]) -> bool:
        raise NotImplementedError


class Gathering:
    """What gathers the facts of calls, as a proxy does before it decides them."""

    def __init__(self, shop: ModuleType, policy: Policy) -> None:
        self._policy = policy.loaded
        self._tools = ConcernedTools(PolicyContent.of(policy.bundle))
        self._look_ups = {
            "get_order_details": shop.order,
            "get_user_details": shop.user,
            "get_product_details": shop.product,
        }

    def call(self, told: Told) -> Call | None:
        """Return a call with its facts; None where one cannot be had, so that it is refused."""
        made = Call("shop", told.tool, told.arguments, {"sub": told.caller} if told.caller else {})
        prepared = prepare(made, self._policy)
        assert isinstance(prepared, Prepared)
        concerned = self._tools.of("shop", self._policy.annotation("shop", told.tool))
        assert concerned is not None
        memory = SessionMemory([Booked(fact="private")] if told.notes else [])
        sources = Sources(memory, Spent(told.spent), now=lambda: told.at)
        try:
            return replace(made, facts=anyio.run(gather, concerned, prepared, sources, self._ask).facts)
        except FactUnavailableError:
            return None

    async def _ask(self, asked: LookUp) -> dict[str, Any]:
        try:
            return {"structuredContent": self._look_ups[asked.tool](**asked.arguments)}
        except Exception as error:
            raise LookUpError(str(error)) from error


def test_every_call_that_breaks_the_handbook_is_refused_and_no_right_one(
    shop: ModuleType, tmp_path: Path
) -> None:
    told = list(calls(shop))
    with Policy.load(SHOP / "generated" / "bundle", sandbox=tmp_path) as policy:
        gathering = Gathering(shop, policy)
        asked = [gathering.call(each) for each in told]
        decided = iter(policy.decide_many([each for each in asked if each is not None]))
        verdicts = ["deny" if each is None else str(next(decided).verdict.value) for each in asked]
    said = [handbook(shop, each) for each in told]
    wrong = [
        (each, is_, ought) for each, is_, ought in zip(told, verdicts, said, strict=True) if is_ != ought
    ]
    assert wrong == []
    assert Counter(said) == {"deny": 1384, "escalate": 32, "allow": 40}
