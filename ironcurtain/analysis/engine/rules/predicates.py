"""Predicates: the tests of arguments and facts that a policy makes, each decided on given values.

Python decides a predicate only to choose questions: which values must be tried so that every combination of
predicates is seen. What a policy makes of them is OPA's answer, and each answer is held against this reading.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache, partial
from typing import Any, Literal, TypeAlias

import re2
from pydantic import ConfigDict, TypeAdapter

from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.canonical.conditional import same_json
from ironcurtain.model.annotations import ToolAnnotation, When
from ironcurtain.model.conditions import If, ValueTest
from ironcurtain.model.moments import Moment, Part, moment_of, moment_test
from ironcurtain.model.operators import Scale, scale_of
from ironcurtain.model.unknown_facts import (
    MEMBERSHIP,
    NO_FACTS,
    Needs,
    Root,
    demanded_type,
    holds_unknown,
    is_relation,
    json_type,
    needs,
    operands,
    reference,
)
from ironcurtain.model.verdict import Verdict
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue, is_number
from ironcurtain.system.structs import Struct

ValueName: TypeAlias = tuple[Root, str]
"""A top-level argument, caller fact or declared fact, by its name."""
Values: TypeAlias = Mapping[Root, dict[str, JsonValue]]
"""The arguments, the caller facts and the declared facts of a call."""

_ORDERED = {"lt", "le", "gt", "ge"}
_Mark: TypeAlias = Literal["age", "or unknown"]
_UNKNOWN: _Mark = "or unknown"
_AGE: _Mark = "age"
_Key: TypeAlias = (
    tuple[Root, ValueTest] | tuple[Root, ValueTest, _Mark] | tuple[Root, ValueTest, _Mark, _Mark]
)
_KEY: TypeAdapter[_Key] = TypeAdapter(_Key, config=ConfigDict(defer_build=True))
"""What the key of a rule's test holds: where its pointer begins, the test, and what else is so: that it is
about an age, that it holds unknown."""


class Predicate(Struct):
    """One test.

    Attributes:
        key: Its content as canonical JSON: equal tests of two policies are one predicate.
        root: Where its pointer begins.
        condition: The test of a rule, or
        when: the test of a conditional role.
        said: The test as the rule has it, where `condition` says the same otherwise.
        unknown: Whether it holds where a fact that it needs is not known, as in rules that ask or deny.
        age: Whether it compares the age of an instant, in seconds.
    """

    key: str
    root: Root
    condition: ValueTest | None = None
    when: When | None = None
    unknown: bool = False
    said: ValueTest | None = None
    age: bool = False

    @property
    def path(self) -> tuple[str, ...]:
        """The reference tokens of the place that is tested."""
        if self.when is not None:
            return (self.when.arg,)
        return _path(self.condition.name) if self.condition else ()

    @property
    def also(self) -> tuple[tuple[str, ...], ...]:
        """The reference tokens of further places, of which one that satisfies the test is enough."""
        return tuple(map(_path, self.condition.also_in)) if self.condition else ()

    @property
    def reference(self) -> tuple[Root, tuple[str, ...]] | None:
        """The other place that the tested one is compared with, if it is compared with one."""
        found = reference(self.condition.value) if self.condition else None
        return None if found is None else (found[0], _path(found[1]))

    @property
    def is_membership(self) -> bool:
        """Whether it asks if a set holds another value."""
        return self.condition is not None and self.condition.op in MEMBERSHIP and self.reference is not None

    @property
    def places(self) -> tuple[ValueName, ...]:
        """The top-level values that decide it."""
        own: ValueName = (self.root, self.path[0])
        other = self.reference
        if self.also:
            return tuple(dict.fromkeys((own, *((self.root, path[0]) for path in self.also))))
        return (own,) if other is None else (own, (other[0], other[1][0]))

    def holds(self, values: Values) -> bool:
        """Tell whether the test holds; null counts as absent."""
        if self.when is not None:
            return _branch_holds(self.when, values[self.root].get(self.when.arg))
        if self.condition is None:
            return False
        other = self.reference
        operand = self.condition.value if other is None else find(values[other[0]], other[1])
        return self._test_holds(self.condition, values[self.root], operand)

    def compare(self, value: JsonValue, operand: JsonValue) -> bool:
        """Tell whether one value, without `*`, satisfies the test of a rule."""
        if self.condition is None:
            return False
        if self.condition.of is not None:
            return isinstance(value, dict) and self._keys_hold(self.condition, [*value])
        if self.condition.part is not None:
            return _moment_holds(self.condition, self.condition.part, value, operand)
        if is_relation(self.condition):
            return self._relates(self.condition, value, scale_of(self.condition.value).of(operand))
        if self.needs.any and self.needs.unknown(json_type(value), json_type(operand)):
            return self.unknown
        return compare(self.condition, value, operand)

    def _keys_hold(self, test: ValueTest, keys: list[str]) -> bool:
        """Tell whether the keys of an object satisfy the test, as many as `over` or `count` asks."""
        if test.count is not None:
            return self.counts(keys)
        results = [compare(test, key, test.value) for key in keys]
        return bool(results) and (any(results) if test.over == "some" else all(results))

    def _relates(self, test: ValueTest, value: JsonValue, operand: JsonValue) -> bool:
        """Tell whether a value stands in a relation to what another one was made into."""
        tested = Scale(counts=test.measure == "count").of(value)
        if (self.needs.tested and tested is None) or (self.needs.operand and operand is None):
            return self.unknown
        if tested is None:
            return test.or_absent
        if operand is None:
            return False
        if not is_number(tested) or not is_number(operand):
            return self.unknown
        return _compare_typed(test.op, tested, operand)

    def matched(self, value: JsonValue) -> bool | None:
        """Tell whether an element is counted; None where it is of another type than the test compares."""
        if self.condition is None or value is None:
            return False
        if json_type(value) != demanded_type(self.condition):
            return None
        return compare(self.condition, value, self.condition.value)

    def counts(self, values: Iterable[JsonValue]) -> bool:
        """Tell whether as many elements satisfy the test as its `count` asks; null is an absent one."""
        found = [self.matched(value) for value in values]
        bound = self.condition.count if self.condition else None
        return bound is not None and None not in found and bound.holds(found.count(True))

    @cached_property
    def needs(self) -> Needs:
        """The facts that the test needs."""
        return NO_FACTS if self.condition is None else needs(self.root, self.condition)

    def _test_holds(self, test: ValueTest, root: dict[str, JsonValue], operand: JsonValue) -> bool:
        path = self.path
        if self.also:
            return any(self.compare(find(root, each), operand) for each in (path, *self.also))
        if pointers.EVERY not in path:
            return self.compare(find(root, path), operand)
        star = path.index(pointers.EVERY)
        elements = find(root, path[:star])
        if elements is None or (self.needs.operand and operand is None):
            return self.compare(None, operand)
        if not isinstance(elements, list):
            return self.unknown and self.needs.tested
        if test.count is not None:
            return self.counts([find(element, path[star + 1 :]) for element in elements])
        results = [self.compare(find(element, path[star + 1 :]), operand) for element in elements]
        return bool(results) and (any(results) if test.over == "some" else all(results))


def rule_predicate(root: Root, condition: ValueTest, then: Verdict, *, age: bool = False) -> Predicate:
    """Return the predicate of a test in a rule of a verdict; `age` of a test of how old an instant is."""
    content: list[JsonValue] = [root, condition.model_dump(mode="json", exclude_defaults=True)]
    unknown = needs(root, condition).any and holds_unknown(then)
    content += ([_AGE] if age else []) + ([_UNKNOWN] if unknown else [])
    return _predicate(json_text.canonical(content).decode(), root, condition, unknown=unknown, age=age)


def rule_predicates(condition: If, then: Verdict) -> tuple[Predicate, ...]:
    """Return the predicates of all tests of a rule's condition, or of another one in its place."""
    return (
        *(rule_predicate("args", test, then) for test in condition.args or ()),
        *(rule_predicate("caller", test, then) for test in condition.caller or ()),
        *(
            rule_predicate("facts", test.test, then, age=test.op in ("older_than", "younger_than"))
            for test in condition.facts or ()
        ),
    )


def predicate_of_key(key: str) -> Predicate:
    """Return the predicate of a rule's test that a key was made of."""
    root, condition, *marks = _KEY.validate_json(key)
    return _predicate(key, root, condition, unknown=_UNKNOWN in marks, age=_AGE in marks)


def _predicate(key: str, root: Root, condition: ValueTest, *, unknown: bool, age: bool) -> Predicate:
    held = condition.as_expression
    return Predicate(key, root, condition=held, unknown=unknown, said=condition, age=age)


def role_predicate(when: When) -> Predicate:
    """Return the predicate of one branch of a conditional role."""
    content = when.model_dump(mode="json", by_alias=True, exclude={"roles"}, exclude_unset=True)
    return Predicate(json_text.canonical(["when", content]).decode(), "args", when=when)


def role_predicates(tool: ToolAnnotation) -> Iterator[Predicate]:
    """Yield the predicates of all conditional roles of a tool."""
    for argument in tool.args:
        for when in argument.conditional.when if argument.conditional else ():
            yield role_predicate(when)


def find(value: JsonValue, path: tuple[str, ...]) -> JsonValue:
    """Return what stands at a path of object keys, or None."""
    for token in path:
        value = value.get(token) if isinstance(value, Mapping) else None
    return value


def compare(test: ValueTest, value: JsonValue, operand: JsonValue) -> bool:
    """Tell whether one value, without `*`, satisfies a test's operator; every fact that it needs is known."""
    if test.op == "present":
        return (value is not None) is operand
    if value is None:
        return test.or_absent
    if operand is None:
        return False
    if test.measure is not None:
        if not isinstance(value, list if test.measure == "count" else str):
            return False
        value = len(value)
    return _OF_FACTS.get(test.op, partial(_compare_typed, test.op))(value, operand)


def _moment_holds(test: ValueTest, part: Part, value: JsonValue, other: JsonValue) -> bool:
    """Tell whether a part of a date or date-time satisfies a test; what is none satisfies no test."""
    if value is None:
        return test.or_absent
    found, tested = moment_test(part, test.op, test.value), _moment(value, part)
    if tested is None:
        return False
    if test.op == "within":
        return any(first <= tested.number < end for first, end in found.windows)
    operand = found.constant or _moment(other, part)
    is_other = found.constant is None
    if operand is None or (is_other and part == "instant" and tested.is_zoned != operand.is_zoned):
        return False
    return _compare_typed(test.op, tested.number, operand.number + found.later)


def _moment(value: JsonValue, part: Part) -> Moment | None:
    return moment_of(value, part) if isinstance(value, str) else None


def _compare_typed(op: str, value: JsonValue, operand: JsonValue) -> bool:
    constants = operands(op, operand)
    if json_type(value) != json_type(constants[0]):
        return False
    if op in ("equals", "in"):
        return any(same_json(value, constant) for constant in constants)
    if op in ("not_equals", "not_in"):
        return not any(same_json(value, constant) for constant in constants)
    if op == "matches":
        return (
            isinstance(operand, str)
            and isinstance(value, str)
            and matcher(operand).fullmatch(value) is not None
        )
    if op not in _ORDERED or not is_number(value) or not is_number(operand):
        return False
    outcomes = {"lt": value < operand, "le": value <= operand, "gt": value > operand, "ge": value >= operand}
    return outcomes[op]


def _contains(value: JsonValue, operand: JsonValue) -> bool:
    return isinstance(value, list) and isinstance(operand, str) and operand in value


def _lacks(value: JsonValue, operand: JsonValue) -> bool:
    return isinstance(value, list) and isinstance(operand, str) and operand not in value


def _is_within(value: JsonValue, intervals: JsonValue) -> bool:
    bounds = [bound for bound in operands("in_week", intervals) if is_number(bound)]
    return is_number(value) and _is_between(value, bounds)


_OF_FACTS = {"contains": _contains, "not_contains": _lacks, "in_week": _is_within}
"""How the operators compare that only declared facts have."""


def _is_between(value: float, bounds: list[float]) -> bool:
    """Tell whether a number lies in one of some half-open intervals, given as their bounds in order."""
    return bisect.bisect_right(bounds, value) % 2 == 1


@lru_cache(maxsize=4096)
def matcher(pattern: str) -> Any:  # noqa: ANN401 - re2 has no type information
    """Return a rule's regular expression, as OPA gets it: over whole strings and line breaks."""
    return re2.compile(f"(?s:{pattern})")


def _branch_holds(when: When, value: JsonValue) -> bool:
    if when.present is not None:
        return (value is not None) == when.present
    if value is None:
        return False
    candidates = when.in_ if when.in_ is not None else (when.equals,)
    return any(same_json(value, candidate) for candidate in candidates)


def _path(name: str) -> tuple[str, ...]:
    return pointers.steps_of(name)
