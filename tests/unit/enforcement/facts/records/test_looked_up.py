"""Records that are looked up for each element: what each is asked, and what all come to together."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter
from support.generators.spaces_exchange import FACTS

from ironcurtain.enforcement.facts.records.answers import look_up_of
from ironcurtain.enforcement.facts.records.looked_up import LookedUp
from ironcurtain.enforcement.facts.records.references import Operands
from ironcurtain.enforcement.facts.unavailable import FactUnavailableError
from ironcurtain.model.records import RecordFact

OLD, NEW = (TypeAdapter(RecordFact).validate_python(FACTS[name]) for name in ("old", "new"))
ARGS: dict[str, Any] = {"order_id": "o1", "item_ids": ["i1", "i2"], "new_item_ids": ["j1", "j2"]}
FOUND: list[dict[str, Any]] = [{"product": "p1", "price": 0.1}, {"product": "p2", "price": 0.2}]
OFFERED: dict[str, Any] = {"available": True, "other": True, "difference": 1}


def looked_up(args: dict[str, Any] = ARGS, found: list[dict[str, Any]] = FOUND) -> LookedUp:
    records = LookedUp(Operands(args, {}, {}))
    records.needed("old", OLD)
    records.add("old", OLD, found)
    return records


def test_each_element_is_asked_for_with_what_belongs_to_it() -> None:
    needed = looked_up().needed("new", NEW)
    assert [look_up_of("new", NEW, each).arguments for each in needed] == [
        {"product_id": "p1"},
        {"product_id": "p2"},
    ]
    assert [each.value({"each": "/new_item_ids"}) for each in needed] == ["j1", "j2"]
    assert [each.value({"fact": "old/price"}) for each in needed] == [0.1, 0.2]


def test_numbers_are_added_up_exactly_and_texts_are_gathered() -> None:
    assert looked_up().values == {"old": {"product": ["p1", "p2"], "price": 0.3}}


def test_all_must_be_true() -> None:
    records = looked_up()
    records.add("new", NEW, [OFFERED, {**OFFERED, "available": False}])
    assert records.values["new"] == {"available": False, "other": True, "difference": 2}


@pytest.mark.parametrize("wrong", ["true", 1, None])
def test_one_value_of_another_type_is_none_of_all(wrong: Any) -> None:
    records = looked_up()
    records.add("new", NEW, [OFFERED, {**OFFERED, "available": wrong}])
    assert records.values["new"]["available"] is None


@pytest.mark.parametrize(
    "args",
    [
        {**ARGS, "item_ids": []},
        {**ARGS, "item_ids": ["i"] * 17},
        {**ARGS, "item_ids": "i1"},
        {**ARGS, "item_ids": None},
        {"order_id": "o1"},
    ],
)
def test_what_is_no_list_of_at_most_16_cannot_be_looked_up(args: dict[str, Any]) -> None:
    with pytest.raises(FactUnavailableError, match="no list of 1 to 16"):
        looked_up(args)


@pytest.mark.parametrize("beside", [["j1"], ["j1", "j2", "j3"], [], "j1", None])
def test_lists_of_other_lengths_do_not_belong_together(beside: object) -> None:
    records = looked_up({**ARGS, "new_item_ids": beside})
    with pytest.raises(FactUnavailableError, match="not of one length"):
        records.needed("new", NEW)


@pytest.mark.parametrize("price", ["5", True, None, 1e300, 2**53])
def test_what_cannot_be_added_up_is_no_sum(price: object) -> None:
    with pytest.raises(FactUnavailableError, match="old/price"):
        looked_up(found=[{"product": "p1", "price": 1}, {"product": "p2", "price": price}])
