"""Calls that name several things at once, at a real proxy: each is looked up, and all must be right."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mcp import Client
from support.deployments.proxied import Place, text_of, visit_all
from support.deployments.remembered import Shop
from support.generators import spaces_exchange
from support.projects.policies import rule

pytestmark = pytest.mark.timeout(600)

LOOK_UPS = rule("look-ups", "allow", tool=["get_order", "get_product", "get_customer"])
RULES = [LOOK_UPS, *spaces_exchange.RULES]


def _variant(item_id: str, price: float, *, available: bool = True) -> dict[str, Any]:
    return {"item_id": item_id, "price": price, "available": available}


RECORDS: dict[str, Any] = {
    "orders": {
        "o1": {
            "owner": "ann",
            "items": [
                {"item_id": "lamp-s", "product_id": "lamp", "price": 10},
                {"item_id": "mug-red", "product_id": "mug", "price": 4.5},
            ],
        },
        "o2": {"owner": "bob", "items": [{"item_id": "mug-red", "product_id": "mug", "price": 4.5}]},
    },
    "products": {
        "lamp": {"variants": [_variant("lamp-s", 10), _variant("lamp-l", 20)]},
        "mug": {
            "variants": [
                _variant("mug-red", 4.5),
                _variant("mug-blue", 4.75),
                _variant("mug-gold", 5, available=False),
            ]
        },
    },
    "customers": {
        "ann": {"methods": {"card": {"kind": "credit_card"}, "gift": {"kind": "gift_card", "balance": 10.25}}}
    },
    "answers": {},
}
OWN = {
    "order_id": "o1",
    "item_ids": ["lamp-s", "mug-red"],
    "new_item_ids": ["lamp-l", "mug-blue"],
    "method": "gift",
}


async def _right(client: Client, place: Place) -> None:
    answer = await client.call_tool("shop__exchange", OWN)
    assert not answer.is_error, text_of(answer)
    asked = [each["tool"] for each in place.sent()]
    assert asked == ["get_order", "get_customer", "get_product", "get_product", "exchange"]
    decided = place.decisions[-1]
    assert decided["facts"]["values"]["new/difference"] == 10.25
    assert decided["facts"]["values"]["old/product"] == ["lamp", "mug"]
    assert [each["tool"] for each in place.decisions if each.get("parent") == decided["id"]] == asked[:-1]


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "one-option-is-gone": ({"new_item_ids": ["lamp-l", "mug-gold"], "method": "card"}, "default-deny"),
    "one-is-of-another-product": ({"new_item_ids": ["lamp-l", "lamp-l"]}, "structural-fact-unavailable"),
    "products-change-places": ({"new_item_ids": ["mug-blue", "lamp-l"]}, "structural-fact-unavailable"),
    "one-stays-what-it-is": ({"new_item_ids": ["lamp-l", "mug-red"]}, "default-deny"),
    "one-that-was-not-bought": ({"item_ids": ["lamp-s", "mug-blue"]}, "structural-fact-unavailable"),
    "one-without-another": ({"new_item_ids": ["lamp-l"]}, "structural-fact-unavailable"),
    "no-item": ({"item_ids": [], "new_item_ids": []}, "structural-fact-unavailable"),
    "too-many-items": (
        {"item_ids": ["lamp-s"] * 17, "new_item_ids": ["lamp-l"] * 17},
        "structural-fact-unavailable",
    ),
    "a-gift-card-that-is-too-small": (
        {"item_ids": ["lamp-s", "lamp-s"], "new_item_ids": ["lamp-l", "lamp-l"]},
        "default-deny",
    ),
    "a-method-of-somebody-else": ({"method": "card-of-bob"}, "structural-fact-unavailable"),
    "an-order-of-somebody-else": (
        {"order_id": "o2", "item_ids": ["mug-red"], "new_item_ids": ["mug-blue"]},
        "structural-fact-unavailable",
    ),
}


@pytest.fixture(scope="module")
def visited(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Exception]:
    shop = Shop(tmp_path_factory.mktemp("lists").resolve(), RULES, spaces_exchange.FACTS)
    shop.records_file.write_text(json.dumps(RECORDS))

    async def refused(client: Client, place: Place, changed: dict[str, Any], by: str) -> None:
        answer = await client.call_tool("shop__exchange", {**OWN, **changed})
        assert answer.is_error
        assert place.decisions[-1]["rule"] == by, place.decisions[-1]
        assert len(shop.called("exchange")) == 1

    visits = {"a-right-one": _right}
    for name, (changed, by) in REFUSED.items():
        visits[name] = lambda client, place, changed=changed, by=by: refused(client, place, changed, by)  # type: ignore[misc]
    return visit_all(shop, visits, "--caller", json.dumps({"sub": "ann"}), up=["shop"])


@pytest.mark.parametrize("visit", ["a-right-one", *REFUSED])
def test_an_exchange_of_several_items(visit: str, visited: dict[str, Exception]) -> None:
    if visit in visited:
        raise visited[visit]
