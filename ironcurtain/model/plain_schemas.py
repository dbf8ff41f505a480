"""JSON Schemas that are seen at a glance to be schemas: of the words that most tools use, each as it must be.

The meta-schema says the same of them, a hundred times as slowly: a server may list a thousand tools.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from ironcurtain.system.frozen import JsonValue, is_integer, is_number

_MOST_LEVELS: Final = 16
_TYPES: Final = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
DIALECTS: Final = frozenset(
    {"https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"}
)
"""Those in which each word below is what it is here; libraries of servers write one by themselves."""

_REFERENCE: Final = re.compile(r"#/\$defs/[A-Za-z0-9_.-]+\Z")


def is_plainly_a_schema(value: JsonValue, level: int = 0) -> bool:
    """Tell whether a value is sure to be a schema of the dialect that it names, 2020-12 if it names none.

    Where it is not sure, it may be one.

    Args:
        value: Anything of JSON.
        level: How many schemas it stands in.
    """
    if isinstance(value, bool):
        return True
    if not isinstance(value, dict) or level > _MOST_LEVELS:
        return False
    return all(_is_plain(word, each, level + 1) for word, each in value.items())


def _is_plain(word: str, value: JsonValue, level: int) -> bool:
    check = _CHECKS.get(word)
    if check is not None:
        return check(value)
    if word in {"items", "additionalProperties", "not"}:
        return is_plainly_a_schema(value, level)
    if word in {"properties", "$defs"}:
        return isinstance(value, dict) and _are_plain(value.values(), level)
    if word in {"anyOf", "oneOf", "allOf"}:
        return isinstance(value, list) and bool(value) and _are_plain(value, level)
    return False


def _are_plain(values: Iterable[JsonValue], level: int) -> bool:
    return all(is_plainly_a_schema(each, level) for each in values)


def _is_text(value: JsonValue) -> bool:
    return isinstance(value, str)


def _is_truth_value(value: JsonValue) -> bool:
    return isinstance(value, bool)


def _is_list(value: JsonValue) -> bool:
    return isinstance(value, list)


def _is_count(value: JsonValue) -> bool:
    return is_integer(value) and value >= 0


def _is_names(value: JsonValue) -> bool:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        return False
    return len(set(map(str, value))) == len(value)


def _is_type(value: JsonValue) -> bool:
    return isinstance(value, str) and value in _TYPES


def _is_reference(value: JsonValue) -> bool:
    return isinstance(value, str) and _REFERENCE.match(value) is not None


def _is_dialect(value: JsonValue) -> bool:
    return isinstance(value, str) and value in DIALECTS


def _is_expression(value: JsonValue) -> bool:
    if not isinstance(value, str):
        return False
    try:
        re.compile(value)
    except (re.error, OverflowError, RecursionError):
        return False
    return True


def _is_anything(_: JsonValue) -> bool:
    return True


_CHECKS: Final[Mapping[str, Callable[[JsonValue], bool]]] = {
    "$schema": _is_dialect,
    "type": _is_type,
    "pattern": _is_expression,
    "$ref": _is_reference,
    "required": _is_names,
    "enum": _is_list,
    "examples": _is_list,
    **dict.fromkeys(("default", "const"), _is_anything),
    **dict.fromkeys(("title", "description", "$comment", "format"), _is_text),
    **dict.fromkeys(("uniqueItems", "deprecated", "readOnly", "writeOnly"), _is_truth_value),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), is_number),
    **dict.fromkeys(
        ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _is_count
    ),
}
