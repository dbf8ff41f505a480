"""What is seen at a glance to be a schema is one by the meta-schema, too; and most tools' schemas are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft7Validator, Draft202012Validator

from ironcurtain.model.plain_schemas import is_plainly_a_schema

WORDS = [
    *("type", "$ref", "required", "enum", "examples", "default", "const", "title", "description", "$comment"),
    *("format", "uniqueItems", "deprecated", "readOnly", "writeOnly", "minimum", "maximum", "multipleOf"),
    *("exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems", "pattern"),
    *("minProperties", "maxProperties", "items", "additionalProperties", "not", "properties", "$defs"),
    *("anyOf", "oneOf", "allOf", "$schema", "$id", "$anchor", "dependentRequired", "contains", "if"),
]
DIALECTS = {
    "https://json-schema.org/draft/2020-12/schema": Draft202012Validator,
    "http://json-schema.org/draft-07/schema#": Draft7Validator,
}
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-2, 5)
    | st.floats(allow_nan=False)
    | st.sampled_from(["string", "object", "#/$defs/x", "#/$defs/%", "(", "", "strnig", *DIALECTS, "draft"])
)


def _more(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    names = st.lists(st.sampled_from(["a", "b", "string", "null"]), max_size=3)
    return (
        st.lists(inner, max_size=2)
        | names
        | st.dictionaries(st.sampled_from([*WORDS, "a"]), inner, max_size=3)
    )


@given(st.dictionaries(st.sampled_from(WORDS), st.recursive(SCALARS, _more, max_leaves=6), max_size=3))
@example({"required": ["a", "a"]})
@example({"anyOf": []})
@example({"minLength": True})
@example({"minLength": -1})
@example({"properties": {"a": {"type": "strnig"}}})
@example({"type": ["string", "string"]})
@example({"pattern": "("})
@example({"pattern": "a{99999999999999999999}"})
@example({"multipleOf": 0})
@example({"$ref": 1})
@example({"enum": "a"})
def test_what_is_plainly_a_schema_is_one_by_the_meta_schema(schema: dict[str, Any]) -> None:
    if is_plainly_a_schema(schema):
        dialect = schema.get("$schema")
        for named, validator in DIALECTS.items():
            if dialect in (None, named):
                validator.check_schema(schema)


USUAL: list[dict[str, Any]] = [
    {"type": "object", "properties": {"a": {"type": "string", "minLength": 1}}, "required": ["a"]},
    {"type": "object", "properties": {"a": {"anyOf": [{"$ref": "#/$defs/B"}, {"type": "null"}]}}},
    {"type": "array", "items": {"enum": ["a", 1]}, "maxItems": 5, "uniqueItems": True},
    *({"$schema": dialect, "type": "string", "pattern": "^[A-Z]{2}$"} for dialect in DIALECTS),
]


@pytest.mark.parametrize("schema", USUAL)
def test_schemas_as_tools_have_them_are_seen_at_a_glance(schema: dict[str, Any]) -> None:
    assert is_plainly_a_schema(schema)
