"""The tests of one value, as a tree over the places in it, and what they make of a value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ironcurtain.analysis.engine.rules.predicates import Predicate, find
from ironcurtain.decision.canonical import pointers
from ironcurtain.model.unknown_facts import Root, operands, values_by_root
from ironcurtain.system.frozen import JsonValue


@dataclass
class PredicateTree:
    """The tests of one place and, by token, of the places below it.

    Attributes:
        operands: What the place is compared with.
        others: Further values to try there, since it is compared with another place.
        lengths: Further numbers of elements to try there.
    """

    predicates: list[Predicate] = field(default_factory=list)
    operands: list[JsonValue] = field(default_factory=list)
    others: list[JsonValue] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    below: dict[str, PredicateTree] = field(default_factory=dict)

    @property
    def is_tested(self) -> bool:
        """Whether anything is asked of the place or of one below it."""
        return bool(
            self.predicates
            or self.others
            or self.lengths
            or any(each.is_tested for each in self.below.values())
        )


def tree_of(
    predicates: Sequence[Predicate],
    place: tuple[str, str],
    equals: Mapping[tuple[Root, tuple[str, ...]], Sequence[JsonValue]] | None = None,
    lengths: Mapping[tuple[Root, tuple[str, ...]], Sequence[int]] | None = None,
) -> PredicateTree:
    """Return the tests of one top-level value as a tree over their pointers.

    Args:
        predicates: The tests of the value, and of others that it is compared with.
        place: The top-level value: root and name.
        equals: Further values to try for what is compared with other values, by its root and path.
        lengths: Further numbers of elements to try, by root and path.
    """
    top, equals = PredicateTree(), equals or {}
    for (root, path), numbers in (lengths or {}).items():
        if (root, path[0]) == place:
            node_at(top, path[1:]).lengths += numbers
    for predicate in predicates:
        if (predicate.root, predicate.path[0]) == place:
            node = node_at(top, predicate.path[1:])
            node.predicates.append(predicate)
            node.operands += operands_of(predicate)
            if predicate.reference is not None:
                node.others += equals.get((predicate.root, predicate.path), ())
        for path in predicate.also:
            if (predicate.root, path[0]) == place:
                node_at(top, path[1:]).predicates.append(predicate)
        other = predicate.reference
        if other is not None and (other[0], other[1][0]) == place:
            node = node_at(top, other[1][1:])
            node.others += equals.get(other, ())
    return top


def merged(trees: Sequence[PredicateTree]) -> PredicateTree:
    """Return one tree of the tests of several values that are equal."""
    tokens = dict.fromkeys(token for tree in trees for token in tree.below)
    return PredicateTree(
        predicates=[predicate for tree in trees for predicate in tree.predicates],
        operands=[value for tree in trees for value in tree.operands],
        below={t: merged([tree.below[t] for tree in trees if t in tree.below]) for t in tokens},
    )


def node_at(node: PredicateTree, path: Sequence[str]) -> PredicateTree:
    """Return the node of a place below another one, made where it is not there."""
    for token in path:
        node = node.below.setdefault(token, PredicateTree())
    return node


def tests_at_or_below(node: PredicateTree) -> Iterator[Predicate]:
    """Yield the tests of a place, then those of the places below it."""
    yield from node.predicates
    for below in node.below.values():
        yield from tests_at_or_below(below)


def key_tests(node: PredicateTree) -> list[Predicate]:
    """Return the tests of a place that ask for its keys."""
    return [each for each in node.predicates if each.condition is not None and each.condition.of is not None]


def operands_of(predicate: Predicate) -> list[JsonValue]:
    """Return the constants that a test compares a value with as it is, not its length or a part of it."""
    if predicate.when is not None:
        return list(predicate.when.in_ or ()) + (
            [predicate.when.equals] if predicate.when.equals is not None else []
        )
    test = predicate.condition
    if (
        test is None
        or test.measure is not None
        or test.part is not None
        or predicate.reference is not None
        or test.op in ("present", "matches")
    ):
        return []
    return list(operands(test.op, test.value))


def outcomes_of(node: PredicateTree, above: tuple[str, ...]) -> Iterable[Callable[[JsonValue], object]]:
    """Yield functions from a value to what each test at or below the place makes of it."""
    for predicate in node.predicates:
        yield outcome_of(predicate, above)
    for token, below in node.below.items():
        yield from outcomes_of(below, (*above, token))


def outcome_of(predicate: Predicate, path: tuple[str, ...]) -> Callable[[JsonValue], object]:
    """Return a function from a value to what a test of the place at `path` makes of it."""
    test = predicate.condition
    if test is None:
        return lambda value: predicate.holds(values_by_root() | {"args": {predicate.path[0]: value}})
    if pointers.EVERY not in path:
        if test.count is not None and test.of is None:
            return lambda value: predicate.matched(find(value, path))
        return lambda value: predicate.compare(find(value, path), test.value)
    star = path.index(pointers.EVERY)

    def over_elements(value: JsonValue) -> object:
        elements = find(value, path[:star])
        if not isinstance(elements, list):
            return None if elements is None else "no array"
        if test.count is not None:
            return predicate.counts(find(element, path[star + 1 :]) for element in elements)
        kinds = {predicate.compare(find(element, path[star + 1 :]), test.value) for element in elements}
        return (len(elements) == 0, tuple(sorted(kinds)))

    return over_elements
