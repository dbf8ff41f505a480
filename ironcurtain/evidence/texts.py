"""Strings that tell tests apart: one for every combination of constants, expressions and lengths."""

from __future__ import annotations

import itertools
import string
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ironcurtain.evidence.regular import (
    LAST,
    Rest,
    UnsupportedPatternError,
    accepts,
    after,
    intervals,
    literal,
    parse,
    searching,
)
from ironcurtain.model.base import Json

MAX_STATES = 4_000
MAX_LENGTH = 300
_READABLE = string.ascii_lowercase + string.ascii_uppercase + string.digits + "-_. /@:"


@dataclass(frozen=True)
class TextTests:
    """What a policy and a schema ask of one string.

    Attributes:
        constants: Strings that it is compared with.
        patterns: Expressions of rules, over whole strings.
        lengths: Numbers that its length is compared with.
        schema: The schema of the place, for `pattern`, `minLength` and `maxLength`.
    """

    constants: tuple[str, ...]
    patterns: tuple[str, ...]
    lengths: tuple[float, ...]
    schema: dict[str, Json]


def distinguishing_texts(tests: TextTests, fresh: Sequence[str]) -> tuple[list[str], str | None]:
    """Return strings for every combination that exists, and why there may be more, or None.

    Args:
        tests: What is asked of the string.
        fresh: Readable strings to take where any other string does.
    """
    bounds = [b for key in ("minLength", "maxLength") if isinstance(b := tests.schema.get(key), int)]
    lengths = sorted({n for bound in (*tests.lengths, *bounds) for n in _around(bound)})
    simple = [*fresh, *tests.constants, *(_of_length(n, set(tests.constants)) for n in lengths)]
    pattern = tests.schema.get("pattern")
    if not tests.patterns and not isinstance(pattern, str):
        return simple, None
    try:
        wanted = [parse(each, dot_is_newline=True) for each in tests.patterns]
        wanted += [searching(pattern)] if isinstance(pattern, str) else []
    except UnsupportedPatternError as error:
        return simple, f"a regular expression with {error}"
    constants = [literal(each) for each in tests.constants]
    found, complete = _explore((*wanted, *constants), tuple(lengths))
    return [*simple, *found], None if complete else "regular expressions with too many states together"


def _around(bound: float) -> Iterable[int]:
    whole = int(bound // 1)
    return (n for n in (whole - 1, whole, whole + 1) if 0 <= n <= MAX_LENGTH)


def _of_length(length: int, taken: set[str]) -> str:
    return next((c * length for c in string.ascii_lowercase if c * length not in taken), "x" * length)


@lru_cache(maxsize=1024)
def _explore(wanted: tuple[Rest, ...], lengths: tuple[int, ...]) -> tuple[tuple[str, ...], bool]:
    """Walk the product of all expressions and a length counter; keep the first two texts of each outcome.

    Two, because a test may ask whether two values are equal, and both may have this outcome.
    """
    letters = _alphabet(wanted)
    longest = max(lengths, default=0)
    start = (wanted, 0)
    seen, waiting = {start}, deque([(start, "")])
    found: dict[tuple[tuple[bool, ...], int], list[str]] = {}
    while waiting:
        (rests, length), text = waiting.popleft()
        texts = found.setdefault((tuple(map(accepts, rests)), length), [])
        texts += [text, *(text + letter for letter in letters if _stays(rests, letter))][: 2 - len(texts)]
        for letter in letters:
            following = (tuple(after(rest, ord(letter)) for rest in rests), min(length + 1, longest + 1))
            if following in seen:
                continue
            if len(seen) >= MAX_STATES:
                return tuple(itertools.chain(*found.values())), False
            seen.add(following)
            waiting.append((following, text + letter))
    return tuple(itertools.chain(*found.values())), True


def _stays(rests: tuple[Rest, ...], letter: str) -> bool:
    """Tell whether a letter leaves every expression's state, so that a longer text has the same outcome."""
    return all(after(rest, ord(letter)) == rest for rest in rests)


def _alphabet(wanted: Iterable[Rest]) -> list[str]:
    """Return one character for each set of characters that no expression tells apart."""
    starts = {0}
    for rest in wanted:
        for low, high in intervals(rest):
            starts |= {low, high + 1}
    edges = [*sorted(s for s in starts if s <= LAST), LAST + 1]
    return [_readable(low, high - 1) for low, high in itertools.pairwise(edges)]


def _readable(low: int, high: int) -> str:
    good = next((c for c in _READABLE if low <= ord(c) <= high), None)
    if good is not None:
        return good
    # Surrogates are no characters of JSON text.
    return chr(0xE000 if 0xD800 <= low <= 0xDFFF <= high else low)  # noqa: PLR2004 - the surrogate range
