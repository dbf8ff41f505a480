"""Conditions of a rule into lines of Rego: tests of arguments and caller facts, and guards.

A plain test of one argument is written out, with the type guard that OPA's comparisons across types
need; everything else goes through a function of `rego/ironcurtain/matching`.
"""

from __future__ import annotations

from collections.abc import Iterable

from ironcurtain.canonical import pointers
from ironcurtain.model.base import Json
from ironcurtain.model.policy import ArgCondition, RoleCondition
from ironcurtain.pipeline.render_terms import collection, raw_string, reference, string, term

MISSING = "null"
_COMPARISONS = {"equals": "==", "not_equals": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_GUARDED = {"not_equals", "not_in", "lt", "le", "gt", "ge", "matches"}


def value_reference(value: Json) -> tuple[str, str] | None:
    """Return (`caller` or `arg`, pointer) if an operand refers to another value, else None."""
    if isinstance(value, dict) and len(value) == 1:
        ((kind, pointer),) = value.items()
        if kind in {"caller", "arg"} and isinstance(pointer, str):
            return kind, pointer
    return None


def anchored(pattern: str) -> str:
    """Return a regular expression that matches whole strings only, line breaks included."""
    return rf"\A(?s:{pattern})\z"


def condition_lines(root: str, condition: ArgCondition) -> list[str]:
    """Return the lines that test one argument (`root` is `input.args`) or caller fact (`input.caller`)."""
    path = pointers.steps_of(condition.name)
    simple = condition.measure is None and not condition.or_absent
    if simple and pointers.EVERY not in path and value_reference(condition.value) is None:
        return _plain_lines(root, path, condition)
    test = _test(condition)
    if pointers.EVERY not in path:
        return [f"matching.satisfies({_lookup(root, path)}, {test})"]
    star = path.index(pointers.EVERY)
    elements = _lookup(root, path[:star])
    return [f"matching.{condition.over}_element({elements}, {term(list(path[star + 1 :]))}, {test})"]


def guard_line(condition: RoleCondition, *, allow: bool, in_sandbox: bool) -> str:
    """Return the line that holds a condition over subjects of other roles than the one justified."""
    every = "none_or_every_covered" if condition.or_none else "every_covered"
    name = every if allow else "some_covered"
    call = f"matching.{name}{'_anywhere' if in_sandbox else ''}("
    roles = _set(condition.roles, used=len(call))
    return f"{call}{roles}, {_set(condition.patterns, used=len(call) + len(roles) + 8)})"


def roles_guard_line(roles: Iterable[str], *, in_sandbox: bool) -> str:
    """Return the line that asks for a subject of one of the roles."""
    call = f"matching.some_subject{'_anywhere' if in_sandbox else ''}("
    return f"{call}{_set(roles, used=len(call) + 8)})"


def member_line(left: str, values: Iterable[Json]) -> str:
    """Return a line that tests membership; a single member is compared."""
    members = [term(value) for value in values]
    if len(members) == 1:
        return f"{left} == {members[0]}"
    return f"{left} in {collection(members, '{}', used=len(left) + 8)}"


def _plain_lines(root: str, path: tuple[str, ...], condition: ArgCondition) -> list[str]:
    left = reference(root, path)
    lines = [f"{_type_test(condition)}({left})"] if condition.op in _GUARDED else []
    if condition.op == "present":
        return [f"{left} != {MISSING}" if condition.value else f"{_lookup(root, path)} == {MISSING}"]
    if condition.op == "matches":
        return [*lines, f"regex.match({raw_string(anchored(condition.value))}, {left})"]
    if condition.op == "in":
        return [*lines, member_line(left, condition.value)]
    if condition.op == "not_in":
        inside = member_line(left, condition.value)
        single = len(condition.value) == 1
        return [*lines, f"{left} != {term(condition.value[0])}" if single else f"not {inside}"]
    return [*lines, f"{left} {_COMPARISONS[condition.op]} {term(condition.value)}"]


def _type_test(condition: ArgCondition) -> str:
    sample = condition.value[0] if condition.op == "not_in" else condition.value
    if isinstance(sample, bool):
        return "is_boolean"
    if isinstance(sample, int | float):
        return "is_number"
    if isinstance(sample, list):
        return "is_array"
    return "is_object" if isinstance(sample, dict) else "is_string"


def _lookup(root: str, path: tuple[str, ...]) -> str:
    return f"matching.lookup({root}, {term(list(path))})"


def _test(condition: ArgCondition) -> str:
    members = [f'"op": {string(condition.op)}', f'"value": {_operand(condition)}']
    if condition.or_absent:
        members.append('"or_absent": true')
    if condition.measure:
        members.append(f'"measure": {string(condition.measure)}')
    return "{" + ", ".join(members) + "}"


def _operand(condition: ArgCondition) -> str:
    referred = value_reference(condition.value)
    if referred:
        kind, pointer = referred
        root = "input.caller" if kind == "caller" else "input.args"
        return _lookup(root, pointers.steps_of(pointer))
    if condition.op == "matches":
        return raw_string(anchored(condition.value))
    return term(condition.value)


def _set(items: Iterable[str], *, used: int) -> str:
    return collection([string(item) for item in items], "{}", used=used)
