"""A JSON Schema as text for whoever answers without structured output: a person, a chat, some servers."""

from __future__ import annotations

from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue


def schema_text(schema: dict[str, JsonValue]) -> str:
    """Return a schema with one line for each member and definition; indented in full it is thrice as long."""
    members = [
        f'"{key}": {_lines(value) if key == "$defs" else _line(value)}'
        for key, value in sorted(schema.items())
    ]
    return "{" + ",\n".join(members) + "}"


def _lines(definitions: JsonValue) -> str:
    if not isinstance(definitions, dict):
        return _line(definitions)
    return "{" + ",\n".join(f'"{name}": {_line(each)}' for name, each in definitions.items()) + "}"


def _line(value: JsonValue) -> str:
    return json_text.canonical(value).decode()
