"""JSON Schemas in the strict form that OpenAI demands, and answers back in ours.

Strict form knows no optional properties: each becomes required and may be null instead. In an answer, a
null that our schema does not allow stands for a property that was left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from jsonschema import Draft202012Validator

from ironcurtain.compiler.questions.schema_parts import Schema, entries
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue

_KEPT = (
    "$ref",
    "type",
    "enum",
    "const",
    "description",
    "pattern",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
)
_NULL: Final[Schema] = {"type": "null"}
_TYPES: Final[dict[type, str]] = {
    str: "string",
    bool: "boolean",
    int: "number",
    float: "number",
    type(None): "null",
}


def strict(schema: Schema) -> Schema:
    """Return a schema in strict form.

    Ours are made of objects, arrays, `anyOf`, enums, and references to `$defs` that do not go in circles.
    """
    formed = {key: schema[key] for key in _KEPT if key in schema}
    if "$defs" in schema:
        formed["$defs"] = {name: strict(part) for name, part in _named(schema, "$defs").items()}
    listed = schema.get("enum")
    if isinstance(listed, list) and "type" not in schema:
        types = sorted({_TYPES[type(value)] for value in listed})
        formed["type"] = types[0] if len(types) == 1 else [*types]
    if "anyOf" in schema:
        formed["anyOf"] = [strict(branch) for branch in entries(schema, "anyOf")]
    items = schema.get("items")
    if isinstance(items, dict):
        formed["items"] = strict(items)
    if "properties" in schema:
        required, properties = _required(schema), _named(schema, "properties")
        formed["properties"] = {
            name: strict(part) if name in required else {"anyOf": [strict(part), _NULL]}
            for name, part in properties.items()
        }
        formed["required"] = [*properties]
        formed["additionalProperties"] = False
    return formed


def relaxed(text: str, schema: Schema) -> str:
    """Return an answer without the nulls that stand for absent properties; any other text as it is."""
    try:
        content = json_text.parse(text)
    except json_text.MalformedJsonError:
        return text
    without = _without_nulls(content, _resolved(schema, _named(schema, "$defs")))
    return text if without == content else json_text.canonical(without).decode()


def _resolved(schema: JsonValue, definitions: Mapping[str, Schema]) -> JsonValue:
    """Return a schema with every reference replaced by what it names."""
    if isinstance(schema, list):
        return [_resolved(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return _resolved(definitions[reference.removeprefix("#/$defs/")], definitions)
    return {key: _resolved(value, definitions) for key, value in schema.items() if key != "$defs"}


def _without_nulls(value: JsonValue, schema: JsonValue) -> JsonValue:
    if not isinstance(schema, dict):
        return value
    if "anyOf" in schema:
        tried = ((_without_nulls(value, branch), branch) for branch in entries(schema, "anyOf"))
        return next((without for without, branch in tried if _fits(without, branch)), value)
    if isinstance(value, list) and "items" in schema:
        return [_without_nulls(item, schema["items"]) for item in value]
    if not isinstance(value, dict) or "properties" not in schema:
        return value
    required, known = _required(schema), _named(schema, "properties")
    return {
        key: _without_nulls(item, known.get(key, {}))
        for key, item in value.items()
        if item is not None or key in required or key not in known or _fits(None, known[key])
    }


def _fits(value: JsonValue, schema: Schema) -> bool:
    return Draft202012Validator(schema).is_valid(value)


def _named(schema: Schema, key: str) -> dict[str, Schema]:
    """Return the schemas that stand under names: definitions or properties."""
    named = schema.get(key)
    items = named.items() if isinstance(named, dict) else ()
    return {name: part for name, part in items if isinstance(part, dict)}


def _required(schema: Schema) -> list[JsonValue]:
    required = schema.get("required")
    return required if isinstance(required, list) else []
