"""Records over lists of things: which declarations mean something, and of which type each value is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError
from support.generators.spaces_exchange import FACTS

from ironcurtain.model.facts import fact_types
from ironcurtain.model.policy import CompiledPolicy


def declared(**facts: dict[str, Any]) -> CompiledPolicy:
    document = {"format": "ironcurtain/policy/v1", "clauses": [], "facts": facts, "rules": []}
    return CompiledPolicy.model_validate_json(json.dumps(document))


def changed(record: str, field: str = "", **keys: Any) -> dict[str, Any]:
    """Return the declarations with one record, or one of its fields, changed."""
    fact = FACTS[record]
    if not field:
        return {**FACTS, record: {**fact, **keys}}
    fields = {**fact["fields"], field: {**fact["fields"].get(field, {}), **keys}}
    return {**FACTS, record: {**fact, "fields": fields}}


def without_each(record: str) -> dict[str, Any]:
    return {**FACTS, record: {key: value for key, value in FACTS[record].items() if key != "each"}}


def test_a_field_of_each_element_is_one_value_of_all() -> None:
    types = fact_types(declared(**FACTS).facts)
    assert types == {
        "order/owner": "string",
        "customer/methods": "strings",
        "customer/kind": "string",
        "customer/balance": "number",
        "old/product": "strings",
        "old/price": "number",
        "new/available": "boolean",
        "new/other": "boolean",
        "new/difference": "number",
    }


BAD = {
    "an element of no list": (without_each("old"), "which list"),
    "each of another list": (changed("new", each="/new_item_ids"), "each of another list"),
    "a record of its own by one of each": (
        changed("order", arguments={"order_id": {"fact": "old/product"}}),
        "each of another list",
    ),
    "several lists": (changed("old", each="/boxes/*/item_ids"), "several lists"),
    "a time of each": (changed("old", "bought", at="/at", type="instant"), "no one value"),
    "a choice without a list": (changed("old", "price", at="/price"), "no list"),
    "a choice in another list": (
        changed("old", "price", where={"/boxes/*/id": {"each": "/item_ids"}}),
        "nothing in the elements of '/items'",
    ),
    "numbers of a list": (changed("order", "prices", at="/items/*/price", type="number"), "several values"),
    "an equal text": (changed("old", "product", equals="p1"), "type boolean"),
    "two comparisons": (changed("new", "other", equals="p1"), "type boolean"),
    "a text less another": (changed("old", "product", minus="p1"), "type number"),
    "a reference that is none": (
        changed("old", "price", minus={"argument": "/x"}),
        "field 'price' is a const",
    ),
    "a list to be chosen by": (
        changed("old", "price", where={"/items/*/item_id": ["i1"]}),
        "field 'price' is a const",
    ),
    "a field of itself": (changed("new", "difference", minus={"fact": "new/price"}), "nothing declares"),
    "a default that is a list": (changed("customer", "balance", default=[0]), "default"),
}


@pytest.mark.parametrize(("facts", "words"), BAD.values(), ids=BAD)
def test_what_means_nothing_is_refused(facts: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        declared(**facts)
