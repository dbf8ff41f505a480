"""Values of which it is seen at a glance whether they fit a schema: by the words that most tools use.

The validator says the same of them, ten times as slowly and once it is loaded; where this is not sure, it is
asked.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

from ironcurtain.decision.canonical.schema_patterns import compiled_pattern
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue

_MOST: Final = 1_000
"""Values that are looked at; what holds more is the validator's, which counts its work."""
_MOST_LEVELS: Final = 16
_DIALECTS: Final = frozenset(
    {
        None,
        "https://json-schema.org/draft/2020-12/schema",
        "https://json-schema.org/draft/2019-09/schema",
        "http://json-schema.org/draft-07/schema",
        "http://json-schema.org/draft-07/schema#",
    }
)
"""Those in which the words mean the same; a schema without one is of the first."""
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
        "$defs",
        "definitions",
    }
)
"""The words that say nothing about a value; formats are not asserted."""
_OF_ANY_TEXT: Final = _SILENT | {"type"}
_TYPES: Final[dict[type, tuple[str, ...]]] = {
    str: ("string",),
    bool: ("boolean",),
    int: ("integer", "number"),
    float: ("number",),
    list: ("array",),
    dict: ("object",),
    type(None): ("null",),
}
_LIMITS: Final[Mapping[str, tuple[type | tuple[type, ...], Callable[[Any, Any], bool]]]] = {
    "minLength": (str, operator.ge),
    "maxLength": (str, operator.le),
    "minItems": (list, operator.ge),
    "maxItems": (list, operator.le),
    "minimum": ((int, float), operator.ge),
    "maximum": ((int, float), operator.le),
    "exclusiveMinimum": ((int, float), operator.gt),
    "exclusiveMaximum": ((int, float), operator.lt),
}
"""The words that limit a length or a number: of what, and how that lies to the limit."""


def plain_schema(schema: dict[str, JsonValue]) -> dict[str, JsonValue] | None:
    """Return a valid schema without its dialect; None if its words may not mean what they mean here."""
    if schema.get("$schema") not in _DIALECTS:
        return None
    return {word: said for word, said in schema.items() if word != "$schema"}


def fits_plainly(value: JsonValue, schemas: Iterable[JsonValue]) -> bool | None:
    """Tell whether a value fits each of some schemas; None where that is not sure.

    Args:
        value: Anything of JSON.
        schemas: A plain schema, or some that one holds.
    """
    room = [_MOST]
    return _all(_fits(value, schema, 0, room) for schema in schemas)


def _all(found: Iterable[bool | None]) -> bool | None:
    """Tell whether all is true: false is certain as soon as one is false."""
    sure = True
    for each in found:
        if each is False:
            return False
        sure = sure and each is True
    return True if sure else None


def _fits(value: JsonValue, schema: JsonValue, level: int, room: list[int]) -> bool | None:
    """Tell it of a value in another one; `room` is how many may be looked at still, of all together."""
    if isinstance(schema, bool):
        return schema
    room[0] -= 1
    if not isinstance(schema, dict) or level > _MOST_LEVELS or room[0] < 0:
        return None
    words = [word for word in schema if word not in _SILENT]
    # What refers to another place, or has a name of its own, may mean something else altogether.
    if any(word.startswith("$") for word in words):
        return None
    fits = partial(_fits, level=level + 1, room=room)
    return _all(_WORDS.get(word, _is_unsure)(value, schema, fits) for word in words)


_Schema: TypeAlias = dict[str, JsonValue]
_Fits: TypeAlias = Callable[[JsonValue, JsonValue], bool | None]
"""Tells whether a value in another one fits a schema in the other's."""


def _is_unsure(_value: JsonValue, _schema: _Schema, _fits: _Fits) -> None:
    return None


def _type(value: JsonValue, schema: _Schema, _fits: _Fits) -> bool:
    said, known = schema["type"], _TYPES.get(type(value), ())
    is_whole = isinstance(value, float) and value.is_integer()
    types = said if isinstance(said, list) else [said]
    return any(each in known or (is_whole and each == "integer") for each in types)


def _enum(value: JsonValue, schema: _Schema, _fits: _Fits) -> bool | None:
    said = schema["enum"]
    return value in said if isinstance(value, str) and isinstance(said, list) else None


def _pattern(value: JsonValue, schema: _Schema, _fits: _Fits) -> bool:
    return not isinstance(value, str) or compiled_pattern(str(schema["pattern"])).search(value) is not None


def _any_of(value: JsonValue, schema: _Schema, fits: _Fits) -> bool | None:
    found = {fits(value, each) for each in _listed(schema["anyOf"])}
    return True if True in found else None if None in found else False


def _limit(word: str, value: JsonValue, schema: _Schema, _fits: _Fits) -> bool:
    of, lies = _LIMITS[word]
    if not isinstance(value, of) or isinstance(value, bool):
        return True
    return lies(len(value) if isinstance(value, str | list) else value, schema[word])


def _items(value: JsonValue, schema: _Schema, fits: _Fits) -> bool | None:
    said = schema["items"]
    if not isinstance(value, list):
        return True
    # Beside `prefixItems` it speaks of the rest, and as a list of one schema for each.
    if "prefixItems" in schema or isinstance(said, list):
        return None
    return are_texts(value, said) or _all(fits(each, said) for each in value)


def _required(value: JsonValue, schema: _Schema, _fits: _Fits) -> bool:
    return not isinstance(value, dict) or all(name in value for name in _listed(schema["required"]))


def _properties(value: JsonValue, schema: _Schema, fits: _Fits) -> bool | None:
    said = json_text.members(schema["properties"])
    return not isinstance(value, dict) or _all(
        fits(below, said[name]) for name, below in value.items() if name in said
    )


def _additional(value: JsonValue, schema: _Schema, fits: _Fits) -> bool | None:
    listed = json_text.members(schema.get("properties"))
    if not isinstance(value, dict) or value.keys() <= listed.keys():
        return True
    if "patternProperties" in schema:
        return None
    return _all(
        fits(below, schema["additionalProperties"]) for name, below in value.items() if name not in listed
    )


def _listed(said: JsonValue) -> list[JsonValue]:
    return said if isinstance(said, list) else []


_WORDS: Final[Mapping[str, Callable[[JsonValue, _Schema, _Fits], bool | None]]] = {
    "type": _type,
    "enum": _enum,
    "pattern": _pattern,
    "anyOf": _any_of,
    "items": _items,
    "required": _required,
    "properties": _properties,
    "additionalProperties": _additional,
    **{word: partial(_limit, word) for word in _LIMITS},
}


def are_texts(value: list[JsonValue], schema: JsonValue) -> bool:
    """Tell whether any text will do for each element, and all are texts: a call may hold thousands."""
    return (
        isinstance(schema, dict)
        and schema.get("type") == "string"
        and schema.keys() <= _OF_ANY_TEXT
        and all(isinstance(each, str) for each in value)
    )
