"""What is seen at a glance to fit a schema fits it by the validator, too; and most tools' calls do."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft7Validator, Draft202012Validator

from ironcurtain.decision.canonical.plain_values import fits_plainly

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
        "minimum": st.integers(0, 1),
        "not": inner,
        "$schema": st.sampled_from(
            [Draft202012Validator.META_SCHEMA["$id"], Draft7Validator.META_SCHEMA["$id"]]
        ),
    }
    return st.fixed_dictionaries({}, optional=words)


@given(VALUES, _schemas(st.recursive(st.booleans() | st.just({}), _schemas, max_leaves=4)))
@example(True, {"type": "integer"})
@example(1.0, {"type": "integer"})
@example(1, {"enum": [True]})
@example({"a": 1}, {"additionalProperties": False})
@example({"a": 1}, {"properties": {"a": {"type": "string"}}})
@example(["a", 1], {"items": {"type": "string"}})
@example({"a": 1}, {"properties": {"a": False}})
def test_what_plainly_fits_is_valid_by_the_validator(value: Any, schema: dict[str, Any]) -> None:
    if fits_plainly(value, schema):
        Draft202012Validator(schema).validate(value)
        Draft7Validator(schema).validate(value)


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
]


@pytest.mark.parametrize(("value", "schema"), CALLS)
def test_calls_of_usual_tools_are_seen_to_fit(value: dict[str, Any], schema: dict[str, Any]) -> None:
    assert fits_plainly(value, schema)


def test_more_than_a_moment_of_work_is_the_validators_which_counts_it() -> None:
    schema: dict[str, Any] = {"items": {"items": {"type": "integer"}}}
    assert not fits_plainly([[1] * 100] * 100, schema)
