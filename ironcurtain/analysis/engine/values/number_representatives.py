"""Numbers that tell tests apart: the constants, what lies between neighbours, and what lies outside."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

from ironcurtain.system.frozen import is_number
from ironcurtain.system.json_text import MAX_INTEGER


def distinguishing_numbers(points: Iterable[float], steps: Sequence[float] = ()) -> list[float]:
    """Return numbers for every combination of comparisons with some points, integers among them.

    Args:
        points: The constants of tests and the bounds of a schema.
        steps: What the numbers must be multiples of.
    """
    known = sorted({n for n in points if is_number(n)}) or [0]
    found: list[float] = []
    for low, high in itertools.pairwise(known):
        found += _between(low, high)
    for point in known:
        found += [point, math.floor(point) - 1, math.ceil(point) + 1]
        found += [math.floor(point), math.ceil(point)]
        found += [math.nextafter(point, -math.inf), math.nextafter(point, math.inf)]
    for step in steps:
        found += _multiples(known, step) if step > 0 else ()
    if are_whole(steps):
        found += _multiples(known, math.lcm(*(int(step) for step in steps)))
    return [n for n in dict.fromkeys(map(_plain, found)) if _is_json(n)]


def are_whole(steps: Sequence[float]) -> bool:
    """Tell whether numbers are positive integers, whose multiples are exact; false where there are none."""
    return bool(steps) and all(step > 0 and float(step).is_integer() for step in steps)


def _between(low: float, high: float) -> list[float]:
    middle = low / 2 + high / 2
    return [n for n in (middle, math.floor(middle), math.ceil(middle), math.floor(low) + 1) if low < n < high]


def _multiples(points: Sequence[float], step: float) -> Iterable[float]:
    for point in points:
        nearest = math.floor(point / step)
        for offset in (-1, 0, 1, 2):
            yield (nearest + offset) * step


def _plain(number: float) -> float:
    """Write whole numbers as integers, as people do; 1.0 and 1 are one number in JSON."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _is_json(number: float) -> bool:
    """Tell whether a call can hold a number: step 1 refuses whatever is beyond the limit."""
    return abs(number) <= MAX_INTEGER
