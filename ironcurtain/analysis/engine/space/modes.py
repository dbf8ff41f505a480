"""Modes: the combinations of classes that calls of one tool can have, and the roles of its sources in each.

Region and classes of a resource that is joined of tested arguments are taken to be independent, so every
combination that exists is among those that are looked at, and more. A proof over all of them holds; a call
that is put together counts only where it has the classes that it was made for.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from ironcurtain.analysis.engine.indexes import (
    Assignment,
    ClassIndex,
    ClassSets,
    VariableIndex,
    indexed,
)
from ironcurtain.analysis.engine.rules.predicates import Predicate, ValueName, rule_predicate
from ironcurtain.analysis.engine.space.placing import ResourceSource
from ironcurtain.analysis.engine.space.variables import Variable, is_sign
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.conditions import ArgCondition
from ironcurtain.model.unknown_facts import Root, values_by_root
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import JsonValue

MAX_MODES = 20_000
Roles: TypeAlias = tuple[tuple[str, ...], ...]
"""The roles that each source has in a mode."""
RoleMode: TypeAlias = tuple[dict[VariableIndex, ClassIndex], Roles]
"""Classes of the variables that roles depend on, and the roles that each source has then."""


class Modes:
    """The modes of one tool.

    Args:
        sources: The tool's sources.
        variables: The tool's variables.

    Attributes:
        role_variables: The variables that decide which roles there are, and whether a joined resource is
            there.
    """

    def __init__(self, sources: Sequence[ResourceSource], variables: Sequence[Variable]) -> None:
        self.sources, self.variables = sources, variables
        self.role_variables = [
            index
            for index, variable in indexed(VariableIndex, variables)
            if any(predicate.when is not None for predicate in variable.predicates)
        ]
        self.role_variables += {*tied_variables(sources, variables)} - {*self.role_variables}
        self._known: dict[frozenset[tuple[VariableIndex, frozenset[ClassIndex]]], list[RoleMode]] = {}

    @property
    def gaps(self) -> frozenset[str]:
        """Why a mode may be missing."""
        count = math.prod(len(self.variables[index].classes) for index in self.role_variables)
        return frozenset({"more modes than can be followed"} if count > MAX_MODES else ())

    def of_roles(self, wanted: ClassSets) -> list[RoleMode]:
        """Return the assignments of what roles depend on, with each source's roles; one for each such."""
        memo = frozenset((index, wanted[index]) for index in self.role_variables if index in wanted)
        if memo not in self._known:
            self._known[memo] = self._of_roles(wanted)
        return self._known[memo]

    def _of_roles(self, wanted: ClassSets) -> list[RoleMode]:
        found: dict[tuple[object, ...], RoleMode] = {}
        for chosen in self._assignments(wanted):
            if self.is_torn(chosen):
                continue
            roles = self.roles(chosen)
            present = tuple(self.gives(source, chosen) for source in self.sources)
            found.setdefault((roles, present), (chosen, roles))
        return list(found.values())

    def _assignments(self, wanted: ClassSets) -> Iterator[dict[VariableIndex, ClassIndex]]:
        """Yield the assignments of what roles depend on that keep to the wanted classes, plainest first."""
        pools = [self._plainest_first(index, wanted.get(index)) for index in self.role_variables]
        for combination in itertools.islice(itertools.product(*pools), MAX_MODES):
            yield dict(zip(self.role_variables, combination, strict=True))

    def _plainest_first(self, index: VariableIndex, wanted: frozenset[ClassIndex] | None) -> list[ClassIndex]:
        variable = self.variables[index]
        return sorted(variable.indexes if wanted is None else sorted(wanted), key=variable.plainness)

    def completed(self, chosen: Assignment, wanted: ClassSets) -> dict[VariableIndex, ClassIndex]:
        """Complete an assignment, taking the plainest class of every other variable."""
        return {
            index: chosen[index] if index in chosen else self._plainest_first(index, wanted.get(index))[0]
            for index, _ in indexed(VariableIndex, self.variables)
        }

    def roles(self, chosen: Assignment) -> Roles:
        """Return the roles that each source has in a mode."""
        arguments = self.values(chosen)["args"]
        return tuple(source.roles_in(arguments) for source in self.sources)

    def values(self, chosen: Assignment) -> dict[Root, dict[str, JsonValue]]:
        """Return the arguments and caller facts of an assignment, with defaults filled in."""
        found = values_by_root()
        for index, class_ in chosen.items():
            for (root, name), value in self.variables[index].classes[class_].values:
                found[root][name] = value
        return found

    def fits(self, chosen: Assignment) -> bool:
        """Tell whether calls are known to have the classes of an assignment."""
        return all(self.variables[index].classes[class_].fits for index, class_ in chosen.items())

    def gives(self, source: ResourceSource, chosen: Assignment) -> bool | None:
        """Tell whether an assignment demands that a source is given, or not given, or neither."""
        if source.composite is not None:
            parts = self._presence(source.places, chosen)
            return parts == {True} if parts else None
        places: set[ValueName] = {("args", name) for name in source.places}
        for index, class_ in chosen.items():
            variable = self.variables[index]
            if places & set(variable.places):
                values = dict(variable.classes[class_].values)
                return any(is_sign(values.get(place)) for place in places)
        return None

    def is_torn(self, chosen: Assignment) -> bool:
        """Tell whether a mode gives a part of a joined resource and not another: such calls are refused."""
        return any(len(self._presence(source.places, chosen)) > 1 for source in joined_sources(self.sources))

    def _presence(self, parts: Sequence[str], chosen: Assignment) -> set[bool]:
        return {
            _presence_test(name).key in self.variables[index].classes[class_].true
            for index, class_ in chosen.items()
            for name in parts
            if ("args", name) in self.variables[index].places
        }


def presence_predicates(tool: ToolAnnotation, predicates: Iterable[Predicate]) -> Iterator[Predicate]:
    """Yield a test of presence for every tested part: a joined resource is there where its parts are."""
    tested = {place for predicate in predicates for place in predicate.places}
    for composite in tool.composites:
        for name in composite.join:
            if ("args", name) in tested:
                yield _presence_test(name)


def joined_sources(sources: Iterable[ResourceSource]) -> list[ResourceSource]:
    """Return the sources that are joined of several arguments."""
    return [source for source in sources if source.composite is not None]


def tied_variables(
    sources: Iterable[ResourceSource], variables: Sequence[Variable]
) -> Iterator[VariableIndex]:
    """Yield the indexes of variables that hold a part of a joined resource."""
    parts = {("args", name) for source in joined_sources(sources) for name in source.places}
    for index, variable in indexed(VariableIndex, variables):
        if parts & {*variable.places}:
            yield index


def _presence_test(name: str) -> Predicate:
    return rule_predicate("args", ArgCondition(name=name, op="present", value=True), Verdict.ALLOW)
