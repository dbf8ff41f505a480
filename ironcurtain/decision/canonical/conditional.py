"""Conditional roles: which roles an argument carries in this call (specification 1.2)."""

from __future__ import annotations

from collections.abc import Mapping

from ironcurtain.model.annotations import Argument, When
from ironcurtain.system.frozen import JsonValue


def roles_in_call(argument: Argument, arguments: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """Return the argument's roles, given the filled arguments of the call.

    The first branch that holds decides; where none does, the default applies, which is the widest.
    """
    if argument.conditional is None:
        return argument.roles or ()
    for branch in argument.conditional.when:
        if _holds(branch, arguments.get(branch.arg)):
            return branch.roles
    return argument.conditional.default


def same_json(one: JsonValue, other: JsonValue) -> bool:
    """Tell whether two JSON values are equal, types included: true is not 1, but 1 is 1.0."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same_json(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_json(one[key], other[key]) for key in one)
    return bool(one == other)


def _holds(branch: When, value: JsonValue) -> bool:
    # Null counts as absent, and an absent argument equals nothing: its schema default was filled in before.
    if branch.present is not None:
        return (value is not None) == branch.present
    if value is None:
        return False
    if branch.in_ is not None:
        return any(same_json(value, candidate) for candidate in branch.in_)
    return same_json(value, branch.equals)
