"""What is seen at a glance to fit a schema, or not to, is so by the validator; most tools' calls are seen."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft7Validator, Draft202012Validator
from referencing.exceptions import Unresolvable

from ironcurtain.decision.canonical.json_schema import ArgumentSchema
from ironcurtain.decision.canonical.plain_values import definitions_of, fits_plainly, plain_schema

TYPES = ["string", "number", "integer", "boolean", "null", "array", "object"]
NAMES = ["a", "b"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats(-2, 2) | st.sampled_from(["", "a", "b"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=2),
    max_leaves=6,
)


def _schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    words = {
        "type": st.sampled_from(TYPES)
        | st.lists(st.sampled_from(TYPES), min_size=1, max_size=2, unique=True),
        "enum": st.lists(
            st.none() | st.booleans() | st.integers(0, 1) | st.sampled_from(["a", "b"]), min_size=1
        ),
        "items": inner,
        "properties": st.dictionaries(st.sampled_from(NAMES), inner, max_size=2),
        "required": st.lists(st.sampled_from(NAMES), unique=True),
        "additionalProperties": inner,
        "default": VALUES,
        "format": st.sampled_from(["uri", "date"]),
        "minimum": st.integers(-1, 1),
        "maximum": st.floats(-1, 1),
        "exclusiveMinimum": st.integers(-1, 1),
        "exclusiveMaximum": st.integers(-1, 1),
        "minLength": st.integers(0, 1),
        "maxLength": st.integers(0, 1),
        "minItems": st.integers(0, 1),
        "maxItems": st.integers(0, 1),
        "pattern": st.sampled_from(["^a$", "b?"]),
        "anyOf": st.lists(inner, min_size=1, max_size=2),
        "not": inner,
        "prefixItems": st.lists(inner, min_size=1, max_size=1),
        "patternProperties": st.dictionaries(st.sampled_from(["a", "b$"]), inner, max_size=1),
        "$defs": st.dictionaries(st.sampled_from(NAMES), inner, max_size=1),
        "definitions": st.dictionaries(st.sampled_from(NAMES), inner, max_size=1),
        "$ref": st.sampled_from(["#/$defs/a", "#/definitions/a", "#/$defs/b", "#"]),
        "$id": st.sampled_from(["https://example.com/other", "other"]),
        "$schema": st.sampled_from(
            [Draft202012Validator.META_SCHEMA["$id"], Draft7Validator.META_SCHEMA["$id"]]
        ),
    }
    return st.fixed_dictionaries({}, optional=words)


def _told(value: Any, schema: dict[str, Any]) -> bool | None:
    plain = plain_schema(schema)
    return None if plain is None else fits_plainly(value, [plain], definitions_of(schema))


def _is_valid(value: Any, validator: Any) -> bool:
    """Return what a validator says; a value of which it cannot tell is refused."""
    try:
        return bool(validator.is_valid(value))
    except (RecursionError, Unresolvable):
        return False


@given(VALUES, _schemas(st.recursive(st.booleans() | st.just({}), _schemas, max_leaves=4)))
@example(True, {"type": "integer"})
@example(1.0, {"type": "integer"})
@example(1, {"enum": [True]})
@example({"a": 1}, {"additionalProperties": False})
@example({"a": 1}, {"properties": {"a": {"type": "string"}}})
@example(["a", 1], {"items": {"type": "string"}})
@example(["a", 1], {"prefixItems": [{"type": "string"}], "items": {"type": "number"}})
@example({"a": 1}, {"properties": {"a": False}})
@example({"b": 1}, {"patternProperties": {"b": {}}, "additionalProperties": False})
@example({"b": 1}, {"additionalProperties": {"type": "string"}})
@example("é", {"maxLength": 1})
@example(True, {"minimum": 2})
@example("a", {"anyOf": [{"type": "number"}, {"not": {}}]})
@example({"a": "b"}, {"properties": {"a": {"$ref": "#", "type": "number"}}})
@example({"a": 1}, {"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"type": "string"}}})
@example(1, {"items": {"$id": "other", "$defs": {"a": False}}, "$ref": "#/$defs/a", "$defs": {"a": True}})
@example([1], {"items": {"$ref": "#/$defs/a", "title": "b"}, "$defs": {"a": {"enum": ["a"]}}})
@example(1, {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}})
@example(1, {"$ref": "#/$defs/a", "type": "string", "$defs": {"a": True}})
@example(1, {"anyOf": [{"$ref": "#/$defs/a"}, True]})
def test_what_is_seen_of_a_value_is_so_by_the_validator(value: Any, schema: dict[str, Any]) -> None:
    told = _told(value, schema)
    if told is not None:
        validators = (Draft202012Validator(schema), Draft7Validator(schema))
        assert [_is_valid(value, each) for each in validators] == [told, told]


@given(VALUES, _schemas(st.recursive(st.booleans() | st.just({}), _schemas, max_leaves=4)))
def test_a_checker_of_parts_tells_what_the_whole_tells(value: Any, schema: dict[str, Any]) -> None:
    whole = ArgumentSchema({"properties": {"a": schema}})
    assert whole.checker([schema])(value) in {None, whole.fits({"a": value})}
    assert whole.fits({"a": value}) is (whole.problems({"a": value}) == [])


CALLS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (
        {"path": "/a", "limit": 3},
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Where."},
                "limit": {"type": "number", "default": 10},
                "deep": {"type": "boolean"},
            },
            "required": ["path"],
            "additionalProperties": False,
        },
    ),
    (
        {"paths": ["/a"] * 5_000},
        {"type": "object", "properties": {"paths": {"type": "array", "items": {"type": "string"}}}},
    ),
    ({"mode": "fast"}, {"properties": {"mode": {"type": "string", "enum": ["fast", "slow"]}}}),
    (
        {"edits": [{"old": "a", "new": "b"}]},
        {
            "$defs": {"Edit": {"properties": {"old": {"type": "string"}}, "required": ["old"]}},
            "properties": {"edits": {"type": "array", "items": {"$ref": "#/$defs/Edit"}}},
        },
    ),
]


@pytest.mark.parametrize(("value", "schema"), CALLS)
def test_calls_of_usual_tools_are_seen_to_fit(value: dict[str, Any], schema: dict[str, Any]) -> None:
    assert _told(value, schema) is True


@pytest.mark.parametrize(
    "value", [{"path": ""}, {"limit": 0}, {"deep": "yes"}, {"names": []}, {"other": 1}, {}]
)
def test_mistakes_of_usual_calls_are_seen(value: dict[str, Any]) -> None:
    schema = {
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 1},
            "limit": {"type": "integer", "minimum": 1, "maximum": 1000},
            "deep": {"anyOf": [{"type": "boolean"}, {"type": "string", "pattern": "^no$"}]},
            "names": {"type": "array", "minItems": 1},
        },
        "required": ["path"],
        "additionalProperties": False,
    }
    assert _told({"path": "/a", **value}, schema) is (value == {})


def test_more_than_a_moment_of_work_is_the_validators_which_counts_it() -> None:
    schema: dict[str, Any] = {"items": {"items": {"type": "integer"}}}
    assert _told([[1] * 100] * 100, schema) is None
