"""What is read of schemas is what the decision's own validator says of values."""

from __future__ import annotations

from typing import Any

import pytest

from ironcurtain.analysis.engine.values.shapes import SchemaReader
from ironcurtain.decision.canonical.json_schema import ArgumentSchema

DEFINITIONS = {"Name": {"type": "string", "maxLength": 3}, "Maybe": {"type": ["integer", "null"]}}
TEXTS = ["", "a", "ab", "abc", "abcd", "A1", "\u00e9\u00e9"]
READ: list[dict[str, Any]] = [
    {"type": "string"},
    {"type": ["string", "null"], "minLength": 2},
    {"type": "string", "pattern": "^[a-c]+$", "maxLength": 3},
    {"type": "string", "format": "email", "default": "x", "title": "T"},
    {"enum": ["a", "abc", None, 1]},
    {"const": "ab"},
    {"$ref": "#/$defs/Name"},
    {"$ref": "#/$defs/Maybe"},
    {"anyOf": [{"$ref": "#/$defs/Name"}, {"type": "null"}]},
    {"oneOf": [{"type": "string", "minLength": 4}, {"type": "array", "items": {"type": "string"}}]},
    {"allOf": [{"type": "string", "minLength": 1}, {"pattern": "b"}]},
    {"type": "integer"},
]
NOT_READ: list[dict[str, Any]] = [
    {"type": "string", "not": {"const": "ab"}},
    {"if": {"minLength": 2}, "then": {"maxLength": 3}},
    {"oneOf": [{"type": "string", "minLength": 1}, {"type": "string", "maxLength": 2}]},
]


def whole(schema: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"it": schema}, "$defs": DEFINITIONS, **more}


@pytest.mark.parametrize("schema", READ)
def test_a_text_is_said_to_fit_where_the_validator_takes_it(schema: dict[str, Any]) -> None:
    shapes, validator = SchemaReader(whole(schema)), ArgumentSchema(whole(schema)).checker((schema,))
    assert {text: shapes.takes_text("it", text) for text in TEXTS} == {
        text: validator(text) for text in TEXTS
    }
    assert shapes.may_be_null(schema) is validator(None)


@pytest.mark.parametrize("schema", NOT_READ)
def test_of_a_keyword_that_is_not_followed_nothing_is_said(schema: dict[str, Any]) -> None:
    assert {SchemaReader(whole(schema)).takes_text("it", text) for text in TEXTS} == {None}


@pytest.mark.parametrize(
    "tied", [{"minProperties": 2}, {"enum": [{"it": "a"}]}, {"anyOf": [{"required": ["b"]}, {}]}]
)
def test_of_arguments_that_a_schema_ties_to_each_other_nothing_is_said(tied: dict[str, Any]) -> None:
    assert SchemaReader(whole({"type": "string"}, **tied)).takes_text("it", "a") is None


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "integer"}, True),
        ({"$ref": "#/$defs/Maybe"}, True),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, True),
        ({"type": ["integer", "number"]}, False),
        ({}, False),
    ],
)
def test_numbers_are_whole_only_where_every_one_is(schema: dict[str, Any], expected: bool) -> None:
    assert SchemaReader(whole(schema)).is_whole(schema) is expected
