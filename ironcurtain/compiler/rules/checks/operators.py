"""What a test says beside operator and operand, and whether its parts go together."""

from __future__ import annotations

from ironcurtain.decision.canonical import pointers
from ironcurtain.model.conditions import ArgCondition, ValueTest
from ironcurtain.model.moments import moment_test
from ironcurtain.model.operators import LARGEST_SCALED
from ironcurtain.model.unknown_facts import is_relation, operands, reference
from ironcurtain.system import json_text
from ironcurtain.system.frozen import is_integer

_ELEMENTS_HINT = (
    '\nWhether a list of the caller\'s holds it is a test in `caller`: {"name": "/LIST/*", "op": "equals", '
    '"over": "some", "value": {"arg": "/ARGUMENT"}}.'
)
NUMERIC = frozenset({"lt", "le", "gt", "ge"})
_RELATIONS = frozenset({"equals", "not_equals", *NUMERIC})
_COUNTED = frozenset({"equals", "in", "matches", "contains_any", *NUMERIC})
_OF_KEYS = frozenset({"equals", "not_equals", "in", "not_in", "matches", "contains_any"})
_OF_TEXTS = frozenset({"equals", "in", "matches", "contains_any"})


def form_problem(test: ArgCondition) -> str:
    """Return what is wrong with the parts of a test together, with a hint on its second line; or nothing."""
    has_elements = pointers.EVERY in pointers.steps_of(test.name)
    if test.of is not None:
        return _keys_problem(test, has_elements=has_elements)
    if test.over == "some" and not has_elements:
        return "`over` needs a pointer with `*`, or `of`"
    problem = _case_problem(test) or _several_problem(test, has_elements=has_elements)
    if test.part is not None or test.op == "within":
        return problem or _moment_problem(test, has_elements=has_elements)
    if problem or test.count is None:
        return problem
    return _count_problem(test, has_elements=has_elements)


def _keys_problem(test: ArgCondition, *, has_elements: bool) -> str:
    """Return what is wrong with a test of the keys of an object."""
    if test.op not in _OF_KEYS or not all(isinstance(text, str) for text in operands("in", test.value)):
        return f"`of` compares keys, which are texts, by {', '.join(sorted(_OF_KEYS))}"
    if has_elements or test.or_absent or test.measure or test.part or test.also_in:
        return "`of` names one object, without `*`, `or_absent`, `measure`, `part` and `also_in`"
    return _case_problem(test) or (_count_problem(test, has_elements=True) if test.count is not None else "")


def _case_problem(test: ArgCondition) -> str:
    """Return what is wrong with a test that ignores case."""
    if not test.ignore_case:
        return ""
    if test.op not in _OF_TEXTS or test.measure:
        return f"`ignore_case` goes with {', '.join(sorted(_OF_TEXTS))}, without `measure`"
    if not all(isinstance(text, str) for text in operands("in", test.value)):
        return "`ignore_case` compares texts"
    return ""


def _moment_problem(test: ArgCondition, *, has_elements: bool) -> str:
    """Return what is wrong with a test of a part of a date-time."""
    if test.part is None:
        return '`within` needs "part": "time"'
    if has_elements or test.measure or test.count or test.ignore_case or test.also_in:
        return "`part` compares one value as it is, without `*`, `measure`, `count` and `ignore_case`"
    try:
        moment_test(test.part, test.op, test.value)
    except ValueError as error:
        return str(error)
    return ""


def _several_problem(test: ArgCondition, *, has_elements: bool) -> str:
    """Return what is wrong with a test of several arguments."""
    if not test.also_in:
        return ""
    if test.op != "contains_any":
        return "`also_in` goes with contains_any"
    if has_elements or any(pointers.EVERY in pointers.steps_of(name) for name in test.also_in):
        return "`also_in` names arguments without `*`"
    return "`also_in` names an argument twice" if len({*test.names}) < len(test.names) else ""


def reference_problem(test: ValueTest) -> str:
    """Return what is wrong with a test whose operand refers to another value."""
    if test.op not in _RELATIONS:
        said = "another value is only compared by equals, not_equals, lt, le, gt and ge"
        return f"{said}{_ELEMENTS_HINT}" if test.op in ("in", "not_in") else said
    if not is_relation(test):
        return "`measure` beside another value needs lt, le, gt or ge" if test.measure else ""
    if pointers.EVERY in pointers.steps_of(test.name):
        return "elements are compared with another value by equals and not_equals only, as they are"
    if test.measure == "length":
        return "a length is compared with a constant"
    given = json_text.members(test.value)
    for key, least in (("times", 1), ("plus", -LARGEST_SCALED)):
        value = given.get(key, 1)
        if not is_integer(value) or not least <= value <= LARGEST_SCALED:
            return f"`{key}` is a whole number from {least} to {LARGEST_SCALED}"
    return '`measure` of another value is "count"' if given.get("measure", "count") != "count" else ""


def _count_problem(test: ArgCondition, *, has_elements: bool) -> str:
    if not has_elements:
        return "`count` needs a pointer with `*`, or `of`"
    if "over" in test.model_fields_set:
        return "`count` says how many elements, so `over` has no meaning beside it"
    if test.measure or reference(test.value):
        return "elements that are counted are compared with a constant, without `measure`"
    if test.op not in _COUNTED:
        return f"{test.op} cannot be counted\nCount what satisfies one of {', '.join(sorted(_COUNTED))}."
    return ""
