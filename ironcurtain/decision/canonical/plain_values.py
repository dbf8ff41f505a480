"""Values that are seen at a glance to fit a schema: one of the words that most tools use, and no others.

The validator says the same of them, ten times as slowly; where this is not sure, it is asked.
"""

from __future__ import annotations

from typing import Final

from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue

_MOST: Final = 1_000
"""Values that are looked at; what holds more is the validator's, which counts its work."""
_MOST_LEVELS: Final = 16
_DIALECTS: Final = frozenset(
    {
        "https://json-schema.org/draft/2020-12/schema",
        "https://json-schema.org/draft/2019-09/schema",
        "http://json-schema.org/draft-07/schema",
        "http://json-schema.org/draft-07/schema#",
    }
)
"""Those in which the words mean the same."""
_SILENT: Final = frozenset(
    {
        "title",
        "description",
        "$comment",
        "format",
        "default",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
    }
)
"""The words that say nothing about a value; formats are not asserted."""
_OF_ANY_TEXT: Final = _SILENT | {"type"}
_OF_OBJECTS: Final = frozenset({"properties", "required", "additionalProperties"})
"""The words that ask nothing of what is no object."""
_TYPES: Final[dict[type, tuple[str, ...]]] = {
    str: ("string",),
    bool: ("boolean",),
    int: ("integer", "number"),
    float: ("number",),
    list: ("array",),
    dict: ("object",),
    type(None): ("null",),
}


def fits_plainly(value: JsonValue, schema: dict[str, JsonValue]) -> bool:
    """Tell whether a value is sure to fit a valid schema; where it is not sure, it may fit.

    Args:
        value: Anything of JSON.
        schema: The whole schema.
    """
    dialect = schema.get("$schema")
    if dialect is None:
        return _fits(value, schema, 0, [_MOST])
    return dialect in _DIALECTS and _fits(
        value, {word: said for word, said in schema.items() if word != "$schema"}, 0, [_MOST]
    )


def _fits(value: JsonValue, schema: JsonValue, level: int, room: list[int]) -> bool:
    """Tell it of a value in another one; `room` is how many may be looked at still, of all together."""
    room[0] -= 1
    if not isinstance(schema, dict) or level > _MOST_LEVELS or room[0] < 0:
        return False
    return all(_passes(value, word, schema, level, room) for word in schema if word not in _SILENT)


def _passes(value: JsonValue, word: str, schema: dict[str, JsonValue], level: int, room: list[int]) -> bool:
    said = schema[word]
    if word == "type":
        known = _TYPES.get(type(value), ())
        return any(each in known for each in said) if isinstance(said, list) else said in known
    if word == "enum":
        return isinstance(value, str) and isinstance(said, list) and value in said
    if word == "items":
        return not isinstance(value, list) or are_texts(value, said) or _fit(value, said, level, room)
    return word in _OF_OBJECTS and (
        not isinstance(value, dict) or _has_members(value, word, schema, level, room)
    )


def _has_members(
    value: dict[str, JsonValue], word: str, schema: dict[str, JsonValue], level: int, room: list[int]
) -> bool:
    said, listed = schema[word], json_text.members(schema.get("properties"))
    if word == "required":
        return isinstance(said, list) and all(name in value for name in said)
    if word == "additionalProperties":
        return said is True or value.keys() <= listed.keys()
    return all(_fits(below, listed[name], level + 1, room) for name, below in value.items() if name in listed)


def are_texts(value: list[JsonValue], schema: JsonValue) -> bool:
    """Tell whether any text will do for each element, and all are texts: a call may hold thousands."""
    return (
        isinstance(schema, dict)
        and schema.get("type") == "string"
        and schema.keys() <= _OF_ANY_TEXT
        and all(isinstance(each, str) for each in value)
    )


def _fit(value: list[JsonValue], schema: JsonValue, level: int, room: list[int]) -> bool:
    return all(_fits(each, schema, level + 1, room) for each in value)
