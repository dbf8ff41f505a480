"""Mistakes as they are sent back: all of them, in as few lines as they have kinds."""

from __future__ import annotations

from typing import Any

from ironcurtain.compiler.llm.question import MAX_MISTAKE_LINES, grouped, schema_text
from ironcurtain.system import json_text


def test_mistakes_of_one_kind_are_one_line_in_the_order_of_the_first() -> None:
    found = grouped(
        ['rule "a": no limit', "it is empty", 'rule "b": no limit', 'rule "a": no limit', "it is empty"]
    )
    assert found == ['rule "a", rule "b": no limit', "it is empty"]


def test_what_is_beyond_the_bound_is_counted() -> None:
    found = grouped([f"odd {number}" for number in range(MAX_MISTAKE_LINES + 7)])
    assert len(found) == MAX_MISTAKE_LINES + 1
    assert found[-1] == "and 7 more"


def test_a_schema_as_text_is_the_schema() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/b"}},
        "$defs": {"b": {"enum": ["x"]}, "c": {}},
    }
    assert json_text.parse(schema_text(schema)) == schema
    assert json_text.parse(schema_text({})) == {}
