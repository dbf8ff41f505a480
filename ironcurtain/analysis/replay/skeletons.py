"""Tests of arguments evaluated on skeletons: true, false, or not determined.

A determined outcome is that of the values themselves: equality is equality of digests, and counts and types
are preserved. Order, length and matches of regular expressions are not determined by a digest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from ironcurtain.analysis.engine.rules.predicates import Predicate, compare
from ironcurtain.analysis.replay.pseudonymization import MEMBER, NUMBER, KeyedDigests
from ironcurtain.decision.canonical import pointers
from ironcurtain.model.conditions import ValueTest
from ironcurtain.model.operators import CountBound
from ironcurtain.model.unknown_facts import Root, demanded_type, is_relation, json_type
from ironcurtain.system.frozen import JsonValue

Skeletons: TypeAlias = Mapping[Root, dict[str, JsonValue]]
"""The skeletons of the arguments and of the caller facts of a call."""

_NOTHING = frozenset[str]()


class SkeletonReader:
    """Reads tests on skeletons.

    Args:
        digests: The digests that the skeletons were made with.
    """

    def __init__(self, digests: KeyedDigests) -> None:
        self._digests = digests

    def holds(self, predicate: Predicate, skeletons: Skeletons) -> bool | None:
        """Tell whether a rule's test holds; None where the skeletons do not determine it."""
        test = predicate.condition
        if test is None:
            return None
        reference = predicate.reference
        if reference is None:
            operand = self._digests.skeleton(test.value, _NOTHING)
        else:
            operand = self._find(skeletons[reference[0]], reference[1])
        root, path = skeletons[predicate.root], predicate.path
        if pointers.EVERY not in path:
            found = (self._find(root, each) for each in (path, *predicate.also))
            return _any(self._compare(predicate, test, value, operand) for value in found)
        star = path.index(pointers.EVERY)
        elements = self._find(root, path[:star])
        if elements is None or (predicate.needs.operand and operand is None):
            return self._compare(predicate, test, None, operand)
        if not isinstance(elements, list):
            return predicate.unknown and predicate.needs.tested
        values = [self._find(element, path[star + 1 :]) for element in elements]
        outcomes = [self._compare(predicate, test, value, operand) for value in values]
        if test.count is not None:
            return _counted(test, test.count, values, outcomes)
        return _over(test, outcomes)

    def _find(self, value: JsonValue, path: tuple[str, ...]) -> JsonValue:
        for token in path:
            if not isinstance(value, dict):
                return None
            value = value.get(token, value.get(self._digests.member(token)))
        return value

    def _compare(
        self, predicate: Predicate, test: ValueTest, value: JsonValue, operand: JsonValue
    ) -> bool | None:
        """Tell whether one value satisfies a test's operator; the operand is a skeleton, too."""
        if is_relation(test) or test.part is not None:
            return _relates(predicate, test, value, operand)
        if predicate.needs.unknown(_type(value), _type(operand)):
            return predicate.unknown
        if test.op == "present":
            return (value is not None) is test.value
        if value is None or operand is None:
            return value is None and test.or_absent
        if test.measure is not None:
            return _compare_size(test, value)
        return self._compare_typed(test.op, value, operand)

    def _compare_typed(self, op: str, value: JsonValue, operand: JsonValue) -> bool | None:
        operands = operand if op in ("in", "not_in") and isinstance(operand, list) else [operand]
        if _type(value) != _type(operands[0]):
            return False
        if op in ("equals", "in", "not_equals", "not_in"):
            tested = self._uniform(value)
            is_listed = any(tested == self._uniform(member) for member in operands)
            return is_listed is (op in ("equals", "in"))
        if op == "matches" or _type(value) == "number":
            return None
        return False

    def _uniform(self, value: JsonValue) -> JsonValue:
        """Return a skeleton with every member's name as its digest, and true told apart from 1."""
        if isinstance(value, dict):
            return {
                name if name.startswith(MEMBER) else self._digests.member(name): self._uniform(below)
                for name, below in value.items()
            }
        if isinstance(value, list):
            return [self._uniform(element) for element in value]
        return value


def _relates(predicate: Predicate, test: ValueTest, value: JsonValue, operand: JsonValue) -> bool | None:
    """Compare two values as numbers: known only where one of them is absent."""
    if (predicate.needs.tested and value is None) or (predicate.needs.operand and operand is None):
        return predicate.unknown
    if value is None:
        return test.or_absent
    return False if operand is None else None


def _over(test: ValueTest, outcomes: list[bool | None]) -> bool | None:
    """Tell whether a test holds over the outcomes of all elements; over none of them it does not."""
    if not outcomes:
        return False
    if test.over == "some":
        return _any(outcomes)
    return _negated(_any([_negated(outcome) for outcome in outcomes]))


def _counted(
    test: ValueTest, count: CountBound, values: list[JsonValue], outcomes: list[bool | None]
) -> bool | None:
    """Tell whether as many elements satisfy a test as it asks, None where unknown outcomes decide that."""
    if any(_type(value) not in (None, demanded_type(test)) for value in values):
        return False
    told = [outcome for value, outcome in zip(values, outcomes, strict=True) if value is not None]
    sure = told.count(True)
    held = {count.holds(number) for number in range(sure, sure + told.count(None) + 1)}
    return held.pop() if len(held) == 1 else None


def _compare_size(test: ValueTest, value: JsonValue) -> bool | None:
    """Compare a number of elements, which is known, or of characters, which is not."""
    if _type(value) != ("array" if test.measure == "count" else "string"):
        return False
    is_known = test.measure == "count" and not isinstance(test.value, Mapping)
    return compare(test, value, test.value) if is_known else None


def _type(value: JsonValue) -> str | None:
    """Return the JSON type of what a skeleton stands for, None for null."""
    if isinstance(value, str):
        return "number" if value.startswith(NUMBER) else "string"
    return json_type(value)


def _any(outcomes: Iterable[bool | None]) -> bool | None:
    listed = list(outcomes)
    if any(listed):
        return True
    return None if None in listed else False


def _negated(value: bool | None) -> bool | None:  # noqa: FBT001 - it is the operand
    return None if value is None else not value
