"""A policy's tests of an argument as keywords of JSON Schema.

Only what every implementation of JSON Schema reads alike is written: bounds are inclusive (older drafts
know no others as numbers), and a regular expression only where all dialects agree on it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import re2

from ironcurtain.analysis.engine.rules.predicates import Predicate
from ironcurtain.analysis.engine.values.shapes import SchemaReader
from ironcurtain.decision.canonical import pointers
from ironcurtain.model.conditions import Operator, ValueTest
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue, is_number

_SYNTAX = frozenset("^$\\.*+?()[]{}|/")
_PASSED = frozenset("^$|)*+?")
_CLASSES = {"d": "0-9", "w": "0-9A-Za-z_", "s": "\\t\\n\\f\\r "}
_CONTROLS = frozenset("ntrf")
_REPEAT = re.compile(r"\{[0-9]+(,[0-9]*)?\}")
_MAX_LENGTH = 2_000


def portable_pattern(pattern: str) -> str | None:
    """Return a rule's regular expression for a schema's `pattern`, None where dialects may differ.

    The rule's one covers whole strings and its dot covers line breaks, as OPA evaluates it.
    """
    if len(pattern) > _MAX_LENGTH or not pattern.isprintable():
        return None
    parts: list[str] = []
    place = 0
    while place < len(pattern):
        step = _step(pattern, place)
        if step is None:
            return None
        part, place = step
        parts.append(part)
    portable = f"^(?:{''.join(parts)})$"
    try:
        re2.compile(portable)
        re.compile(portable)
    except (re2.error, re.error):
        return None
    return portable


def _step(pattern: str, place: int) -> tuple[str, int] | None:
    """Return the next part and where it ends."""
    character = pattern[place]
    if character in _STEPS:
        return _STEPS[character](pattern, place)
    plain = character in _PASSED or character not in _SYNTAX
    return (character, place + 1) if plain else None


def _escape(pattern: str, place: int) -> tuple[str, int] | None:
    character = pattern[place + 1 : place + 2]
    escaped = _escaped(character)
    if escaped is None:
        return None
    return (f"[{escaped}]" if character in _CLASSES else escaped), place + 2


def _group(pattern: str, place: int) -> tuple[str, int] | None:
    if pattern.startswith("(?:", place):
        return "(?:", place + 3
    return None if pattern.startswith("(?", place) else ("(?:", place + 1)


def _repeat(pattern: str, place: int) -> tuple[str, int] | None:
    repeat = _REPEAT.match(pattern, place)
    return (repeat[0], repeat.end()) if repeat else None


def _bracket(pattern: str, start: int) -> tuple[str, int] | None:
    """Return a bracket expression of plain characters, ranges and our classes."""
    place = start + 1
    parts = ["["]
    if pattern.startswith("^", place):
        parts.append("^")
        place += 1
    while place < len(pattern) and pattern[place] != "]":
        character = pattern[place]
        if character == "[" or character in "&~":
            return None
        if character == "\\":
            escaped = _escaped(pattern[place + 1 : place + 2], inside=True)
            after = pattern[place + 2 : place + 4]
            if escaped is None or (len(after) > 1 and after[0] == "-" and after[1] != "]"):
                return None  # whether the hyphen makes a range is read in different ways
            parts.append(escaped)
            place += 2
        else:
            parts.append(character)
            place += 1
    empty = len("".join(parts)) == len("[^" if "^" in parts[1:2] else "[")
    return None if place >= len(pattern) or empty else ("".join(parts) + "]", place + 1)


def _escaped(character: str, *, inside: bool = False) -> str | None:
    if character in _CLASSES:
        return _CLASSES[character]
    if character == "-":
        return "\\-" if inside else "-"
    return f"\\{character}" if character and character in _SYNTAX | _CONTROLS else None


_STEPS: dict[str, Callable[[str, int], tuple[str, int] | None]] = {
    "\\": _escape,
    "(": _group,
    "{": _repeat,
    "[": _bracket,
    ".": lambda _, place: ("[\\s\\S]", place + 1),
    "/": lambda _, place: ("\\/", place + 1),
}


_NEGATED: dict[str, Operator] = {"le": "gt", "lt": "ge", "ge": "lt", "gt": "le"}
_SIZES = {"length": ("minLength", "maxLength"), "count": ("minItems", "maxItems")}


def below(described: dict[str, JsonValue], steps: Iterable[str]) -> dict[str, JsonValue] | None:
    """Return the schema at a pointer below an argument's, None where it is not written out."""
    schema = described
    for step in steps:
        child = schema.get("items") if step == pointers.EVERY else properties(schema).get(step)
        if not isinstance(child, dict):
            return None
        schema = child
    return schema


def properties(schema: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the schemas of the members of a schema of an object; a change to them is one to the schema."""
    return json_text.members(schema.get("properties"))


def required(schema: Mapping[str, JsonValue]) -> list[str]:
    """Return the names that a schema of an object requires."""
    names = schema.get("required")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def equal_operands(predicates: Sequence[Predicate], live: Iterable[frozenset[str]]) -> list[JsonValue] | None:
    """Return the only values that live classes can hold, None where they are not that few.

    Args:
        predicates: The tests of one argument.
        live: For each live class the keys of the tests that hold.
    """
    listed = {predicate.key: values for predicate in predicates if (values := _listed(predicate)) is not None}
    operands: dict[bytes, JsonValue] = {}
    for true in live:
        holding = [listed[key] for key in sorted(true & listed.keys())]
        if not holding:
            return None
        operands.update({json_text.canonical(value): value for values in holding for value in values})
    return list(operands.values())


def _listed(predicate: Predicate) -> list[JsonValue] | None:
    """Return the values of a test that holds for nothing but them."""
    if predicate.when is not None:
        if predicate.when.in_ is not None:
            return list(predicate.when.in_)
        return [predicate.when.equals] if predicate.when.equals is not None else None
    test = predicate.condition
    if test is None or test.measure is not None or predicate.reference is not None or len(predicate.path) > 1:
        return None
    if test.part is not None:
        return None
    if test.op not in ("equals", "in"):
        return None
    return list(test.operands)


def presence(predicate: Predicate) -> bool | None:
    """Return what a test of an argument's presence asks for, None if it is another test."""
    if predicate.when is not None:
        return predicate.when.present
    test = predicate.condition
    if test is None or test.op != "present" or len(predicate.path) > 1:
        return None
    return test.value if isinstance(test.value, bool) else None


def add_keywords(
    described: dict[str, JsonValue], predicate: Predicate, shapes: SchemaReader, *, truth: bool
) -> None:
    """Write a test that comes out the same for all live values into an argument's schema.

    Args:
        described: The argument's schema, changed in place.
        predicate: The test.
        shapes: Reads the tool's schemas.
        truth: Whether it holds, or fails, for all of them.
    """
    test = predicate.condition
    if test is None or predicate.reference is not None or test.op == "present" or test.count is not None:
        return
    if test.part is not None or test.also_in:
        return
    if pointers.EVERY in predicate.path and not (truth and test.over == "every"):
        return
    target = below(described, predicate.path[1:])
    if target is None:
        return
    if test.measure is not None:
        _size(target, test, truth=truth)
    elif test.op in _NEGATED:
        _bound(target, test.op if truth else _NEGATED[test.op], test.value, whole=shapes.is_whole(target))
    elif truth and test.op in ("equals", "in"):
        _values(target, [*test.operands, *([None] if shapes.may_be_null(target) else [])])
    elif truth and test.op == "matches":
        _pattern(target, test.value)


def _bound(target: dict[str, JsonValue], op: str, value: JsonValue, *, whole: bool) -> None:
    if not is_number(value):
        return
    if op in ("le", "lt"):
        _lower(target, "maximum", math.ceil(value) - 1 if whole and op == "lt" else value)
    else:
        _raise(target, "minimum", math.floor(value) + 1 if whole and op == "gt" else value)


def _size(target: dict[str, JsonValue], test: ValueTest, *, truth: bool) -> None:
    least, most = _SIZES[test.measure or "length"]
    value, op = test.value, test.op
    if not is_number(value):
        return
    if op == "equals" and truth and value == math.floor(value):
        _raise(target, least, math.floor(value))
        _lower(target, most, math.floor(value))
    if op not in _NEGATED:
        return
    op = op if truth else _NEGATED[op]
    if op in ("le", "lt"):
        _lower(target, most, math.floor(value) if op == "le" else math.ceil(value) - 1)
    else:
        _raise(target, least, math.ceil(value) if op == "ge" else math.floor(value) + 1)


def _lower(target: dict[str, JsonValue], key: str, value: float) -> None:
    if key.startswith("max") and key != "maximum" and value < 0:
        return  # no schema can say it, and no value has such a size
    known = target.get(key)
    target[key] = min(known, value) if is_number(known) else value


def _raise(target: dict[str, JsonValue], key: str, value: float) -> None:
    if key != "minimum" and value <= 0:
        return
    known = target.get(key)
    target[key] = max(known, value) if is_number(known) else value


def _values(target: dict[str, JsonValue], values: list[JsonValue]) -> None:
    if isinstance(target.get("enum"), list) or "const" in target:
        return  # the schema has its own list, whose values need not be spelled like the rule's
    target["enum"] = values


def _pattern(target: dict[str, JsonValue], value: JsonValue) -> None:
    pattern = portable_pattern(value) if isinstance(value, str) else None
    if pattern is None:
        return
    if "pattern" in target:
        others = target.get("allOf")
        target["allOf"] = [*(others if isinstance(others, list) else []), {"pattern": pattern}]
    else:
        target["pattern"] = pattern
