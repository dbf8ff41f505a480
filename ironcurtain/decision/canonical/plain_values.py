"""Values of which it is seen at a glance whether they fit a schema: by the words that most tools use.

The validator says the same of them, ten times as slowly and once it is loaded; where this is not sure, it is
asked.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

from ironcurtain.decision.canonical.schema_patterns import compiled_pattern
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue

_MOST: Final = 1_000
"""Values that are looked at; what holds more is the validator's, which counts its work."""
_MOST_LEVELS: Final = 16
_HOLDERS: Final = ("$defs", "definitions")
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]+")
"""A name that a reference writes as it is."""
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
Definitions: TypeAlias = Mapping[str, JsonValue]
"""Schemas that a schema holds, by what refers to them."""
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


def definitions_of(schema: dict[str, JsonValue]) -> Definitions:
    """Return what references in a valid schema can lead to, by the reference: `#/$defs/node`.

    Nothing where a part of the schema has an address of its own: references in it start there.
    """
    found = {
        f"#/{holder}/{name}": each
        for holder in _HOLDERS
        for name, each in json_text.members(schema.get(holder)).items()
        if _NAME.fullmatch(name)
    }
    return {} if found and _has_address(schema) else found


def _has_address(schema: JsonValue) -> bool:
    if isinstance(schema, list):
        return any(map(_has_address, schema))
    return isinstance(schema, dict) and ("$id" in schema or any(map(_has_address, schema.values())))


def fits_plainly(
    value: JsonValue, schemas: Iterable[JsonValue], definitions: Definitions | None = None
) -> bool | None:
    """Tell whether a value fits each of some schemas; None where that is not sure.

    Args:
        value: Anything of JSON.
        schemas: A plain schema, or some that one holds.
        definitions: What its references can lead to.
    """
    look = _Look(definitions or {})
    return _all(_fits(value, schema, 0, look) for schema in schemas)


class _Look:
    """What one look at a value has to go by.

    Attributes:
        room: How many values may be looked at still, of all together.
    """

    def __init__(self, definitions: Definitions) -> None:
        self.definitions = definitions
        self.room = _MOST


def _all(found: Iterable[bool | None]) -> bool | None:
    """Tell whether all is true: false is certain as soon as one is false."""
    sure = True
    for each in found:
        if each is False:
            return False
        sure = sure and each is True
    return True if sure else None


def _fits(value: JsonValue, schema: JsonValue, level: int, look: _Look) -> bool | None:
    """Tell it of a value in another one."""
    if isinstance(schema, bool):
        return schema
    look.room -= 1
    if not isinstance(schema, dict) or level > _MOST_LEVELS or look.room < 0:
        return None
    words = [word for word in schema if word not in _SILENT]
    if words == ["$ref"]:  # beside others it means one thing or the other, by the dialect
        return _fits(value, look.definitions.get(str(schema["$ref"])), level + 1, look)
    # What refers to another place, or has a name of its own, may mean something else altogether.
    if any(word.startswith("$") for word in words):
        return None
    fits = partial(_fits, level=level + 1, look=look)
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
    found = (fits(value, each) for each in _listed(schema["anyOf"]))
    # As the validator goes: what follows the first that fits is not looked at.
    return next((said for said in found if said is not False), False)


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
