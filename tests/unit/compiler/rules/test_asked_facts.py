"""Declared facts of an answer: how they are read, and what of them a look-up tool contradicts."""

from __future__ import annotations

from typing import Any

from ironcurtain.compiler.rules.asked_facts import field_mistakes, read_facts
from ironcurtain.compiler.rules.look_ups import LookUpTool
from ironcurtain.model.facts import RecordFact

ORDER: dict[str, Any] = {
    "name": "order",
    "source": "record",
    "clause": "C1",
    "server": "shop",
    "tool": "get_order",
    "arguments": [{"name": "order_id", "value": {"arg": "/id"}}],
    "identity": [{"name": "order_id", "at": "/order_id"}],
    "fields": [{"name": "status", "at": "/status", "type": "string"}],
}
TOOL = LookUpTool(
    "shop", "get_order", {"order_id": {"type": "string"}}, {"/order_id": "string", "/status": "string"}
)


def test_an_answer_says_where_a_record_names_what_was_asked_for() -> None:
    order = read_facts({"facts": [ORDER]})["order"]
    assert isinstance(order, RecordFact)
    assert order.identity == {"order_id": "/order_id"}
    assert field_mistakes({"order": order}, [TOOL]) == []


def test_an_identity_that_the_answer_does_not_have_is_a_mistake() -> None:
    elsewhere = {**ORDER, "identity": [{"name": "order_id", "at": "/id"}]}
    assert field_mistakes(read_facts({"facts": [elsewhere]}), [TOOL]) == [
        'fact "order": the answer has no single value at "/id" for the identity "order_id"'
    ]
