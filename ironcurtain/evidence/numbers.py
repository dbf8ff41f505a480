"""Numbers that tell tests apart: the constants, what lies between neighbours, and what lies outside."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import TypeGuard

from ironcurtain.model.base import Json
from ironcurtain.model.jsontext import MAX_INTEGER

_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "default", "const")


def distinguishing_numbers(constants: Iterable[float], schema: dict[str, Json]) -> list[float]:
    """Return numbers for every combination of comparisons with the constants that the schema permits.

    The schema may refuse some of them; `minimum`, `maximum`, `multipleOf` and `integer` are seen to.
    """
    known = {n for n in constants if is_number(n)}
    known |= {schema[key] for key in _BOUNDS if is_number(schema.get(key))}
    points = sorted(known) or [0]
    found: list[float] = []
    for low, high in itertools.pairwise(points):
        found += _between(low, high)
    for point in points:
        found += [point, math.floor(point) - 1, math.ceil(point) + 1]
        found += [math.floor(point), math.ceil(point)]
        found += [math.nextafter(point, -math.inf), math.nextafter(point, math.inf)]
    step = schema.get("multipleOf")
    if is_number(step) and step > 0:
        found += _multiples(points, step)
    return [n for n in dict.fromkeys(map(_plain, found)) if _is_json(n)]


def is_number(value: object) -> TypeGuard[float]:
    """Tell whether a JSON value is a number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


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
    is_whole = isinstance(number, float) and number.is_integer() and abs(number) <= MAX_INTEGER
    return int(number) if is_whole else number


def _is_json(number: float) -> bool:
    if isinstance(number, int):
        return abs(number) <= MAX_INTEGER
    return math.isfinite(number)
