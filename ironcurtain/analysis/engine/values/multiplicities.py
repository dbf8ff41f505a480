"""Arrays whose elements are counted: how often each kind of element must stand in one to be tried.

A test that compares a number with a bound does not tell numbers above the bound apart. So of each kind as
many elements as the greatest bound and one more stand for all greater numbers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from ironcurtain.analysis.engine.rules.predicates import Predicate
from ironcurtain.analysis.engine.values.enumeration import Enumeration
from ironcurtain.system.frozen import JsonValue


def counted_arrays(
    kinds: Sequence[JsonValue],
    matching: Sequence[bool],
    counted: Sequence[Predicate],
    lengths: Sequence[int],
    most: int,
) -> Enumeration[JsonValue]:
    """Return arrays for every outcome of tests that count elements, and of all others.

    Args:
        kinds: One element of each kind.
        matching: For each kind, whether some test counts it.
        counted: The tests that count.
        lengths: Lengths of arrays between which other tests or the schema tell.
        most: How many arrays may be tried.
    """
    bound = max((a.condition.count.number for a in counted if a.condition and a.condition.count), default=0)
    longest = max(lengths, default=0)
    # Without a test of the whole length only the kinds that are counted need to stand there several times.
    tops = [max(bound if is_counted else 0, longest) + 1 for is_counted in matching]
    gaps = frozenset[str]()
    choices: list[Sequence[int]] = [range(top + 1) for top in tops]
    if math.prod(map(len, choices)) > most:
        gaps = frozenset({"an array whose elements are counted, of too many kinds"})
        choices = [sorted({0, 1, bound, bound + 1} & {*range(top + 1)}) for top in tops]
    found = (
        [kind for kind, number in zip(kinds, numbers, strict=True) for _ in range(number)]
        for numbers in itertools.islice(itertools.product(*choices), most)
    )
    return Enumeration(tuple(found), gaps)
