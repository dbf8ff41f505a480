"""Bookings are found again under the same name, those of a caller only under the same declaration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import TypeAdapter

from ironcurtain.analysis.diff.difference import new_memory
from ironcurtain.model.facts import Fact

PAID: dict[str, Any] = {
    "source": "counter",
    "clause": "C1",
    "of": {"tool": ["pay"]},
    "per": "caller",
    "window": "day",
}
CALLS: dict[str, Any] = {**PAID, "per": "session", "window": "hour"}
PRIVATE: dict[str, Any] = {"source": "label", "clause": "C2", "from": {"tool": ["read"]}}
OLD = {"paid": PAID, "calls": CALLS, "private": PRIVATE, "now": {"source": "clock", "zone": "UTC"}}
FACTS: TypeAdapter[Mapping[str, Fact]] = TypeAdapter(Mapping[str, Fact])


@pytest.mark.parametrize(
    ("changed", "empty"),
    [
        ({}, ()),
        ({"paid": {**PAID, "clause": "C9"}}, ()),
        ({"paid": {**PAID, "of": {"tool": ["send"]}}}, ("counter paid",)),
        ({"paid": {**PAID, "zone": "Europe/Berlin"}}, ("counter paid",)),
        ({"spent": PAID}, ("counter spent",)),
        ({"calls": {**CALLS, "of": {"tool": ["send"]}}}, ()),
        ({"calls": {**CALLS, "window": "day"}}, ("counter calls",)),
        ({"calls": {**CALLS, "per": "caller"}}, ("counter calls",)),
        ({"private": {**PRIVATE, "from": {"tool": ["pay"]}}}, ()),
        ({"secret": PRIVATE}, ("label secret",)),
        ({"private": CALLS}, ("counter private",)),
        ({"later": {"source": "clock", "zone": "UTC"}}, ()),
    ],
)
def test_what_begins_with_nothing_booked(changed: dict[str, Any], empty: tuple[str, ...]) -> None:
    old, new = (FACTS.validate_python(each, strict=False) for each in (OLD, {**OLD, **changed}))
    assert new_memory(old, new) == empty
