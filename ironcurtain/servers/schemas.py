"""Whether what a server calls an input schema is a JSON Schema that we can evaluate safely."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from jsonschema.validators import validator_for
from referencing import Registry, Specification
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012, UnknownDialect, specification_with

from ironcurtain.model import jsontext
from ironcurtain.model.base import Json
from ironcurtain.text import quoted, visible

_DATA_KEYWORDS = frozenset({"const", "enum", "default", "examples", "example"})
_NAME_KEYWORDS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


def schema_problem(schema: dict[str, Json]) -> str | None:
    """Say in plain words why a tool's input schema cannot be used, or None if it can.

    Checked: strict JSON of at most 64 levels; the meta-schema of its dialect; type `object`; every
    reference stays inside the document and leads somewhere.
    """
    try:
        jsontext.check(schema)
    except jsontext.MalformedJsonError as error:
        return visible(str(error))
    if schema.get("type", "object") != "object":
        return f"its type is {quoted(str(schema['type']))}, not object"
    dialect = schema.get("$schema")
    if dialect is not None and not _known(dialect):
        return f"its dialect is unknown ($schema is {quoted(str(dialect))})"
    return _meta_problem(jsontext.canonical(schema)) or _reference_problem(schema)


@lru_cache(maxsize=1024)
def _meta_problem(text: bytes) -> str | None:
    """Hold a schema against its dialect's own; each stage of a compile asks this about the same tools."""
    schema = json.loads(text)
    try:
        validator_for(schema, default=Draft202012Validator).check_schema(schema)
    except SchemaError as error:
        return f"{visible(error.message)[:200]} (at {visible(error.json_path)})"
    return None


def _known(dialect: Json) -> bool:
    try:
        return isinstance(dialect, str) and bool(specification_with(dialect))
    except UnknownDialect:
        return False


def _reference_problem(schema: dict[str, Json]) -> str | None:
    dialect = schema.get("$schema")
    specification: Specification[Json] = specification_with(dialect) if dialect else DRAFT202012
    resolver = Registry().resolver_with_root(specification.create_resource(schema))
    for reference in _references(schema):
        if not reference.startswith("#"):
            return f"it refers to {quoted(reference)}, outside the document"
        try:
            resolver.lookup(reference)
        except Unresolvable:
            return f"it refers to {quoted(reference)}, which does not exist"
    return None


def _references(node: Json, *, names: bool = False) -> Iterator[str]:
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
