"""Caller facts in canonical form: those that are identifiers of a role, as arguments of that role are."""

from __future__ import annotations

import copy
from collections.abc import Mapping

from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.canonical.identifiers import canonical_identifier
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.decision.roles import Registry, Role
from ironcurtain.model.caller_facts import CallerFact
from ironcurtain.system.frozen import JsonValue


def identifying(declared: Mapping[str, CallerFact]) -> dict[tuple[str, ...], str]:
    """Return where the facts stand that are identifiers, each with its role."""
    return {pointers.steps_of(key): fact.role for key, fact in declared.items() if fact.role is not None}


def canonical_caller(
    caller: dict[str, JsonValue], identifiers: Mapping[tuple[str, ...], str], registry: Registry
) -> dict[str, JsonValue]:
    """Return caller facts with each identifier in the canonical form of its role.

    One that has none is null, which counts as not known; of a list that holds such a one nothing is known.

    Args:
        caller: The facts as they were given.
        identifiers: What `identifying` returns.
        registry: The roles.
    """
    if not identifiers:
        return caller
    made = copy.deepcopy(caller)
    for steps, role in identifiers.items():
        for place, value in [*pointers.matches(caller, steps)]:
            pointers.assign(made, place, _canonical(registry[role], value))
    return made


def _canonical(role: Role, value: JsonValue) -> JsonValue:
    listed = value if isinstance(value, list) else [value]
    try:
        found: list[JsonValue] = [
            canonical_identifier(role, each) for each in listed if isinstance(each, str | int)
        ]
    except UnrepresentableError:
        return None
    if len(found) < len(listed):
        return None
    return found if isinstance(value, list) else found[0]
