"""Letters that differ in case only, as RE2 sees them under the flag `i`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cache

import re2

from ironcurtain.analysis.engine.values.regular import Interval, union

_ASCII = 127
# The two letters outside ASCII that RE2 takes for the case of one inside it: the Kelvin sign, the long s.
_KELVIN, _LONG_S = 0x212A, 0x17F


def folded(found: Iterable[Interval]) -> tuple[Interval, ...]:
    """Return a set of characters with every other case of each of them."""
    own = union(found)
    groups = _ascii() if all(high <= _ASCII for _, high in own) else _all()
    more = [
        (code, code)
        for group in groups
        if any(low <= code <= high for code in group for low, high in own)
        for code in group
    ]
    return union((*own, *more))


@cache
def _ascii() -> tuple[frozenset[int], ...]:
    extra = {"k": {_KELVIN}, "s": {_LONG_S}}
    letters = "abcdefghijklmnopqrstuvwxyz"
    return tuple(frozenset({ord(c), ord(c.upper())} | extra.get(c, set())) for c in letters)


@cache
def _all() -> tuple[frozenset[int], ...]:
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
