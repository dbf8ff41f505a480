"""One field of an answer: the element that is meant, the names of an object, a difference, a comparison."""

from __future__ import annotations

from typing import Any

import pytest

from ironcurtain.enforcement.facts.records.fields import field_of
from ironcurtain.enforcement.facts.records.references import Operands
from ironcurtain.enforcement.facts.unavailable import FactUnavailableError
from ironcurtain.model.records import RecordField

OPERANDS = Operands({"method": "gift", "ids": ["i2", "i9"], "limit": 5}, {}, {"old": {"price": 0.1}}, 0)
RECORD: dict[str, Any] = {
    "methods": {"card": {"kind": "credit"}, "gift": {"kind": "gift", "balance": 10, "tags": ["a", "b"]}},
    "items": [{"id": "i1", "price": 1}, {"id": "i2", "price": 0.3}, {"id": "i3"}, {"id": "i3"}],
}
METHOD: dict[str, Any] = {"/methods/*": {"arg": "/method"}}
ITEM: dict[str, Any] = {"/items/*/id": {"each": "/ids"}}


def field(at: str, type_: str, **keys: Any) -> Any:
    declared = RecordField.model_validate({"at": at, "type": type_, **keys})
    return field_of("r/f", declared, RECORD, OPERANDS)


def test_a_field_is_of_the_element_that_is_meant() -> None:
    assert field("/items/*/price", "number", where=ITEM) == 0.3
    assert field("/methods/*/balance", "number", where=METHOD) == 10
    assert field("/methods/*/tags", "strings", where=METHOD) == ["a", "b"]
    assert field("/methods/*/kind", "string", where={**METHOD, "/methods/*/balance": 10}) == "gift"


def test_the_names_of_an_object_are_a_set() -> None:
    assert field("/methods", "keys") == ["card", "gift"]
    assert field("/items", "keys") is None


def test_a_difference_is_exact_and_a_comparison_is_true_or_false() -> None:
    assert field("/items/*/price", "number", where=ITEM, minus={"fact": "old/price"}) == 0.2
    assert field("/items/*/price", "number", where=ITEM, minus=5) == -4.7
    assert field("/items/*/id", "boolean", where=ITEM, equals={"each": "/ids"}) is True
    assert field("/items/*/id", "boolean", where=ITEM, not_equals="i2") is False
    assert field("/methods/*/balance", "boolean", where=METHOD, equals="10") is False


def test_a_default_stands_for_what_is_missing_and_for_nothing_else() -> None:
    card = {"/methods/*": "card"}
    assert field("/methods/*/balance", "number", where=card, default=0) == 0
    assert field("/methods/*/balance", "number", where=METHOD, default=0) == 10
    with pytest.raises(FactUnavailableError, match="nothing in its list"):
        field("/methods/*/balance", "number", where={"/methods/*": "cash"}, default=0)


@pytest.mark.parametrize(
    ("at", "where", "words"),
    [
        ("/items/*/price", {"/items/*/id": "i9"}, "nothing in its list"),
        ("/items/*/price", {"/items/*/id": "i3"}, "several"),
        ("/items/*/price", {"/items/*/id": 1}, "nothing in its list"),
        ("/things/*/price", {"/things/*/id": "i1"}, "nothing in its list"),
        ("/methods/*/balance", {"/methods/*": "card"}, "it is missing"),
        ("/items/*/price", {"/items/*/id": {"arg": "/item"}}, "compared with is missing"),
        ("/items/*/price", {"/items/*/id": {"fact": "old/id"}}, "compared with is missing"),
    ],
)
def test_what_is_not_one_value_is_none(at: str, where: dict[str, Any], words: str) -> None:
    with pytest.raises(FactUnavailableError, match=words):
        field(at, "number", where=where)


@pytest.mark.parametrize("minus", ["5", True, {"arg": "/method"}])
def test_what_is_no_number_is_not_taken_away(minus: Any) -> None:
    with pytest.raises(FactUnavailableError, match="no number"):
        field("/items/*/price", "number", where=ITEM, minus=minus)
