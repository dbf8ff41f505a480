"""JSON text: strict reading (step 1 of a decision), canonical writing, digests.

Strict means that nothing two parsers could read differently is accepted: no duplicate keys, no NaN or
Infinity, no number that is not a finite double, no number beyond ±(2^53-1), no lone surrogate, no
more than 64 levels, no more than 1 MiB.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TypeAlias, TypeGuard, TypeVar, cast

import re2
import rfc8785
from pydantic_core import from_json, to_json

from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import in_quotes

JsonSource: TypeAlias = Mapping[str, "JsonSource"] | Sequence["JsonSource"] | str | int | float | bool | None
"""What JSON can be written from: a JSON value, or mappings and sequences of other types that mean one."""

MAX_BYTES = 1 << 20
MAX_DEPTH = 64
MAX_INTEGER = (1 << 53) - 1
_MAX_SHOWN = 80
_SMALL, _FEW_LEVELS = 10_000, 16
"""Characters and values, and levels, of what is copied piece by piece; no JSON text of such is too long."""
# Python's encoder is many times faster than a canonical one, and writes the same but for floats, integers
# beyond the limit, keys that are no text, and the order of keys with characters beyond the first plane.
_PLAIN = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
_OTHERWISE = re2.compile(
    rb'(?:^|":|[,\[])-?[0-9]*(?:[0-9][.e]|[0-9]{16})|[{,]"(?:-?[0-9][^"]*|true|false|null)":'
    rb"|[\x{E000}-\x{10FFFF}]"
)
# Python's encoder is slow where it indents; Pydantic's writes the same but for floats.
_FLOAT = re2.compile(r'(?:^|":|[,\[])-?[0-9]+[.e]')
_REORDERED = "\ue000"
"""The first character that UTF-16 sorts in another way than code points do."""
_FEW = 256
_LARGEST, _SMALLER = str(MAX_INTEGER).encode(), b"9" * 15


class _OtherwiseError(Exception):
    """A value is not one that is written alike by all."""


class MalformedJsonError(ValueError):
    """The text or value is not strict JSON; the message says why.

    Attributes:
        line: 1-based line of a mistake in the syntax, `column` its 1-based column; else None.
    """

    def __init__(self, why: str, *, line: int | None = None, column: int | None = None) -> None:
        super().__init__(why)
        self.line = line
        self.column = column


def parse(text: str | bytes, *, max_bytes: int = MAX_BYTES, any_double: bool = False) -> JsonValue:
    """Parse strict JSON.

    Args:
        text: The text, or its bytes in UTF-8.
        max_bytes: How large it may be.
        any_double: Take any finite double, as the bounds in a tool's schema may be. Otherwise a number
            beyond ±(2^53-1) is refused however it is written: every double there is a whole number, so
            that 1e16 is the integer that another parser reads, and that is refused.

    Raises:
        MalformedJsonError: With the reason, if the text is anything else.
    """
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if len(raw) > max_bytes:
        raise MalformedJsonError(f"larger than {max_bytes} bytes")
    try:
        decoded = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedJsonError(f"not UTF-8 at byte {error.start}") from None
    if decoded.startswith(_MARK):
        raise MalformedJsonError("a byte order mark", line=1, column=1)
    try:
        value: JsonValue = (_ANY_DOUBLE if any_double else _STRICT).decode(decoded)
    except json.JSONDecodeError as error:
        raise MalformedJsonError(
            f"{error.msg} at line {error.lineno} column {error.colno}", line=error.lineno, column=error.colno
        ) from None
    except RecursionError:
        raise MalformedJsonError(f"nested deeper than {MAX_DEPTH} levels") from None
    # Numbers and keys have been checked; only these texts can hold a lone surrogate or lie too deep.
    if "\\u" in decoded or decoded.count("[") + decoded.count("{") > MAX_DEPTH:
        check(value, any_double=any_double)
    return value


def parse_object(text: str | bytes) -> dict[str, JsonValue]:
    """Parse strict JSON that must be an object.

    Raises:
        MalformedJsonError: If the text is anything else.
    """
    value = parse(text)
    if not isinstance(value, dict):
        raise MalformedJsonError("not an object")
    return value


def members(value: JsonValue) -> dict[str, JsonValue]:
    """Return the members of an object; none where the value is anything else."""
    return value if isinstance(value, dict) else {}


def check(value: JsonSource, *, any_double: bool = False) -> None:
    """Hold an already parsed value to the same rules as `parse`, size in bytes aside.

    Raises:
        MalformedJsonError: If the value could not have come from strict JSON.
    """
    level: list[JsonSource] = [value]
    largest = math.inf if any_double else MAX_INTEGER
    for _ in range(MAX_DEPTH):
        level = _children(level, largest)
        if not level:
            return
    raise MalformedJsonError(f"nested deeper than {MAX_DEPTH} levels")


def plain(value: JsonSource) -> JsonValue:
    """Return an already parsed value as `parse` would have returned it: a copy of plain lists and dicts.

    What a Python value can be beyond JSON (a tuple, a subclass of a dictionary that answers differently
    each time) cannot come through.

    Raises:
        MalformedJsonError: If no strict JSON text of legal size holds the value.
    """
    try:
        return _copied_if_small(value, 0, [_SMALL])
    except _NotSmallError:
        check(value)
    try:
        return parse(_WRITER.encode(value))
    except (TypeError, ValueError, RecursionError) as error:
        if isinstance(error, MalformedJsonError):
            raise
        raise MalformedJsonError("a value that is no JSON") from None


class _NotSmallError(Exception):
    """A value is large, or nothing that strict JSON yields."""


def _copied_if_small(value: JsonSource, level: int, room: list[int]) -> JsonValue:
    """Return a copy of a small value, which holds objects of the plain types and nothing refused.

    Raises:
        _NotSmallError: If that is not seen at a glance.
    """
    room[0] -= 1 + (len(value) if type(value) is str else 0)
    if room[0] < 0 or level > _FEW_LEVELS:
        raise _NotSmallError
    if type(value) is str:
        if value.isascii():
            return value
    elif type(value) is dict:
        copy: dict[str, JsonValue] = {}
        for key, each in value.items():
            if type(key) is not str or not key.isascii():
                break
            room[0] -= len(key)
            copy[key] = _copied_if_small(each, level + 1, room)
        else:
            return copy
    elif type(value) is list:
        return [_copied_if_small(each, level + 1, room) for each in value]
    elif value is None or type(value) is bool or (_is_number(value) and abs(value) <= MAX_INTEGER):
        return value
    raise _NotSmallError


def _is_number(value: JsonSource) -> TypeGuard[int | float]:
    return type(value) is int or type(value) is float


_Json = TypeVar("_Json", bound=JsonValue)


def copied(value: _Json) -> _Json:
    """Return a copy that shares no object or array with the value."""
    copy: JsonValue = value
    if isinstance(value, dict):
        copy = {key: copied(child) for key, child in value.items()}
    elif isinstance(value, list):
        copy = [child if isinstance(child, str) else copied(child) for child in value]
    return cast("_Json", copy)


def canonical(value: JsonSource) -> bytes:
    """Serialise canonically (RFC 8785): one byte string for one value, on every machine."""
    with suppress(_OtherwiseError, TypeError, ValueError):  # said below, where something is wrong
        return to_json(_few_in_order(value, _FEW)[0])  # by far the quickest with long texts
    try:
        data = _PLAIN.encode(value).encode()
    except (TypeError, ValueError, RecursionError):
        return rfc8785.dumps(value)  # which says what is wrong
    # It may have been found inside of a text, as in rows of a table, where both write the same.
    if _OTHERWISE.search(data.replace(_LARGEST, _SMALLER)) and not _is_written_alike(value):
        return rfc8785.dumps(value)
    return data


def _few_in_order(value: JsonSource, room: int) -> tuple[JsonSource, int]:
    """Return a value with its keys in order, and how many more values there is room for.

    Raises:
        _OtherwiseError: If there is no room, or Pydantic's encoder may write it in another way.
    """
    kind, room = type(value), room - 1
    if kind is str or value is None or kind is bool:
        return value, room
    if kind is dict and isinstance(value, dict) and len(value) <= room:
        made: dict[str, JsonSource] = {}
        for key in sorted(value) if len(value) > 1 else value:
            if type(key) is not str or (not key.isascii() and max(key) >= _REORDERED):
                raise _OtherwiseError
            made[key], room = _few_in_order(value[key], room)
        return made, room
    if kind is list and isinstance(value, list) and len(value) <= room:
        items: list[JsonSource] = []
        for each in value:
            item, room = _few_in_order(each, room)
            items.append(item)
        return items, room
    if kind is int and isinstance(value, int) and abs(value) <= MAX_INTEGER:
        return value, room
    raise _OtherwiseError


def _is_written_alike(value: JsonSource) -> bool:
    """Tell whether a value holds nothing that a canonical encoder could write in another way or order."""
    waiting: list[JsonSource] = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            if not all(isinstance(key, str) and (key.isascii() or max(key) < _REORDERED) for key in each):
                return False
            waiting += each.values()
        elif isinstance(each, list | tuple):
            waiting += each
        elif isinstance(each, float) or (isinstance(each, int) and abs(each) > MAX_INTEGER):
            return False
    return True


def digest(value: JsonSource) -> str:
    """Return `sha256:<hex>` of the canonical serialisation."""
    return digest_bytes(canonical(value))


def digest_bytes(data: bytes) -> str:
    """Return `sha256:<hex>` of the bytes."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def pretty(value: JsonSource) -> str:
    """Serialise for people and for git: sorted keys, two spaces, a final newline, byte-stable."""
    with suppress(ValueError):  # what has no strict text is written as Python writes it
        ordered = _PLAIN.encode(value)
        if not _FLOAT.search(ordered):
            return to_json(from_json(ordered), indent=2).decode() + "\n"
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def shown(value: JsonSource) -> str:
    """Return a value as people read it, in one line: JSON but for backslashes that can stay as they are."""
    if isinstance(value, str):
        return in_quotes(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{in_quotes(key)}: {shown(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(shown, value)) + "]"
    return json.dumps(value)


def _object(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    result = dict(pairs)
    if len(result) != len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise MalformedJsonError(f"duplicate key {json.dumps(twice[:_MAX_SHOWN])}")
    return result


def _constant(name: str) -> JsonValue:
    raise MalformedJsonError(f"{name} is not JSON")


def _integer(text: str) -> int:
    if len(text) > len(str(MAX_INTEGER)) + 1 or abs(int(text)) > MAX_INTEGER:
        raise MalformedJsonError("an integer beyond ±(2^53-1)")
    return int(text)


def _float(text: str) -> float:
    value = _finite(text)
    if abs(value) > MAX_INTEGER:
        raise MalformedJsonError("a number beyond ±(2^53-1)")
    return value


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise MalformedJsonError("a number that is no finite double")
    return value


def _children(level: list[JsonSource], largest: float) -> list[JsonSource]:
    """Check some values, and return what they hold."""
    children: list[JsonSource] = []
    for value in level:
        if isinstance(value, str):
            _check_string(value)
        elif isinstance(value, dict):
            for key, child in value.items():
                if not isinstance(key, str):
                    raise MalformedJsonError("an object key that is no string")
                _check_string(key)
                children.append(child)
        elif isinstance(value, list | tuple):
            children.extend(value)
        else:
            _check_number(value, largest)
        # A Python value can hold itself, or one list many times; no JSON text of legal size is so wide.
        if len(children) > MAX_BYTES:
            raise MalformedJsonError(f"larger than {MAX_BYTES} bytes")
    return children


def _check_number(value: JsonSource, largest: float) -> None:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise MalformedJsonError("a number that is no finite double")
        if abs(value) > largest:
            raise MalformedJsonError("a number beyond ±(2^53-1)")
    elif isinstance(value, int):
        if abs(value) > MAX_INTEGER:
            raise MalformedJsonError("an integer beyond ±(2^53-1)")
    elif value is not None:
        raise MalformedJsonError(f"a value that is no JSON ({type(value).__name__})")


def _check_string(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise MalformedJsonError("a lone surrogate") from None


_MARK = "\ufeff"
# Made once: `json.loads` would make one for each text.
_STRICT, _ANY_DOUBLE = (
    json.JSONDecoder(
        object_pairs_hook=_object, parse_constant=_constant, parse_int=_integer, parse_float=parse_float
    )
    for parse_float in (_float, _finite)
)
_WRITER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


_TYPE_NAMES = (
    (bool, "boolean"),
    (str, "string"),
    (int | float, "number"),
    (list, "array"),
    (dict, "object"),
)


def type_name(value: JsonValue) -> str:
    """Return the JSON name of a value's type."""
    return next((name for kind, name in _TYPE_NAMES if isinstance(value, kind)), "null")
