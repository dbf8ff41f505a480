"""Identifiers of the caller's that tests compare with resources of a call.

Which resource an argument names, and whether the caller has the same identifier, are two questions: whatever
a call names, a caller can have it or not. So in classes and in questions to OPA one sign stands for the
values of both, and calls that are put together get real ones.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Self

from ironcurtain.analysis.engine.rules.predicates import Predicate
from ironcurtain.analysis.engine.space.variables import (
    PRESENT,
    is_comparison_with_caller,
    is_sign,
    own_sign,
)
from ironcurtain.analysis.engine.values.witnesses import outside_witnesses
from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.canonical.identifiers import canonical_identifier
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.decision.roles import Registry
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct


class _Comparison(Struct):
    argument: str
    fact: tuple[str, ...]
    role: str


class ComparedIdentifiers:
    """The comparisons of one tool.

    Args:
        comparisons: Each with its argument, the place of the caller's fact, and the role of both.
        registry: The roles.
        fresh: Words that no policy names.
    """

    def __init__(self, comparisons: Iterable[_Comparison], registry: Registry, fresh: Sequence[str]) -> None:
        self._comparisons = tuple(comparisons)
        self._registry, self._fresh = registry, fresh

    @classmethod
    def of(
        cls, predicates: Iterable[Predicate], tool: ToolAnnotation, registry: Registry, fresh: Sequence[str]
    ) -> Self:
        """Return the comparisons that tests make of the arguments of a tool that name resources."""
        roles = {argument.name: argument.possible_roles for argument in tool.args}
        found = {}
        for predicate in predicates:
            if predicate.reference is None or not is_comparison_with_caller(predicate):
                continue
            ends = dict([(predicate.root, predicate.path), predicate.reference])
            name = ends["args"][0]
            (role, *_) = roles.get(name, ("",))
            if role in registry and registry[role].resource:
                found[name, ends["caller"]] = _Comparison(name, ends["caller"], role)
        return cls(found.values(), registry, fresh)

    @property
    def arguments(self) -> frozenset[str]:
        """The arguments."""
        return frozenset(each.argument for each in self._comparisons)

    def signs(self, arguments: Mapping[str, JsonValue]) -> dict[str, str]:
        """Return the sign of each of the arguments that a call has: equal ones share one."""
        given = {name: arguments[name] for name in self.arguments if arguments.get(name) is not None}
        return {
            name: PRESENT if [*given.values()].count(value) > 1 else own_sign(name)
            for name, value in given.items()
        }

    def as_signs(
        self, caller: Mapping[str, JsonValue], arguments: Mapping[str, JsonValue]
    ) -> dict[str, JsonValue]:
        """Return caller facts with signs in place of what equals an argument; both are canonical."""
        signs = self.signs(arguments)

        def sign(compared: list[_Comparison], value: JsonValue) -> JsonValue:
            named = [c.argument for c in compared if c.argument in signs]
            equal = [signs[name] for name in named if arguments[name] == value]
            return equal[0] if equal else f"not {value}" if is_sign(value) else value

        return self._changed(caller, sign)

    def as_values(
        self, caller: Mapping[str, JsonValue], arguments: Mapping[str, JsonValue]
    ) -> dict[str, JsonValue]:
        """Return caller facts with arguments' values in place of signs, and others that have a form."""

        def real(compared: list[_Comparison], value: JsonValue) -> JsonValue:
            if not isinstance(value, str):
                return value
            if not is_sign(value):
                return self._other(compared, value, arguments)
            named = [c for c in compared if value in (PRESENT, own_sign(c.argument))]
            return next((arguments[c.argument] for c in named if c.argument in arguments), None)

        return self._changed(caller, real)

    def _changed(
        self, caller: Mapping[str, JsonValue], change: Callable[[list[_Comparison], JsonValue], JsonValue]
    ) -> dict[str, JsonValue]:
        made: dict[str, JsonValue] = copy.deepcopy(dict(caller))
        for fact in dict.fromkeys(each.fact for each in self._comparisons):
            compared = [each for each in self._comparisons if each.fact == fact]
            for place, value in [*pointers.matches(made, fact)]:
                pointers.assign(made, place, change(compared, value))
        return made

    def _other(
        self, compared: Sequence[_Comparison], value: str, arguments: Mapping[str, JsonValue]
    ) -> JsonValue:
        """Return an identifier that is none of a call's: the value itself where it is one."""
        role = compared[0].role
        taken = {self._canonical(role, arguments.get(c.argument)) for c in compared}
        fresh = (text for word in self._fresh for text in _outside(role, self._registry, word))
        found = (text for text in (value, *fresh) if self._canonical(role, text) not in {None, *taken})
        return next(found, None)

    def _canonical(self, role: str, value: JsonValue) -> str | None:
        try:
            return canonical_identifier(self._registry[role], value) if isinstance(value, str) else None
        except UnrepresentableError:
            return None


def _outside(role: str, registry: Registry, word: str) -> Iterator[str]:
    for witness in outside_witnesses(role, registry, word):
        yield from witness.values
