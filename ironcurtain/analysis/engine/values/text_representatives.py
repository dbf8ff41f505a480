"""Strings that tell tests apart: one for every combination of constants, expressions and lengths."""

from __future__ import annotations

import itertools
import string
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from ironcurtain.analysis.engine.rules.predicates import matcher
from ironcurtain.analysis.engine.values.enumeration import Enumeration
from ironcurtain.analysis.engine.values.regular import (
    EDGE,
    LAST,
    Neighbour,
    RegexState,
    accepts,
    after,
    asks_for_places,
    intervals,
    literal,
    side_of,
)
from ironcurtain.analysis.engine.values.regular_syntax import searching, whole
from ironcurtain.decision.canonical.schema_patterns import compiled_pattern
from ironcurtain.system.structs import Struct

MAX_STATES = 4_000
MAX_LENGTH = 100_000
_MAX_EXPLORED_LENGTH = 300
_READABLE = string.ascii_lowercase + string.ascii_uppercase + string.digits + "-_. /@:"
_SURROGATES = range(0xD800, 0xE000)
_FIRST_LETTER = ord("a")


class TextTests(Struct):
    """What a policy and a schema ask of one string.

    Attributes:
        constants: Strings that it is compared with.
        patterns: Expressions of rules, over whole strings.
        lengths: Numbers that its length is compared with.
        sought: Expressions of the schema, which are searched for.
        shortest: The least number of characters that the schema permits, and
        longest: the greatest one, if it names one.
    """

    constants: tuple[str, ...]
    patterns: tuple[str, ...]
    lengths: tuple[float, ...]
    sought: tuple[str, ...] = ()
    shortest: int = 0
    longest: int | None = None


def distinguishing_texts(tests: TextTests, fresh: Sequence[str]) -> Enumeration[str]:
    """Return strings for every combination of outcomes that exists.

    Args:
        tests: What is asked of the string.
        fresh: Readable strings to take where any other string does.
    """
    lengths = sorted(_lengths(tests))
    gaps = {"a text longer than can be tried"} if any(n > MAX_LENGTH for n in lengths) else set()
    taken = {*tests.constants, *fresh}
    simple = [*fresh, *tests.constants, *(t for n in lengths if n <= MAX_LENGTH for t in _others(n, taken))]
    if not tests.patterns and not tests.sought:
        return Enumeration(tuple(dict.fromkeys(simple)), frozenset(gaps))
    found = _explored(tests, tuple(n for n in lengths if n <= _MAX_EXPLORED_LENGTH))
    if lengths[-1] > _MAX_EXPLORED_LENGTH:
        gaps.add("a regular expression together with a long text")
    return Enumeration(tuple(dict.fromkeys((*simple, *found.values))), found.gaps | gaps)


def _lengths(tests: TextTests) -> Iterator[int]:
    """Yield a length for every outcome that tests of the length can have.

    Between two neighbouring bounds one length does, the least. Of length 0 there is one text only, so where
    all texts from there on have one outcome a text of length 1 is yielded, too: it can differ from constants.
    """
    for bound in tests.lengths:
        yield from (n for n in (int(bound // 1) + offset for offset in (-1, 0, 1)) if n >= 0)
    yield from (tests.shortest, max(tests.shortest, 1))
    if tests.longest is not None and tests.longest < 1:
        yield 0


def _others(length: int, taken: set[str]) -> Iterator[str]:
    """Yield two texts of a length that are not taken, as far as there are any."""
    if length == 0:
        yield ""
        return
    codes = itertools.chain(range(_FIRST_LETTER, LAST), range(32, _FIRST_LETTER))
    free = (chr(code) * length for code in codes if code not in _SURROGATES)
    yield from itertools.islice((text for text in free if text not in taken), 2)


def _explored(tests: TextTests, lengths: tuple[int, ...]) -> Enumeration[str]:
    """Return texts for every outcome of the expressions, as RE2 itself sees them."""
    read = [whole(each) for each in tests.patterns]
    sought = [searching(each) for each in tests.sought]
    # What a schema asks for is left out where it cannot be read: then more texts are tried than are valid.
    kept = [(text, each) for text, each in zip(tests.sought, sought, strict=True) if each.doubt is None]
    rests = (*(each.rest for each in read), *(each.rest for _, each in kept))
    try:
        found, complete = _explore((*rests, *map(literal, tests.constants)), lengths)
    except RecursionError:
        return Enumeration((), frozenset({"a regular expression of very many parts that may be missing"}))
    gaps = {f"a regular expression with {each.doubt}" for each in read if each.doubt is not None}
    if not complete:
        gaps.add("regular expressions with too many states together")
    if not gaps and not all(_as_re2(tests.patterns, [text for text, _ in kept], *each) for each in found):
        gaps.add("a regular expression that RE2 reads otherwise")
    return Enumeration(tuple(text for text, _ in found), frozenset(gaps))


def _as_re2(patterns: Sequence[str], sought: Sequence[str], text: str, outcome: tuple[bool, ...]) -> bool:
    said = [matcher(pattern).fullmatch(text) is not None for pattern in patterns]
    said += [compiled_pattern(pattern).search(text) is not None for pattern in sought]
    return said == list(outcome[: len(said)])


@lru_cache(maxsize=1024)
def _explore(
    wanted: tuple[RegexState, ...], lengths: tuple[int, ...]
) -> tuple[tuple[tuple[str, tuple[bool, ...]], ...], bool]:
    """Walk the product of all expressions and a length counter; keep the first two texts of each outcome.

    Two, because a test may ask whether two values are equal, and both may have this outcome.
    """
    letters = _alphabet(wanted)
    longest = max(lengths, default=0)
    side = side_of if any(map(asks_for_places, wanted)) else _no_side
    start: tuple[tuple[RegexState, ...], int, Neighbour] = (wanted, 0, EDGE)
    seen, waiting = {start}, deque([(start, "")])
    found: dict[tuple[tuple[bool, ...], int], list[str]] = {}
    complete = True
    while waiting:
        (rests, length, before), text = waiting.popleft()
        outcome = tuple(accepts(rest, before) for rest in rests)
        texts = found.setdefault((outcome, length), [])
        stays = (text + letter for letter in letters if _stays(rests, before, ord(letter), side))
        texts += itertools.islice((each for each in (text, *stays) if each not in texts), 2 - len(texts))
        for letter in letters:
            code = ord(letter)
            following = (
                tuple(after(rest, code, before) for rest in rests),
                min(length + 1, longest + 1),
                side(code),
            )
            if following in seen:
                continue
            if len(seen) >= MAX_STATES:
                complete = False
                break
            seen.add(following)
            waiting.append((following, text + letter))
    return tuple((text, outcome) for (outcome, _), texts in found.items() for text in texts), complete


def _stays(
    rests: tuple[RegexState, ...], before: Neighbour, code: int, side: Callable[[int], Neighbour]
) -> bool:
    """Tell whether a letter leaves every expression's state, so that a longer text has the same outcome."""
    return side(code) == before and all(after(rest, code, before) == rest for rest in rests)


def _no_side(_: int) -> Neighbour:
    """Where no expression asks what stands beside a place, nothing is told apart by it."""
    return EDGE


def _alphabet(wanted: Iterable[RegexState]) -> list[str]:
    """Return one character for each set of characters that no expression tells apart."""
    starts = {0}
    for rest in wanted:
        for low, high in intervals(rest):
            starts |= {low, high + 1}
    edges = [*sorted(s for s in starts if s <= LAST), LAST + 1]
    letters = (_readable(low, high - 1) for low, high in itertools.pairwise(edges))
    return [letter for letter in letters if letter is not None]


def _readable(low: int, high: int) -> str | None:
    """Return a character of an interval, None where it holds surrogates only, which no JSON text does."""
    good = next((c for c in _READABLE if low <= ord(c) <= high), None)
    if good is not None:
        return good
    if low not in _SURROGATES:
        return chr(low)
    return chr(_SURROGATES.stop) if high >= _SURROGATES.stop else None
