"""Strict schemas and back: whatever fits ours is said in strict form, and comes back as it was."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from support.documents import at

from ironcurtain.compiler.llm.providers.openai import relaxed, strict

NAME = {"type": "string"}
SCALAR = {"anyOf": [NAME, {"type": "number"}, {"type": "boolean"}]}
RULE = {
    "type": "object",
    "properties": {
        "name": NAME,
        "value": {"anyOf": [SCALAR, {"type": "array", "items": SCALAR}]},
        "note": {"anyOf": [NAME, {"type": "null"}]},
        "if": {
            "type": "object",
            "properties": {"tool": {"type": "array", "items": {"enum": ["a", "b"]}}, "deep": NAME},
            "required": [],
            "additionalProperties": False,
        },
    },
    "required": ["name", "if"],
    "additionalProperties": False,
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"rules": {"type": "array", "items": RULE}},
    "required": ["rules"],
    "additionalProperties": False,
}


def objects(schema: Any) -> list[dict[str, Any]]:
    if isinstance(schema, list):
        return [found for item in schema for found in objects(item)]
    if not isinstance(schema, dict):
        return []
    own = [schema] if schema.get("type") == "object" else []
    return own + [found for item in schema.values() for found in objects(item)]


def test_in_strict_form_everything_is_required_and_nothing_more_is_allowed() -> None:
    found = objects(strict(SCHEMA))
    assert len(found) == 3
    for each in found:
        assert each["required"] == list(each["properties"])
        assert each["additionalProperties"] is False


def test_every_enum_has_a_type() -> None:
    assert strict({"enum": ["a", "b"]}) == {"enum": ["a", "b"], "type": "string"}
    assert strict({"enum": ["a", None]}) == {"enum": ["a", None], "type": ["null", "string"]}


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (
            {"name": "x", "value": None, "note": None, "if": {"tool": None, "deep": None}},
            {"name": "x", "note": None, "if": {}},
        ),
        (
            {"name": "x", "value": [1, "a"], "note": "n", "if": {"tool": ["a"], "deep": "d"}},
            {"name": "x", "value": [1, "a"], "note": "n", "if": {"tool": ["a"], "deep": "d"}},
        ),
    ],
)
def test_nulls_that_stand_for_nothing_go_and_others_stay(said: Any, meant: Any) -> None:
    assert Draft202012Validator(strict(SCHEMA)).is_valid({"rules": [said]})
    answer = json.loads(relaxed(json.dumps({"rules": [said]}), SCHEMA))
    assert answer == {"rules": [meant]}
    assert Draft202012Validator(SCHEMA).is_valid(answer)


@pytest.mark.parametrize("text", ["no json", "null", "[]", '{"rules": [{"name": null}]}', '{"x": null}'])
def test_a_wrong_answer_is_left_to_be_told_so(text: str) -> None:
    assert relaxed(text, SCHEMA) == text


NAMED: dict[str, Any] = {
    "type": "object",
    "properties": {"rules": {"type": "array", "items": {"$ref": "#/$defs/rule"}}},
    "required": ["rules"],
    "additionalProperties": False,
    "$defs": {
        "rule": {
            "type": "object",
            "properties": {"name": NAME, "value": {"$ref": "#/$defs/scalar"}},
            "required": ["name"],
            "additionalProperties": False,
        },
        "scalar": SCALAR,
    },
}


def test_what_stands_once_under_defs_is_strict_and_comes_back_as_meant() -> None:
    formed = strict(NAMED)
    assert at(formed, "$defs", "rule", "required") == ["name", "value"]
    said = {"rules": [{"name": "x", "value": None}, {"name": "y", "value": 1}]}
    assert Draft202012Validator(formed).is_valid(said)
    assert json.loads(relaxed(json.dumps(said), NAMED)) == {
        "rules": [{"name": "x"}, {"name": "y", "value": 1}]
    }
