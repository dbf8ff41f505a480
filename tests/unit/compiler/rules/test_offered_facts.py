"""Declared facts in the question about rules: what is offered, and how answers are read and checked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ironcurtain.compiler.load.clauses import read_clauses
from ironcurtain.compiler.rules.look_ups import LookUpTool
from ironcurtain.compiler.rules.offered_facts import (
    FactsError,
    OfferedFacts,
    field_mistakes,
    offered_facts,
    read_facts,
)
from ironcurtain.model.facts import SaidFact
from ironcurtain.model.records import RecordFact

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

SAID: dict[str, Any] = {"name": "named", "clause": "C1", "source": "said", "args": ["/to", "/cc"]}


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


LINES = {"/lines/*/id": "strings", "/lines/*/price": "numbers", "/status": "string"}


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ({"at": "/lines/price", "type": "number"}, '"/lines/price": "/lines" has *'),
        ({"at": "/status/name", "type": "string"}, '"/status/name": "/status" is a single value'),
        ({"at": "/state", "type": "string"}, '"/state": it has lines, status'),
        (
            {"at": "/lines/*/price", "type": "number", "where": {"/lines/*/item": {"arg": "/item"}}},
            '"/lines/*/item": "/lines/*" has id, price, which `where` chooses by',
        ),
    ],
)
def test_a_field_that_the_answer_does_not_have_is_told_with_what_stands_there(
    field: dict[str, Any], said: str
) -> None:
    order: dict[str, Any] = {"source": "record", "clause": "C1", "server": "shop", "tool": "get_order"}
    order |= {"arguments": {"order_id": "1"}, "fields": {"found": field}}
    tool = LookUpTool("shop", "get_order", {"order_id": {"type": "string"}}, LINES)
    assert field_mistakes({"order": RecordFact.model_validate(order)}, [tool]) == [
        f'fact "order": the answer has nothing at {said}'
    ]


def offered(*sentences: str) -> OfferedFacts | None:
    text = "# Mail\n\n" + "\n".join(f"- {sentence}" for sentence in sentences) + "\n"
    return offered_facts("mail", {"mail": read_clauses(text, "constitution.md")}, ())


def test_what_the_user_said_is_offered_where_a_clause_speaks_of_it() -> None:
    found = offered("The agent may mail people that the user named.")
    assert found is not None
    assert "`said`" in found.prompt
    assert '"said"' in json.dumps(found.schema({"properties": {}}))


def test_the_questions_of_other_clauses_are_as_they_would_be_without() -> None:
    assert offered("The agent may mail people in its address book.") is None
    found = offered("The agent may send at most 3 mails per day.")
    assert found is not None
    assert "`said`" not in found.prompt
    assert '"said"' not in json.dumps(found.schema({"properties": {}}))


def test_what_an_answer_declares_is_read() -> None:
    named = SaidFact(source="said", clause="C1", args=("/to", "/cc"))
    assert read_facts({"facts": [SAID]}) == {"named": named}
    for wrong in ({**SAID, "args": []}, {**SAID, "args": ["to"]}, {**SAID, "arg": "/to"}):
        with pytest.raises(FactsError, match="named"):
            read_facts({"facts": [wrong]})
