"""Conditions in words: groups of classes of a variable, and states of a guard."""

from __future__ import annotations

import itertools

from ironcurtain.analysis.engine.rules.diagram import DiagramPath
from ironcurtain.analysis.engine.rules.predicates import Predicate
from ironcurtain.analysis.engine.rules.rules import GuardKey
from ironcurtain.analysis.engine.space.variables import Variable
from ironcurtain.decision.canonical.pointers import steps_of
from ironcurtain.model.conditions import ValueTest
from ironcurtain.model.operators import scale_of
from ironcurtain.model.times import duration_words, times_words
from ironcurtain.model.unknown_facts import MEMBERSHIP, Root, operands, reference
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import replace
from ironcurtain.system.text import visible

_SIGNS = {"equals": "=", "not_equals": "≠", "lt": "<", "le": "≤", "gt": ">", "ge": "≥", "matches": "matches"}
_OPPOSITES = {
    "equals": "not_equals",
    "not_equals": "equals",
    "in": "not_in",
    "not_in": "in",
    "lt": "ge",
    "le": "gt",
    "gt": "le",
    "ge": "lt",
    "contains": "not_contains",
    "not_contains": "contains",
}
_AGES = {"gt": "more than", "le": "at most", "lt": "less than", "ge": "at least"}
_COUNTS = {"le": "at most", "ge": "at least", "equals": "exactly"}
_PARTS = {"date": "the day of", "time": "the time of day of", "instant": "the moment of"}
_REFERRED: dict[Root, str] = {"caller": "the caller's", "args": "the argument's", "facts": "the fact"}
_SHOWN = 6
_NONE, _COVERED, _UNCOVERED, _BOTH = range(4)
_GUARD_WORDS = {
    frozenset({_NONE}): "no {roles}",
    frozenset({_COVERED}): "every {roles} in {patterns}",
    frozenset({_UNCOVERED}): "every {roles} outside {patterns}",
    frozenset({_BOTH}): "{roles} inside and outside {patterns}",
    frozenset({_NONE, _COVERED}): "no {roles} outside {patterns}",
    frozenset({_NONE, _UNCOVERED}): "no {roles} in {patterns}",
    frozenset({_COVERED, _BOTH}): "some {roles} in {patterns}",
    frozenset({_UNCOVERED, _BOTH}): "some {roles} outside {patterns}",
    frozenset({_COVERED, _UNCOVERED, _BOTH}): "some {roles}",
    frozenset({_NONE, _UNCOVERED, _BOTH}): "not every {roles} in {patterns}",
    frozenset({_NONE, _COVERED, _BOTH}): "not every {roles} outside {patterns}",
    frozenset({_COVERED, _UNCOVERED}): "every {roles} on one side of {patterns}",
    frozenset({_NONE, _BOTH}): "no {roles}, or some on both sides of {patterns}",
    frozenset({_NONE, _COVERED, _UNCOVERED}): "no {roles} on both sides of {patterns}",
}


def path_words(path: DiagramPath, variables: tuple[Variable, ...]) -> tuple[str, ...]:
    """Return what a path demands, one text for each variable and guard on it."""
    return (
        *(group_words(variables[index], group) for index, group in path.classes),
        *(guard_words(key, group) for key, group in path.guards),
    )


def group_words(variable: Variable, group: frozenset[int]) -> str:
    """Return what a group of a variable's classes has in common, as briefly as the tests allow."""
    held = {
        a.key: frozenset(i for i, c in enumerate(variable.classes) if a.key in c.true)
        for a in variable.predicates
    }
    everything = frozenset(range(len(variable.classes)))
    if len(group) == 1 and len(variable.places) == 1 and _is_boolean(variable):
        return f"{visible(variable.places[0][1])} = {_value(variable.classes[min(group)].values[0][1])}"
    literals = [(held[a.key], predicate_words(a)) for a in variable.predicates]
    literals += [(everything - held[a.key], _contrary_words(a)) for a in variable.predicates]
    for classes, words in literals:
        if classes == group:
            return words
    for (one, words), (other, more) in itertools.combinations(literals, 2):
        if one & other == group:
            return f"{words} and {more}"
    for (one, words), (other, more) in itertools.combinations(literals, 2):
        if one | other == group:
            return f"{words} or {more}"
    return _examples(variable, group)


def guard_words(key: GuardKey, group: frozenset[int]) -> str:
    """Return what a group of a guard's states says about the other resources of a call."""
    roles = " or ".join(sorted(key.roles)) + (" (in the sandbox, too)" if key.anywhere else "")
    patterns = ", ".join(sorted(visible(pattern.split(" ")[0]) for pattern in key.patterns))
    if not key.patterns:
        return f"no {roles}" if group == {_NONE} else f"some {roles}"
    return _GUARD_WORDS[group].format(roles=roles, patterns=patterns)


def predicate_words(predicate: Predicate) -> str:
    """Return a test in words."""
    name = (
        visible("/".join(predicate.path))
        if len(predicate.path) == 1
        else "/" + visible("/".join(predicate.path))
    )
    if predicate.when is not None:
        if predicate.when.present is not None:
            return f"{name} is {'given' if predicate.when.present else 'absent'}"
        return (
            _compared(name, "in", list(predicate.when.in_))
            if predicate.when.in_
            else _compared(name, "equals", predicate.when.equals)
        )
    test = predicate.said or predicate.condition
    if test is None:
        return name
    name = _tested_words(test, f"caller's {name}" if predicate.root == "caller" else name)
    if test.op == "present":
        words = f"{name} is {'given' if test.value else 'absent'}"
        return f"{words} or unknown" if predicate.unknown and test.value else words
    words = _aged(name, test) if predicate.age else _compared(name, test.op, test.value)
    words += " without regard to case" if test.ignore_case else ""
    words += " or absent" if test.or_absent else ""
    return f"{words} or unknown" if predicate.unknown else words


def _contrary_words(predicate: Predicate) -> str:
    """Return in words that a test does not hold.

    A declared fact that is known satisfies a test or its opposite, unless it is compared with an argument:
    where that is absent, neither holds.
    """
    test = predicate.condition
    if predicate.root != "facts" or test is None or (reference(test.value) or ("facts",))[0] == "args":
        return f"not ({predicate_words(predicate)})"
    if test.op == "in_week":
        words = f"{predicate.path[0]} outside {times_words(operands(test.op, test.value))}"
        return words if predicate.unknown else f"{words} or unknown"
    if test.op not in _OPPOSITES:
        return f"not ({predicate_words(predicate)})"
    opposite: dict[str, JsonValue] = {"op": _OPPOSITES[test.op]}
    if test.op == "equals" and isinstance(test.value, bool):
        opposite = {"value": not test.value}
    contrary = test.model_copy(update=opposite)
    return predicate_words(replace(predicate, condition=contrary, said=None, unknown=not predicate.unknown))


def _tested_words(test: ValueTest, name: str) -> str:
    """Return in words what of an argument is tested."""
    if test.also_in:
        name = " or ".join([name, *map(visible, test.also_in)])
    if test.measure is not None:
        name = f"{'number of elements' if test.measure == 'count' else 'length'} of {name}"
    if test.part is not None:
        name = f"{_PARTS[test.part]} {name}"
    if test.of is not None:
        name = f"key of {name}" if test.count is None else f"the keys of {name}"
    if test.count is not None:
        return f"{_COUNTS[test.count.op]} {test.count.number} of {name}"
    return f"{test.over} {name}" if test.of is not None or "*" in steps_of(test.name) else name


def _compared(name: str, op: str, value: JsonValue) -> str:
    if op == "within":
        return f"{name} within {' or '.join(map(str, operands('in', value)))}"
    if op == "contains_any":
        return f"{name} contains {' or '.join(map(_value, operands('in', value)))}"
    if op in MEMBERSHIP:
        return f"{name} {'holds' if op == 'contains' else 'does not hold'} {_value(value)}"
    if op == "in_week":
        return f"{name} within {times_words(operands(op, value))}"
    if op in ("in", "not_in"):
        return f"{name} {'in' if op == 'in' else 'not in'} {', '.join(map(_value, operands(op, value)))}"
    return f"{name} {_SIGNS[op]} {_value(value)}"


def _aged(name: str, test: ValueTest) -> str:
    """Return a test of an age: how many seconds ago an instant was."""
    seconds = test.value if isinstance(test.value, int) else 0
    return f"{name} is {_AGES[test.op]} {duration_words(seconds)} ago"


def _value(value: JsonValue) -> str:
    referred = reference(value)
    if referred is not None:
        root, pointer = referred
        scale = scale_of(value)
        words = f"{_REFERRED[root]} {visible(pointer)}"
        words = f"the number of elements of {words}" if scale.counts else words
        words = f"{scale.times} times {words}" if scale.times != 1 else words
        if isinstance(value, dict) and isinstance(value.get("plus"), str):
            return f"{words} plus {value['plus']}"
        return f"{words} {'plus' if scale.plus > 0 else 'minus'} {abs(scale.plus)}" if scale.plus else words
    return json_text.shown(value)


def _is_boolean(variable: Variable) -> bool:
    values = [value for each in variable.classes for _, value in each.values]
    return len(values) == len(variable.classes) and all(isinstance(value, bool) for value in values)


def _examples(variable: Variable, group: frozenset[int]) -> str:
    """Name what is true in every class, or examples, where no short description exists."""
    names = " with ".join(visible(name) for _, name in variable.places)
    values = []
    for index in sorted(group):
        chosen = dict(variable.classes[index].values)
        values.append(" with ".join(_value(chosen[p]) if p in chosen else "absent" for p in variable.places))
    more = f" and {len(values) - _SHOWN} more kinds" if len(values) > _SHOWN else ""
    return f"{names} like {', '.join(values[:_SHOWN])}{more}"
