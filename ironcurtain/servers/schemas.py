"""Whether what a server calls an input schema is a JSON Schema that we can evaluate safely."""

from __future__ import annotations

from collections.abc import Iterator

from referencing import Registry, Specification
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012, UnknownDialect, specification_with

from ironcurtain.model.metaschema import schema_fault
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import quoted, visible

_DATA_KEYWORDS = frozenset({"const", "enum", "default", "examples", "example"})
_NAME_KEYWORDS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
# Checking a schema takes some seconds per megabyte.
_MAX_BYTES = 1 << 18
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


def schema_problem(schema: dict[str, JsonValue]) -> str | None:
    """Say in plain words why a tool's input schema cannot be used, or None if it can.

    Checked: strict JSON of at most 64 levels and 256 KiB; the meta-schema of its dialect; type `object`;
    every reference stays inside the document and leads somewhere.
    """
    try:
        json_text.check(schema, any_double=True)
    except json_text.MalformedJsonError as error:
        return visible(str(error))
    if schema.get("type", "object") != "object":
        return f"its type is {quoted(str(schema['type']))}, not object"
    dialect = schema.get("$schema")
    if dialect is not None and not _known(dialect):
        return f"its dialect is unknown ($schema is {quoted(str(dialect))})"
    if len(json_text.canonical(schema)) > _MAX_BYTES:
        return f"it is longer than {_MAX_BYTES >> 10} KiB"
    return schema_fault(schema) or _reference_problem(schema)


def _known(dialect: JsonValue) -> bool:
    try:
        return isinstance(dialect, str) and bool(specification_with(dialect))
    except UnknownDialect:
        return False


def _reference_problem(schema: dict[str, JsonValue]) -> str | None:
    dialect = schema.get("$schema")
    specification: Specification[JsonValue] = (
        specification_with(dialect) if isinstance(dialect, str) else DRAFT202012
    )
    resolver = Registry().resolver_with_root(specification.create_resource(schema))
    for reference in _references(schema):
        if not reference.startswith("#"):
            return f"it refers to {quoted(reference)}, outside the document"
        try:
            resolver.lookup(reference)
        except Unresolvable:
            return f"it refers to {quoted(reference)}, which does not exist"
    return None


def _references(node: JsonValue, *, names: bool = False) -> Iterator[str]:
    """Yield every reference of a schema; in an object of `names` the keys are names, not keywords."""
    if isinstance(node, list):
        for item in node:
            yield from _references(item)
    elif isinstance(node, dict):
        for key, value in node.items():
            if names:
                yield from _references(value)
            elif key in _REFERENCES and isinstance(value, str):
                yield value
            elif key not in _DATA_KEYWORDS:
                yield from _references(value, names=key in _NAME_KEYWORDS)
