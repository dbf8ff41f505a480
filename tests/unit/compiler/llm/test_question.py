"""Mistakes as they are sent back: all of them, in as few lines as they have kinds."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from ironcurtain.compiler.llm.question import MAX_MISTAKE_LINES, closest, grouped, schema_text
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


RULE: dict[str, Any] = {
    "type": "object",
    "properties": {"then": {"enum": ["allow", "deny"]}, "if": {"type": "object"}},
    "required": ["then"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"then": "alow", "if": {}}, "$.rules[0].then: 'alow' is not one of ['allow', 'deny']"),
        ({"if": {"tool": ["x"] * 50}}, "$.rules[0]: 'then' is a required property"),
        ({"then": "deny", "if": []}, "$.rules[0].if: [] is not of type 'object'"),
        (5, "$.rules[0]: 5 is not valid under any of the given schemas"),
    ],
)
def test_a_value_of_none_of_several_forms_is_told_by_its_mistake(rule: Any, said: str) -> None:
    schema = {"properties": {"rules": {"items": {"anyOf": [RULE, {"type": "null"}]}}}}
    (error,) = map(closest, Draft202012Validator(schema).iter_errors({"rules": [rule]}))
    assert f"{error.json_path}: {error.message}" == said


def test_a_schema_as_text_is_the_schema() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/b"}},
        "$defs": {"b": {"enum": ["x"]}, "c": {}},
    }
    assert json_text.parse(schema_text(schema)) == schema
    assert json_text.parse(schema_text({})) == {}
