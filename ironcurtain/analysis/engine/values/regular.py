r"""Regular expressions as states: all of RE2 but for what names sets of Unicode.

A state is an expression for the rest of a text; reading a character gives the derivative (Brzozowski).
What asks for a place in the text, such as `^` or `\b`, is an expression that reads nothing; whether it
holds depends on the character before and the one that comes next.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from typing import ClassVar, TypeAlias
from weakref import WeakValueDictionary

import re2

LAST = 0x10FFFF
NEWLINE = 10
WORD = ((48, 57), (65, 90), (95, 95), (97, 122))
Interval: TypeAlias = tuple[int, int]
Neighbour: TypeAlias = str
"""What stands beside a place: `edge` of the text, `newline`, `word` (a character of words) or `other`."""
EDGE: Neighbour = "edge"
_ASCII = 127
# The two letters outside ASCII that RE2 takes for the case of one inside it: the Kelvin sign, the long s.
_KELVIN, _LONG_S = 0x212A, 0x17F


class RegexState:
    r"""An expression: `kind` is one of none, empty, chars, place, then, either, many.

    Equal expressions are one object, so that long ones are compared and looked up as quickly as short ones.

    Attributes:
        chars: For `chars`, the code points as sorted, disjoint intervals.
        parts: For `then` two, for `either` two or more, for `many` one.
        place: For `place`, what it asks: `^` and `$` of the text, `line^` and `line$`, `\b`, `\B`.
    """

    __slots__ = ("__weakref__", "chars", "kind", "number", "parts", "place")
    _known: ClassVar[WeakValueDictionary[tuple[object, ...], RegexState]] = WeakValueDictionary()
    _numbers: ClassVar[Iterator[int]] = itertools.count()

    kind: str
    chars: tuple[Interval, ...]
    parts: tuple[RegexState, ...]
    place: str
    number: int

    def __new__(  # noqa: PYI034 - nothing is derived from it
        cls, kind: str, chars: tuple[Interval, ...] = (), parts: tuple[RegexState, ...] = (), place: str = ""
    ) -> RegexState:
        """Return the one expression that is so."""
        key = kind, chars, parts, place
        found = cls._known.get(key)
        if found is None:
            found = super().__new__(cls)
            found.kind, found.chars, found.parts, found.place = key
            found.number = next(cls._numbers)
            cls._known[key] = found
        return found


NONE = RegexState("none")
EMPTY = RegexState("empty")
ANYTHING = RegexState("many", parts=(RegexState("chars", ((0, LAST),)),))


def literal(text: str) -> RegexState:
    """Return the expression of exactly one text."""
    return sequence([chars(((ord(character), ord(character)),)) for character in text])


def chars(intervals_: Iterable[Interval]) -> RegexState:
    """Return the expression of one character of a set."""
    found = union(intervals_)
    return RegexState("chars", found) if found else NONE


def place(asked: str) -> RegexState:
    """Return the expression that reads nothing and holds at some places only."""
    return RegexState("place", place=asked)


def sequence(parts: Iterable[RegexState]) -> RegexState:
    """Return the expression of one part after the other."""
    rest = EMPTY
    for part in reversed(list(parts)):
        rest = _then(part, rest)
    return rest


def either(*parts: RegexState) -> RegexState:
    """Return the expression of any of the parts."""
    flat = {p for part in parts for p in (part.parts if part.kind == "either" else (part,)) if p != NONE}
    if not flat:
        return NONE
    ordered = tuple(sorted(flat, key=lambda part: part.number))
    return ordered[0] if len(ordered) == 1 else RegexState("either", parts=ordered)


def many(one: RegexState) -> RegexState:
    """Return the expression of a part any number of times."""
    return EMPTY if one in (NONE, EMPTY) else RegexState("many", parts=(one,))


def counted(one: RegexState, low: int, high: int | None) -> RegexState:
    """Return the expression of a part a number of times."""
    rest = many(one) if high is None else EMPTY
    for _ in range((high or low) - low):
        rest = either(EMPTY, _then(one, rest))
    for _ in range(low):
        rest = _then(one, rest)
    return rest


def side_of(code: int) -> Neighbour:
    """Return what a character is to the places beside it."""
    if code == NEWLINE:
        return "newline"
    return "word" if any(low <= code <= high for low, high in WORD) else "other"


def accepts(rest: RegexState, before: Neighbour) -> bool:
    """Tell whether the text may end here, after a character of a kind or at its beginning."""
    return _is_empty(rest, before, EDGE)


@lru_cache(maxsize=100_000)
def after(rest: RegexState, code: int, before: Neighbour) -> RegexState:
    """Return the expression for what may follow a character; `before` is what stands before it."""
    if rest.kind == "chars":
        return EMPTY if any(low <= code <= high for low, high in rest.chars) else NONE
    if rest.kind == "many":
        return _then(after(rest.parts[0], code, before), rest)
    if rest.kind == "either":
        return either(*(after(part, code, before) for part in rest.parts))
    if rest.kind == "then":
        first, second = rest.parts
        through = _then(after(first, code, before), second)
        if _is_empty(first, before, side_of(code)):
            return either(through, after(second, code, before))
        return through
    return NONE


@lru_cache(maxsize=10_000)
def asks_for_places(rest: RegexState) -> bool:
    """Tell whether some part of an expression asks what stands beside it."""
    return any(part.kind == "place" for part in _all_parts(rest))


def intervals(rest: RegexState) -> Iterator[Interval]:
    """Yield every interval of characters that the expression tells apart."""
    for part in _all_parts(rest):
        yield from part.chars
        if part.kind == "place":
            yield (NEWLINE, NEWLINE)
            yield from WORD


def _all_parts(rest: RegexState) -> Iterator[RegexState]:
    seen, waiting = {rest}, [rest]
    while waiting:
        part = waiting.pop()
        yield part
        waiting += {*part.parts} - seen
        seen.update(part.parts)


def union(found: Iterable[Interval]) -> tuple[Interval, ...]:
    """Return intervals sorted, and joined where they meet."""
    joined: list[Interval] = []
    for low, high in sorted(found):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], high))
        else:
            joined.append((low, high))
    return tuple(joined)


def complement(found: Iterable[Interval]) -> tuple[Interval, ...]:
    """Return the intervals of all other characters."""
    gaps, start = [], 0
    for low, high in union(found):
        if start < low:
            gaps.append((start, low - 1))
        start = max(start, high + 1)
    if start <= LAST:
        gaps.append((start, LAST))
    return tuple(gaps)


@lru_cache(maxsize=100_000)
def _is_empty(rest: RegexState, before: Neighbour, following: Neighbour) -> bool:
    """Tell whether an expression can read nothing between two sides."""
    if rest.kind in ("empty", "many"):
        return True
    if rest.kind == "place":
        return _HOLDS[rest.place](before, following)
    if rest.kind == "then":
        return all(_is_empty(part, before, following) for part in rest.parts)
    return rest.kind == "either" and any(_is_empty(part, before, following) for part in rest.parts)


_HOLDS: Mapping[str, Callable[[Neighbour, Neighbour], bool]] = {
    "^": lambda before, _: before == EDGE,
    "$": lambda _, following: following == EDGE,
    "line^": lambda before, _: before in (EDGE, "newline"),
    "line$": lambda _, following: following in (EDGE, "newline"),
    "\\b": lambda before, following: (before == "word") is not (following == "word"),
    "\\B": lambda before, following: (before == "word") is (following == "word"),
}


def _then(first: RegexState, second: RegexState) -> RegexState:
    if NONE in (first, second):
        return NONE
    items = []
    while first.kind == "then":
        item, first = first.parts
        items.append(item)
    if first != EMPTY:
        items.append(first)
    rest = second
    for item in reversed(items):
        rest = item if rest == EMPTY else RegexState("then", parts=(item, rest))
    return rest


def folded(found: Iterable[Interval]) -> tuple[Interval, ...]:
    """Return a set of characters with every other case of each of them, as RE2 sees cases with `i`."""
    own = union(found)
    groups = _ascii_letters() if all(high <= _ASCII for _, high in own) else _all_letters()
    more = [
        (code, code)
        for group in groups
        if any(low <= code <= high for code in group for low, high in own)
        for code in group
    ]
    return union((*own, *more))


@cache
def _ascii_letters() -> tuple[frozenset[int], ...]:
    extra = {"k": {_KELVIN}, "s": {_LONG_S}}
    letters = "abcdefghijklmnopqrstuvwxyz"
    return tuple(frozenset({ord(c), ord(c.upper())} | extra.get(c, set())) for c in letters)


@cache
def _all_letters() -> tuple[frozenset[int], ...]:
    """Return every group of letters: proposed by Python's tables, and confirmed by RE2, one by one."""
    near: dict[str, set[str]] = {}
    for code in range(sys.maxunicode + 1):
        one = chr(code)
        for other in {one.lower(), one.upper(), one.title(), one.casefold()} - {one}:
            if len(other) == 1:
                joined = near.get(one, {one}) | near.get(other, {other})
                for each in joined:
                    near[each] = joined
    groups = set()
    for letter, joined in near.items():
        same = re2.compile(f"(?i:\\x{{{ord(letter):x}}})")
        groups.add(frozenset(ord(each) for each in joined if same.fullmatch(each)))
    return tuple(group for group in sorted(groups, key=sorted) if len(group) > 1)
