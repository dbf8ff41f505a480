"""The shop's policy over its real records: it refuses every call that breaks the handbook, and no right one.

What is right is said once more in `support.oracles.shop_handbook`, after the constitution and over the
database itself. Facts are gathered from what the shop's own server answers, as a proxy gathers them; most of
the wrong calls differ from a right one by a single thing.
"""

from __future__ import annotations

import importlib.util
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import pytest
from support.documentation.transcript import ROOT
from support.generators.shop_calls import CUSTOMERS, calls, fill, methods_of
from support.oracles.shop_handbook import LOOKS_UP, Handbook, Told

from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.decide import Call, Prepared, prepare
from ironcurtain.enforcement.audit.record_types import Booked
from ironcurtain.enforcement.facts.facts_of_tool import ConcernedTools
from ironcurtain.enforcement.facts.gather import FactSources, gather
from ironcurtain.enforcement.facts.memory import SessionMemory
from ironcurtain.enforcement.facts.records.answers import LookUp, LookUpError
from ironcurtain.enforcement.facts.totals.store import TotalKey, TotalsStore
from ironcurtain.enforcement.facts.unavailable import FactUnavailableError
from ironcurtain.policy import Policy
from ironcurtain.system.structs import replace

SHOP = ROOT / "examples" / "shop"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """Return the example's own program, over the records of `support.generators.shop_calls`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHOP", str(tmp_path_factory.mktemp("shop") / "shop.sqlite"))
        spec = importlib.util.spec_from_file_location("shop_records", SHOP / "shop.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.product("lamp")  # makes the tables
        with module._opened() as records:
            fill(records)
        yield module


class Spent(TotalsStore):
    """The totals of a caller who has spent an amount."""

    def __init__(self, spent: Decimal) -> None:
        self._spent = spent

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

    async def calls(self, told: Iterable[Told]) -> list[Call | None]:
        """Return calls with their facts; None for one that cannot have them, so that it is refused."""
        return [await self._call(each) for each in told]

    async def _call(self, told: Told) -> Call | None:
        made = Call("shop", told.tool, told.arguments, {"sub": told.caller} if told.caller else {})
        prepared = prepare(made, self._policy)
        assert isinstance(prepared, Prepared)
        concerned = self._tools.of("shop", self._policy.annotation("shop", told.tool))
        if concerned is None:
            assert told.tool in LOOKS_UP
            return made
        memory = SessionMemory([Booked(fact="private")] if told.notes else [])
        sources = FactSources(memory, Spent(told.spent), now=lambda: told.at)
        try:
            return replace(made, facts=(await gather(concerned, prepared, sources, self._ask)).facts)
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
    handbook, told = Handbook(shop.FILE), list(calls())
    with Policy.load(SHOP / "generated" / "bundle", sandbox=tmp_path) as policy:
        gathering = Gathering(shop, policy)
        asked = anyio.run(gathering.calls, told)
        decided = iter(policy.decide_many([each for each in asked if each is not None]))
        verdicts = ["deny" if each is None else str(next(decided).verdict.value) for each in asked]
    said = [handbook.verdict(each) for each in told]
    wrong = [
        (each, is_, ought) for each, is_, ought in zip(told, verdicts, said, strict=True) if is_ != ought
    ]
    assert wrong == []
    assert Counter(said) == {"deny": 2296, "escalate": 221, "allow": 187}


def test_the_calls_are_many_and_differ(shop: ModuleType) -> None:
    handbook = Handbook(shop.FILE)
    told = {repr(each): each for each in calls()}
    assert len(told) == len(list(calls()))
    right = [each for each in told.values() if handbook.verdict(each) != "deny"]
    acting = [each for each in right if each.tool not in LOOKS_UP]
    assert len(acting) >= 300
    assert len(told) - len(right) >= 900
    listed = json.loads((SHOP / "generated" / "tools" / "shop.json").read_text())["tools"]
    assert {each.tool for each in right} == {each["name"] for each in listed}
    assert {each.caller for each in acting} == set(CUSTOMERS)
    paid = {each.arguments.get("payment_method_id") for each in acting}
    assert paid == {None, *(method for name in CUSTOMERS for method in methods_of(name))}
    orders = {each.arguments.get("order_id") for each in acting}
    assert len(orders - {None}) == 2 * len(CUSTOMERS) * 3
    assert len({each.at.date() for each in acting}) >= 40
