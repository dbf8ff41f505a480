"""Numbers of two places that tests compare with each other, by a factor and an offset.

Each such test is a line over the two places, and each test of one of them with a constant is a line along an
axis. Between the places where lines meet their order is constant; so there two whole numbers on each side, a
fraction, and what then lies on and between the lines in the other place show every combination of outcomes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

from ironcurtain.analysis.engine.rules.predicates import Predicate
from ironcurtain.analysis.engine.values.compared import End
from ironcurtain.analysis.engine.values.shapes import SchemaReader
from ironcurtain.model.operators import LARGEST_SCALED, Scale, scale_of
from ironcurtain.model.unknown_facts import is_relation, operands
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue, is_number
from ironcurtain.system.json_text import MAX_INTEGER
from ironcurtain.system.structs import Struct

_MOST_ELEMENTS = 300
_Dimension: TypeAlias = tuple[End, bool]
"""What is compared, and whether its number of elements is compared instead of itself."""


class _Line(Struct):
    """The values of the first dimension that equal `slope * other + offset`."""

    slope: Fraction
    offset: Fraction


@dataclass
class RelatedNumbers:
    """What to try in places that are compared as numbers.

    Attributes:
        numbers: Numbers by place.
        lengths: Numbers of elements by place.
        gaps: Why an outcome may be missing.
    """

    numbers: dict[End, list[JsonValue]] = field(default_factory=dict)
    lengths: dict[End, list[int]] = field(default_factory=dict)
    gaps: set[str] = field(default_factory=set)


def related_numbers(
    predicates: Sequence[Predicate], shapes: SchemaReader, defaults: Mapping[str, JsonValue]
) -> RelatedNumbers:
    """Return what to try in the places that some tests compare as numbers; nothing where no test does.

    Args:
        predicates: The tests of a variable.
        shapes: Reads the tool's schemas.
        defaults: What is filled in for arguments that are left out.
    """
    found = RelatedNumbers()
    relations = [a for a in predicates if a.condition is not None and is_relation(a.condition)]
    dimensions = sorted({dimension for a in relations for dimension in _dimensions(a)})
    if not relations:
        return found
    if len(dimensions) != 2:  # noqa: PLR2004 - what two lines are drawn over
        found.gaps.add("more or fewer than two values that are compared as numbers")
        return found
    # What is compared with a multiple of the other comes first, so that its lines are whole numbers apart.
    tested = [next(_dimensions(a)) for a in relations if _scale(a).is_arithmetic]
    first = tested[0] if tested else dimensions[0]
    second = next(each for each in dimensions if each != first)
    lines = list(_lines(relations, first, found.gaps))
    constants = {each: _constants(each, predicates, shapes, defaults, found.gaps) for each in dimensions}
    if tested and not second[1]:
        constants[second] |= {Fraction(LARGEST_SCALED), Fraction(-LARGEST_SCALED)}
    crossings = {(c - line.offset) / line.slope for line in lines for c in constants[first]}
    crossings |= {
        (one.offset - other.offset) / (other.slope - one.slope)
        for one, other in itertools.combinations(lines, 2)
        if one.slope != other.slope
    }
    tried = list(_beside({*constants[second], *crossings}))
    points = {line.slope * number + line.offset for line in lines for number in tried}
    _keep(found, second, tried)
    _keep(found, first, _between(points | constants[first]))
    return found


def _dimensions(predicate: Predicate) -> Iterator[_Dimension]:
    """Yield the two sides of a relation."""
    test, other = predicate.condition, predicate.reference
    if test is not None and other is not None:
        yield (predicate.root, predicate.path), test.measure == "count"
        yield other, _scale(predicate).counts


def _scale(predicate: Predicate) -> Scale:
    return scale_of(predicate.condition.value if predicate.condition else None)


def _lines(relations: Iterable[Predicate], first: _Dimension, gaps: set[str]) -> Iterator[_Line]:
    for predicate in relations:
        tested, _ = _dimensions(predicate)
        scale = _scale(predicate)
        times, plus = Fraction(scale.times), Fraction(scale.plus)
        if tested == first:
            yield _Line(times, plus)
        else:
            if scale.is_arithmetic:
                gaps.add("two values, each of which is compared with a multiple of the other")
            yield _Line(1 / times, -plus / times)


def _constants(
    dimension: _Dimension,
    predicates: Iterable[Predicate],
    shapes: SchemaReader,
    defaults: Mapping[str, JsonValue],
    gaps: set[str],
) -> set[Fraction]:
    """Return the numbers between which other tests and the schema tell."""
    (root, path), counts = dimension
    tests = [a.condition for a in predicates if (a.root, a.path) == (root, path) and a.reference is None]
    found = [
        value
        for test in tests
        if test is not None and (test.measure == "count") is counts
        for value in operands(test.op, test.value)
    ]
    if root == "args":
        schemas = shapes.at(path)
        for shape in shapes.of(schemas):
            found += [*dict(shape.bounds).values(), *(shape.enum or ())]
            if shape.steps:
                gaps.add("multiples of a number that are compared with another value")
        if len(path) > 1 and '"default"' in json_text.canonical(list(schemas.parts)).decode():
            gaps.add("a value below an argument that has a default and is compared as a number")
        found.append(defaults.get(path[0]) if len(path) == 1 else None)
    return {Fraction(value) for value in found if is_number(value)} or {Fraction(0)}


def _beside(points: Iterable[Fraction]) -> Iterator[Fraction]:
    """Yield points, two whole numbers on each side of each, and a fraction in each interval."""
    known = sorted(points)
    near = {n for p in known for n in (math.floor(p) - 1, math.floor(p), math.ceil(p), math.ceil(p) + 1)}
    near |= {n for p in known for n in (math.floor(p) - 2, math.ceil(p) + 2)}
    between = {_fraction(low, high) for low, high in itertools.pairwise(known)}
    outside = {known[0] - Fraction(1, 2), known[-1] + Fraction(1, 2)}
    yield from sorted({*known, *map(Fraction, near), *between, *outside})


def _fraction(low: Fraction, high: Fraction) -> Fraction:
    """Return a number between two that is not whole."""
    middle = (low + high) / 2
    return middle if middle.denominator > 1 else (low + middle) / 2 if high - low <= 1 else middle + _QUARTER


_QUARTER = Fraction(1, 4)


def _between(points: Iterable[Fraction]) -> Iterator[Fraction]:
    """Yield points, what lies outside them, and between two neighbours a number, whole if there is one."""
    known = sorted(points)
    yield from known
    yield from (Fraction(math.floor(known[0]) - 1), Fraction(math.ceil(known[-1]) + 1))
    for low, high in itertools.pairwise(known):
        whole = math.floor(low) + 1
        yield Fraction(whole) if whole < high else (low + high) / 2


def _keep(found: RelatedNumbers, dimension: _Dimension, numbers: Iterable[Fraction]) -> None:
    """Note the numbers that a call can hold, or have elements."""
    end, counts = dimension
    if counts:
        whole = {int(n) for n in numbers if n.denominator == 1 and n >= 0}
        if any(number > _MOST_ELEMENTS for number in whole):
            found.gaps.add("an array of many elements whose number is compared with another value")
        found.lengths[end] = sorted(number for number in whole if number <= _MOST_ELEMENTS)
        return
    held = [n for n in numbers if abs(n) <= MAX_INTEGER]
    found.numbers[end] = list(dict.fromkeys(int(n) if n.denominator == 1 else float(n) for n in held))
