"""Conditions of a rule into lines of Rego: tests of arguments and caller facts, and guards.

A plain test of one argument is written out, with the type guard that OPA's comparisons across types
need; everything else goes through a function of `rego/ironcurtain/matching`. So does a test of a fact in a
rule that asks or denies, which holds where the fact is not known, too.
"""

from __future__ import annotations

from collections.abc import Iterable

from ironcurtain.compiler.render.terms import collection, raw_string, reference, string, term
from ironcurtain.decision.canonical import pointers
from ironcurtain.model.conditions import RoleCondition, ValueTest
from ironcurtain.model.moments import Part, moment_test
from ironcurtain.model.operators import SCALING, CountBound
from ironcurtain.model.unknown_facts import (
    MEMBERSHIP,
    Needs,
    Root,
    demanded_type,
    holds_unknown,
    is_relation,
    needs,
)
from ironcurtain.model.unknown_facts import reference as value_reference
from ironcurtain.model.verdict import Verdict
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue

MISSING = "null"
_COMPARISONS = {"equals": "==", "not_equals": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_GUARDED = {"not_equals", "not_in", "lt", "le", "gt", "ge", "matches"}


def anchored(pattern: str) -> str:
    """Return a regular expression that matches whole strings only, line breaks included."""
    return rf"\A(?s:{pattern})\z"


def condition_lines(root: Root, condition: ValueTest, then: Verdict) -> list[str]:
    """Return the lines that test one argument or fact in a rule of a verdict."""
    condition = condition.as_expression
    place, path, needed = f"input.{root}", pointers.steps_of(condition.name), needs(root, condition)
    asks_unknown = needed.any and holds_unknown(then)
    asks_absence = condition.op == "present" and not condition.value
    if _is_plain(condition, path) and (asks_absence or not asks_unknown):
        return _plain_lines(place, path, condition)
    if condition.of is not None:
        return [f"is_object({_lookup(place, path)})", _tested_line(place, path, condition, None)]
    lines = [_known_line(condition)] if needed.operand and condition.or_absent and not asks_unknown else []
    if condition.part is not None or is_relation(condition):
        return [*lines, _relation_line(place, path, condition, needed if asks_unknown else None)]
    return [*lines, _tested_line(place, path, condition, needed if asks_unknown else None)]


def _tested_line(place: str, path: tuple[str, ...], condition: ValueTest, needed: Needs | None) -> str:
    """Return the line that tests a value, or the elements of an array, by itself."""
    test = _test(condition, needed)
    if condition.also_in:
        places = (_lookup(place, pointers.steps_of(name)) for name in condition.names)
        return f"matching.some_element([{', '.join(places)}], [], {test})"
    if condition.of is not None:
        elements, below = f"[key | some key in object.keys({_lookup(place, path)})]", "[]"
    elif pointers.EVERY in path:
        star = path.index(pointers.EVERY)
        elements, below = _lookup(place, path[:star]), term(list(path[star + 1 :]))
    else:
        return f"matching.satisfies({_lookup(place, path)}, {test})"
    if condition.count is not None:
        return (
            f"operators.counted({elements}, {below}, {_counted_test(condition)}, {_bound(condition.count)})"
        )
    return f"matching.{condition.over}_element({elements}, {below}, {test})"


def fact_lines(condition: ValueTest, then: Verdict) -> list[str]:
    """Return the lines that test one declared fact in a rule of a verdict."""
    if condition.op not in (*MEMBERSHIP, "in_week"):
        return condition_lines("facts", condition, then)
    value = _lookup("input.facts", pointers.steps_of(condition.name))
    return [_fact_line(value, condition, needs("facts", condition), or_unknown=holds_unknown(then))]


def _fact_line(value: str, condition: ValueTest, needed: Needs, *, or_unknown: bool) -> str:
    """Return the line of a test that only declared facts have."""
    name = "holds_or_unknown" if or_unknown else "holds"
    members = [
        f'"op": {string(condition.op)}',
        f'"value": {_operand(condition)}',
        f'"type": {string(str(demanded_type(condition)))}',
        *(['"operand": "fact"'] if needed.operand else []),
    ]
    call = f"facts.{name}({value}, "
    return f"{call}{collection(members, '{}', used=len(call) + 8)})"


def guard_line(condition: RoleCondition, *, allow: bool, in_sandbox: bool) -> str:
    """Return the line that holds a condition over resources of other roles than the one justified."""
    every = "none_or_every_covered" if condition.or_none else "every_covered"
    name = every if allow else "some_covered"
    call = f"matching.{name}{'_anywhere' if in_sandbox else ''}("
    roles = _set(condition.roles, used=len(call))
    return f"{call}{roles}, {_set(condition.patterns, used=len(call) + len(roles) + 8)})"


def roles_guard_line(roles: Iterable[str], *, in_sandbox: bool) -> str:
    """Return the line that asks for a resource of one of the roles."""
    call = f"matching.some_subject{'_anywhere' if in_sandbox else ''}("
    return f"{call}{_set(roles, used=len(call) + 8)})"


def member_line(left: str, values: Iterable[JsonValue]) -> str:
    """Return a line that tests membership; a single member is compared."""
    members = [term(value) for value in values]
    if len(members) == 1:
        return f"{left} == {members[0]}"
    return f"{left} in {collection(members, '{}', used=len(left) + 8)}"


def _is_plain(condition: ValueTest, path: tuple[str, ...]) -> bool:
    """Tell whether a test can be written out, without a function."""
    simple = (
        condition.measure is None
        and condition.part is None
        and not condition.or_absent
        and not condition.also_in
        and condition.of is None
    )
    return simple and pointers.EVERY not in path and value_reference(condition.value) is None


def _known_line(condition: ValueTest) -> str:
    """Return the line that asks for the fact that an argument is compared with.

    A rule that allows needs it even where a missing argument would satisfy the test.
    """
    referred = value_reference(condition.value)
    pointer = referred[1] if referred else ""
    root = referred[0] if referred else "caller"
    return f"{reference(f'input.{root}', pointers.steps_of(pointer))} != {MISSING}"


def _plain_lines(root: str, path: tuple[str, ...], condition: ValueTest) -> list[str]:
    left = reference(root, path)
    lines = [f"{_type_test(condition)}({left})"] if condition.op in _GUARDED else []
    if condition.op == "present":
        return [f"{left} != {MISSING}" if condition.value else f"{_lookup(root, path)} == {MISSING}"]
    if condition.op == "matches":
        return [*lines, f"regex.match({raw_string(anchored(str(condition.value)))}, {left})"]
    if condition.op == "in":
        return [*lines, member_line(left, condition.operands)]
    if condition.op == "not_in":
        inside = member_line(left, condition.operands)
        first, *others = condition.operands
        return [*lines, f"not {inside}" if others else f"{left} != {term(first)}"]
    return [*lines, f"{left} {_COMPARISONS[condition.op]} {term(condition.value)}"]


def _type_test(condition: ValueTest) -> str:
    return f"is_{demanded_type(condition)}"


def _lookup(root: str, path: tuple[str, ...]) -> str:
    return f"matching.lookup({root}, {term(list(path))})"


def _test(condition: ValueTest, needed: Needs | None) -> str:
    """Return the test as a term; with the facts that it needs, it holds where one is not known."""
    members = [f'"op": {string(condition.op)}', f'"value": {_operand(condition)}']
    if condition.or_absent:
        members.append('"or_absent": true')
    if condition.measure:
        members.append(f'"measure": {string(condition.measure)}')
    if needed is not None:
        members.append(f'"facts": {_facts(needed)}')
        if needed.type is not None:
            members.append(f'"type": {string(needed.type)}')
    return "{" + ", ".join(members) + "}"


def _relation_line(place: str, path: tuple[str, ...], condition: ValueTest, needed: Needs | None) -> str:
    """Return the line that compares two values as numbers, or parts of dates as such."""
    if condition.part is not None:
        return _moment_line(place, path, condition, condition.part)
    tested, operand = _lookup(place, path), _referred(condition)
    if condition.measure is not None:
        tested = f'operators.number({tested}, {{"measure": "count"}})'
    scale = {key: value for key, value in json_text.members(condition.value).items() if key in SCALING}
    if scale:
        operand = f"operators.number({operand}, {term(scale)})"
    members: dict[str, str] = {"op": string(condition.op)}
    if condition.or_absent:
        members["or_absent"] = "true"
    if needed is not None:
        members["facts"] = _facts(needed)
    test = "{" + ", ".join(f"{string(name)}: {value}" for name, value in members.items()) + "}"
    return f"operators.related({tested}, {operand}, {test})"


def _moment_line(place: str, path: tuple[str, ...], condition: ValueTest, part: Part) -> str:
    """Return the line that compares a part of a date-time."""
    found, value = moment_test(part, condition.op, condition.value), _lookup(place, path)
    tested = f"operators.moment({value}, {string(part)})"
    absent = {"or_absent": True} if condition.or_absent else {}
    if condition.op == "within":
        return f"operators.during({tested}, {term([list(each) for each in found.windows])}, {term(absent)})"
    operand = term(found.constant.number) if found.constant else ""
    if not operand:
        operand = f"operators.other_moment({_referred(condition)}, {value}, {string(part)}, {found.later})"
    return f"operators.related({tested}, {operand}, {term({'op': condition.op, **absent})})"


def _facts(needed: Needs) -> str:
    """Return the set of the sides of a test that are facts."""
    sides = [name for name, is_fact in (("tested", needed.tested), ("operand", needed.operand)) if is_fact]
    return _set(sides, used=0)


def _counted_test(condition: ValueTest) -> str:
    """Return the test of elements that are counted, with the type that each of them must have."""
    return f'{_test(condition, None)[:-1]}, "type": {string(str(demanded_type(condition)))}}}'


def _bound(count: CountBound) -> str:
    return term({"op": count.op, "value": count.number})


def _operand(condition: ValueTest) -> str:
    if value_reference(condition.value):
        return _referred(condition)
    if condition.op == "matches":
        return raw_string(anchored(str(condition.value)))
    return term(condition.value)


def _referred(condition: ValueTest) -> str:
    """Return the value that the operand refers to."""
    root, pointer = value_reference(condition.value) or ("args", "")
    return _lookup(f"input.{root}", pointers.steps_of(pointer))


def _set(items: Iterable[str], *, used: int) -> str:
    return collection([string(item) for item in items], "{}", used=used)
