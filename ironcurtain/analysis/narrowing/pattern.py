"""Regular expressions that RE2, ECMA 262 and Python read alike, for schemas that others evaluate."""

from __future__ import annotations

import re
from collections.abc import Callable

import re2

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
