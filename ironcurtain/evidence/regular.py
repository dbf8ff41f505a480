"""Regular expressions as states: a common subset of RE2 whose meaning is beyond doubt.

A state is an expression for the rest of a text; reading a character gives the derivative (Brzozowski).
Anything outside the subset is refused, and the caller then says `sampled`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

LAST = 0x10FFFF
_MAX_REPEAT = 64
_SPECIAL = set("\\.+*?()|[]{}^$")
_CLASSES = {
    "d": ((48, 57),),
    "w": ((48, 57), (65, 90), (95, 95), (97, 122)),
    "s": ((9, 10), (12, 13), (32, 32)),
}
_ESCAPES = {"n": 10, "t": 9, "r": 13, "f": 12, "v": 11}
_REPEAT = re.compile(r"\{(\d+)(,(\d*))?\}")

Interval: TypeAlias = tuple[int, int]


class UnsupportedPatternError(ValueError):
    """The expression uses syntax outside the subset."""


@dataclass(frozen=True)
class Rest:
    """An expression: `kind` is one of none, empty, chars, then, either, many.

    Attributes:
        chars: For `chars`, the code points as sorted, disjoint intervals.
        parts: For `then` two, for `either` two or more, for `many` one.
    """

    kind: str
    chars: tuple[Interval, ...] = ()
    parts: tuple[Rest, ...] = ()


NONE = Rest("none")
EMPTY = Rest("empty")
ANYTHING = Rest("many", parts=(Rest("chars", ((0, LAST),)),))


def parse(pattern: str, *, dot_is_newline: bool) -> Rest:
    """Return the expression that matches a whole text.

    Raises:
        UnsupportedPatternError: If it uses syntax outside the subset.
    """
    return _Parser(pattern, dot_is_newline=dot_is_newline).whole()


def literal(text: str) -> Rest:
    """Return the expression of exactly one text."""
    rest = EMPTY
    for character in reversed(text):
        rest = _then(_char(ord(character)), rest)
    return rest


def searching(pattern: str) -> Rest:
    """Return the expression of the texts in which a JSON Schema `pattern` is found.

    Raises:
        UnsupportedPatternError: As `parse`.
    """
    begins, ends = pattern.startswith("^"), pattern.endswith("$") and not pattern.endswith("\\$")
    inner = pattern[1 if begins else 0 : len(pattern) - 1 if ends else None]
    if (begins or ends) and _splits(inner):
        raise UnsupportedPatternError("an anchor beside an alternative")
    found = parse(inner, dot_is_newline=False)
    return _then(EMPTY if begins else ANYTHING, _then(found, EMPTY if ends else ANYTHING))


@lru_cache(maxsize=100_000)
def accepts(rest: Rest) -> bool:
    """Tell whether the text may end here."""
    if rest.kind in ("empty", "many"):
        return True
    if rest.kind == "then":
        return all(map(accepts, rest.parts))
    return rest.kind == "either" and any(map(accepts, rest.parts))


@lru_cache(maxsize=100_000)
def after(rest: Rest, code: int) -> Rest:
    """Return the expression for what may follow a character."""
    if rest.kind == "chars":
        return EMPTY if any(low <= code <= high for low, high in rest.chars) else NONE
    if rest.kind == "many":
        return _then(after(rest.parts[0], code), rest)
    if rest.kind == "either":
        return _either(*(after(part, code) for part in rest.parts))
    if rest.kind == "then":
        first, second = rest.parts
        through = _then(after(first, code), second)
        return _either(through, after(second, code)) if accepts(first) else through
    return NONE


def intervals(rest: Rest) -> Iterator[Interval]:
    """Yield every interval of characters that the expression tells apart."""
    yield from rest.chars
    for part in rest.parts:
        yield from intervals(part)


def _char(code: int) -> Rest:
    return Rest("chars", ((code, code),))


def _then(first: Rest, second: Rest) -> Rest:
    if NONE in (first, second):
        return NONE
    if first == EMPTY:
        return second
    if second == EMPTY:
        return first
    if first.kind == "then":
        return _then(first.parts[0], _then(first.parts[1], second))
    return Rest("then", parts=(first, second))


def _either(*parts: Rest) -> Rest:
    flat = {p for part in parts for p in (part.parts if part.kind == "either" else (part,)) if p != NONE}
    if not flat:
        return NONE
    ordered = tuple(sorted(flat, key=repr))
    return ordered[0] if len(ordered) == 1 else Rest("either", parts=ordered)


def _splits(pattern: str) -> bool:
    """Tell whether an alternative stands outside every group."""
    depth = 0
    for character in re.sub(r"\\.|\[[^\]]*\]", "", pattern):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "|" and depth == 0:
            return True
    return False


class _Parser:
    """Recursive descent over one expression."""

    def __init__(self, pattern: str, *, dot_is_newline: bool) -> None:
        self._text = pattern
        self._at = 0
        self._dot = ((0, LAST),) if dot_is_newline else ((0, 9), (11, LAST))

    def whole(self) -> Rest:
        found = self._alternatives()
        if self._at != len(self._text):
            raise UnsupportedPatternError(f"at {self._at}")
        return found

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _take(self) -> str:
        self._at += 1
        return self._text[self._at - 1 : self._at]

    def _alternatives(self) -> Rest:
        found = [self._sequence()]
        while self._peek() == "|":
            self._take()
            found.append(self._sequence())
        return _either(*found)

    def _sequence(self) -> Rest:
        parts = []
        while self._peek() and self._peek() not in "|)":
            parts.append(self._repeated(self._one()))
        rest = EMPTY
        for part in reversed(parts):
            rest = _then(part, rest)
        return rest

    def _repeated(self, one: Rest) -> Rest:
        found = _REPEAT.match(self._text, self._at)
        if found:
            self._at = found.end()
            low = int(found[1])
            high = low if found[2] is None else int(found[3]) if found[3] else None
            repeated = self._counted(one, low, high)
        elif self._peek() and self._peek() in "*+?":
            mark = self._take()
            many = Rest("many", parts=(one,))
            repeated = {"*": many, "+": _then(one, many), "?": _either(one, EMPTY)}[mark]
        else:
            return one
        if self._peek() == "?":  # which match is preferred does not matter to whole texts
            self._take()
        if self._peek() and self._peek() in "*+?{":
            raise UnsupportedPatternError("a repetition of a repetition")
        return repeated

    def _counted(self, one: Rest, low: int, high: int | None) -> Rest:
        if max(low, high or 0) > _MAX_REPEAT or (high is not None and high < low):
            raise UnsupportedPatternError("a count")
        rest = Rest("many", parts=(one,)) if high is None else EMPTY
        for _ in range((high or low) - low):
            rest = _either(EMPTY, _then(one, rest))
        for _ in range(low):
            rest = _then(one, rest)
        return rest

    def _one(self) -> Rest:
        character = self._take()
        if character == "(":
            return self._group()
        if character == "[":
            return Rest("chars", self._set())
        if character == ".":
            return Rest("chars", self._dot)
        if character == "\\":
            return Rest("chars", self._escape())
        if character in _SPECIAL:
            raise UnsupportedPatternError(character)
        return _char(ord(character))

    def _group(self) -> Rest:
        if self._peek() == "?" and self._text[self._at : self._at + 2] != "?:":
            raise UnsupportedPatternError("a flag or a named group")
        if self._peek() == "?":
            self._at += 2
        found = self._alternatives()
        if self._take() != ")":
            raise UnsupportedPatternError("an open group")
        return found

    def _escape(self) -> tuple[Interval, ...]:
        character = self._take()
        if character.lower() in _CLASSES:
            found = _CLASSES[character.lower()]
            return found if character.islower() else _complement(found)
        if character in _ESCAPES:
            code = _ESCAPES[character]
        elif character and not character.isalnum() and character.isascii():
            code = ord(character)
        else:
            raise UnsupportedPatternError(f"\\{character}")
        return ((code, code),)

    def _set(self) -> tuple[Interval, ...]:
        negated = self._peek() == "^"
        if negated:
            self._take()
        found: list[Interval] = []
        while self._peek() != "]" or not found:
            low = self._member()
            if self._peek() == "-" and self._text[self._at + 1 : self._at + 2] not in ("]", ""):
                self._take()
                high = self._member()
                if len(low) != 1 or len(high) != 1 or low[0][0] > high[0][1]:
                    raise UnsupportedPatternError("a range")
                low = ((low[0][0], high[0][1]),)
            found.extend(low)
        self._take()
        return _complement(tuple(found)) if negated else tuple(sorted(found))

    def _member(self) -> tuple[Interval, ...]:
        character = self._take()
        if character == "\\":
            return self._escape()
        if character in ("", "["):
            raise UnsupportedPatternError("a set")
        return ((ord(character), ord(character)),)


def _complement(found: tuple[Interval, ...]) -> tuple[Interval, ...]:
    gaps, start = [], 0
    for low, high in sorted(found):
        if start < low:
            gaps.append((start, low - 1))
        start = max(start, high + 1)
    if start <= LAST:
        gaps.append((start, LAST))
    return tuple(gaps)
