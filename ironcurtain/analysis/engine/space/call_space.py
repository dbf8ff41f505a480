"""The space of one tool's calls under one or two policies: variables, sources, cells and their rules."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from ironcurtain.analysis.engine.policies_under_test import GIT_REMOTE, PoliciesUnderTest
from ironcurtain.analysis.engine.rules.diagram import (
    ALWAYS,
    Activity,
    DecisionList,
    Diagrams,
    TooManyError,
    guard_order,
)
from ironcurtain.analysis.engine.rules.diagram import DiagramNode as Diagram
from ironcurtain.analysis.engine.rules.predicates import Place, Predicate, role_atom, role_atoms
from ironcurtain.analysis.engine.rules.rules import GuardKey, RuleOfTool, rules_of_tool
from ironcurtain.analysis.engine.space.dependent import tied_gaps
from ironcurtain.analysis.engine.space.elements import Element, SubjectKey
from ironcurtain.analysis.engine.space.equivalence_classes import (
    CALL_KEY,
    EquivalenceClass,
    RuleIndex,
    lies_there,
    pairs,
)
from ironcurtain.analysis.engine.space.joined import (
    all_given,
    is_torn,
    joined_sources,
    presence_atoms,
    tied_variables,
)
from ironcurtain.analysis.engine.space.placing import Source
from ironcurtain.analysis.engine.space.plain_values import PlainValues
from ironcurtain.analysis.engine.space.sources import SourceReader
from ironcurtain.analysis.engine.space.variables import PRESENT, variables_of
from ironcurtain.analysis.engine.too_many import too_many
from ironcurtain.decision.canonical.conditional import roles_in_call
from ironcurtain.decision.canonical.resources import CALL
from ironcurtain.decision.roles import NONE
from ironcurtain.errors import EvidenceError
from ironcurtain.system.frozen import JsonValue

MAX_MODES = 20_000
CUSTOM_MODULES = "modules of the project's own"
RoleMode: TypeAlias = tuple[dict[int, int], tuple[tuple[str, ...], ...]]
"""Classes of the variables that roles depend on, and the roles that each source has then."""
Assignment: TypeAlias = Mapping[int, int]
"""A class for each variable, by their indexes."""


class CallSpace:
    """Everything that can be told apart about the calls of one tool.

    Args:
        server: The tool's server.
        tool: Its name, known to every policy.
        sides: The policies.
        more: Further tests that calls are told apart by, beside those of the rules.

    Raises:
        EvidenceError: If there is more to tell apart than can be examined.
    """

    def __init__(
        self, server: str, tool: str, sides: PoliciesUnderTest, more: Sequence[Predicate] = ()
    ) -> None:
        self.server, self.tool, self.sides = server, tool, sides
        fitted = [each for side in sides.sides if (each := side.policy.tool(server, tool)) is not None]
        if len(fitted) < len(sides.sides):
            raise EvidenceError("a tool is missing from one of the policies")
        self._tool = fitted[0]
        self.annotation = self._tool.annotation
        self.rules = tuple(
            rules_of_tool(side.content, server, self.annotation, side.tokens) for side in sides.sides
        )
        named = {pattern for rules in self.rules for rule in rules for pattern in rule.patterns}
        self.reader = SourceReader(server, fitted, sides, frozenset(named))
        self.sources: tuple[Source, ...] = self.reader.sources
        atoms = [
            *role_atoms(self.annotation),
            *(atom for rules in self.rules for rule in rules for atom in rule.atoms),
        ]
        atoms += presence_atoms(self.annotation, [*atoms, *more])
        self.used_atoms = frozenset(atom.key for atom in atoms)
        variables = variables_of([*atoms, *more], fitted[0], sides.registry, sides.fresh)
        self.variables = variables.values
        self.diagrams = Diagrams(self.variables)
        self.gaps = variables.gaps | self.reader.gaps()
        self.gaps |= {CUSTOM_MODULES for side in sides.sides if side.has_custom_modules}
        self.gaps |= {*tied_gaps(self.annotation, self._tested(), self._tool.with_defaults({}))}
        self._indexes = [RuleIndex(rules) for rules in self.rules]
        # What decides which roles there are, and whether a joined resource is there.
        self.role_variables = [
            index for index, v in enumerate(self.variables) if any(atom.when is not None for atom in v.atoms)
        ]
        self.role_variables += {*tied_variables(self.sources, self.variables)} - {*self.role_variables}
        if math.prod(len(self.variables[index].classes) for index in self.role_variables) > MAX_MODES:
            self.gaps |= {"more modes than can be followed"}
        self._elements: dict[tuple[int, tuple[str, ...]], list[Element]] = {}
        self._modes: dict[frozenset[tuple[int, frozenset[int]]], list[RoleMode]] = {}
        self._plain = PlainValues(self.annotation, self.reader, sides)
        self._absent: dict[tuple[object, ...], Element | None] = {}
        self._empty: dict[tuple[object, ...], Element | None] = {}
        self.guards: Mapping[GuardKey, frozenset[int]] = self._guard_keys()
        self.cells = self._find_cells()

    # -- modes ------------------------------------------------------------------------------------

    def assignments(
        self, wanted: Mapping[int, frozenset[int]], over: Sequence[int]
    ) -> Iterator[dict[int, int]]:
        """Yield the assignments over some variables that keep to the wanted classes, plainest first."""
        pools = [self._ordered(index, wanted.get(index)) for index in over]
        for combination in itertools.islice(itertools.product(*pools), MAX_MODES):
            yield dict(zip(over, combination, strict=True))

    def role_modes(self, wanted: Mapping[int, frozenset[int]]) -> list[RoleMode]:
        """Return the assignments of what roles depend on, with each source's roles; one for each such."""
        memo = frozenset((index, wanted[index]) for index in self.role_variables if index in wanted)
        if memo not in self._modes:
            self._modes[memo] = self._role_modes(wanted)
        return self._modes[memo]

    def _role_modes(self, wanted: Mapping[int, frozenset[int]]) -> list[RoleMode]:
        found: dict[tuple[object, ...], tuple[dict[int, int], tuple[tuple[str, ...], ...]]] = {}
        for chosen in self.assignments(wanted, self.role_variables):
            if is_torn(self.sources, self.variables, chosen):
                continue
            arguments = self.values(chosen)["args"]
            roles = tuple(self._roles(source, arguments) for source in self.sources)
            present = tuple(self.given(source, chosen) for source in self.sources)
            found.setdefault((roles, present), (chosen, roles))
        return list(found.values())

    def roles_in(self, chosen: Assignment) -> tuple[tuple[str, ...], ...]:
        """Return the roles that each source has in a mode."""
        arguments = self.values(chosen)["args"]
        return tuple(self._roles(source, arguments) for source in self.sources)

    def plain(self, chosen: Mapping[int, int], wanted: Mapping[int, frozenset[int]]) -> dict[int, int]:
        """Complete an assignment, taking the plainest class of every other variable."""
        return {
            index: chosen[index] if index in chosen else self._ordered(index, wanted.get(index))[0]
            for index in range(len(self.variables))
        }

    def values(self, chosen: Assignment) -> dict[str, dict[str, JsonValue]]:
        """Return the arguments and caller facts of an assignment, with defaults filled in."""
        found: dict[str, dict[str, JsonValue]] = {"args": {}, "caller": {}}
        for index, class_ in chosen.items():
            for (root, name), value in self.variables[index].classes[class_].values:
                found[root][name] = value
        return found

    def fits(self, chosen: Assignment) -> bool:
        """Tell whether calls are known to have the classes of an assignment."""
        return all(self.variables[index].classes[class_].fits for index, class_ in chosen.items())

    def given(self, source: Source, chosen: Assignment) -> bool | None:
        """Tell whether an assignment demands that a source is given, or not given, or neither."""
        if source.composite is not None:
            return all_given(source.places, self.variables, chosen)
        places: set[Place] = {("args", name) for name in source.places}
        for index, class_ in chosen.items():
            variable = self.variables[index]
            if places & set(variable.places):
                values = dict(variable.classes[class_].values)
                return any(values.get(place) == PRESENT for place in places)
        return None

    def _ordered(self, index: int, wanted: frozenset[int] | None) -> list[int]:
        variable = self.variables[index]
        allowed = sorted(wanted) if wanted is not None else range(len(variable.classes))
        return sorted(allowed, key=variable.plainness)

    def filled(self, arguments: dict[str, JsonValue]) -> dict[str, JsonValue]:
        """Return a call's arguments with defaults filled in."""
        return self._tool.with_defaults(arguments)

    def default(self, name: str) -> JsonValue:
        """Return what is filled in for an absent top-level argument, None if nothing is."""
        return self.filled({}).get(name)

    # -- sources and elements ---------------------------------------------------------------------

    def elements(self, source: int, roles: tuple[str, ...]) -> list[Element]:
        """Return the elements of a source while it has some roles."""
        if (source, roles) not in self._elements:
            found: list[Element] = []
            if any(self.sides.registry[role].resource for role in roles):
                chosen = self._giving(source, roles)
                if chosen is not None:
                    own = self.sources[source]
                    found = self.reader.elements(
                        own, self.call_arguments(chosen, source), self._mode(chosen, source)
                    )
                    found += self._defaults(source, chosen)
            self._elements[source, roles] = found
        return self._elements[source, roles]

    def _giving(self, source: int, roles: tuple[str, ...]) -> dict[int, int] | None:
        """Return a mode in which a source has some roles and may be given, None if there is none."""
        for chosen, each in self.role_modes({}):
            if each[source] == roles and self.given(self.sources[source], chosen) is not False:
                return chosen
        return None

    def _defaults(self, source: int, chosen: Assignment) -> list[Element]:
        """Return what a source yields where it is absent and its default is filled in."""
        absent = self.absent(source, chosen)
        return [absent] if absent is not None and absent.filled and not absent.is_bare else []

    def absent(self, source: int, chosen: Assignment) -> Element | None:
        """Return what a call without the source's argument yields, None if it must be given."""
        given = self.given(self.sources[source], chosen)
        memo = (source, *chosen.items())
        if memo not in self._absent:
            self._absent[memo] = self.reader.absent(self.sources[source], self._mode(chosen, source))
        found = self._absent[memo]
        # Where its default is filled in, an absent argument passes for a given one.
        return None if found is None or given not in (None, found.filled) else found

    def call_arguments(self, chosen: Assignment, but: int | None = None) -> dict[str, JsonValue]:
        """Return plain arguments of a call in a mode: the tested ones, and what must be there besides."""
        skipped = self.sources[but].places if but is not None else ()
        given = {n: v for n, v in self._raw(chosen).items() if n not in skipped}
        if but is not None and self._plain.needs_repository(self.sources[but]):
            given = {**self._plain.repository, **given}
        if but is not None:
            # Whether there is a joined resource matters to other sources, and not which.
            joined = [s for s in joined_sources(self.sources) if s != self.sources[but]]
            given |= {n: v for s in joined if self.given(s, chosen) for n, v in self._plain.of(s).items()}
        return {
            **{n: v for n, v in self._plain.fillers.items() if n not in given and n not in skipped},
            **given,
        }

    def _raw(self, chosen: Assignment) -> dict[str, JsonValue]:
        """Return the arguments that a mode tests as a call gives them, resources among them plain."""
        classes = (self.variables[index].classes[class_] for index, class_ in chosen.items())
        given = {name: value for each in classes for (root, name), value in each.raw if root == "args"}
        return self._with_plain(given)

    def _with_plain(self, given: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """Return arguments with plain values where it is only known that a resource is there."""
        found: dict[str, JsonValue] = {}
        for name, value in given.items():
            found.update(self._plain.resource(name) if value == PRESENT else {name: value})
        return found

    def _mode(self, chosen: Assignment, but: int) -> dict[str, JsonValue]:
        """Return what of a mode steps 4 and 5 read besides a source, with defaults filled in."""
        found = dict(self._plain.repository) if self._plain.needs_repository(self.sources[but]) else {}
        found |= self._with_plain(self.values(chosen)["args"])
        unread = {n for s in (self.sources[but], *joined_sources(self.sources)) for n in s.places}
        return {name: value for name, value in found.items() if name not in unread}

    def _roles(self, source: Source, arguments: Mapping[str, JsonValue]) -> tuple[str, ...]:
        if source.composite is not None:
            return (source.composite.role,)
        return roles_in_call(source.argument, arguments) if source.argument else ()

    # -- cells ------------------------------------------------------------------------------------

    def _find_cells(self) -> dict[tuple[SubjectKey | None, ...], EquivalenceClass]:
        found: dict[tuple[SubjectKey | None, ...], EquivalenceClass] = {}
        for _, roles in self.role_modes({}):
            for source, own in enumerate(roles):
                for element in self.elements(source, own):
                    for keys, value in pairs(element):
                        role = next(key.role for key in keys if key is not None)
                        cell = found.setdefault(keys, EquivalenceClass(role, keys))
                        cell.homes.add((source, own))
                        cell.fits = cell.fits or element.fits
                        witness = element.witness
                        if witness is not None and not witness.whole and lies_there(witness, keys):
                            cell.regions.add((witness.chain, witness.label))
                            cell.example = cell.example or (source, element, value)
                        elif cell.example is None:
                            cell.example = (source, element, value)
                        if witness is None and not cell.regions:
                            # What a default names lies in no region that was tried.
                            cell.regions.add((("filled in", value), value))
        if self._can_be_bare():
            keys = tuple(CALL_KEY for _ in self.sides.sides)
            found[keys] = EquivalenceClass(NONE, keys, {((), CALL)}, fits=True)
        return found

    def _can_be_bare(self) -> bool:
        """Tell whether some call of the tool has no resources."""
        return any(
            all(self._can_be_empty(source, own, chosen) for source, own in enumerate(roles))
            for chosen, roles in self.role_modes({})
        )

    def _can_be_empty(self, source: int, roles: tuple[str, ...], chosen: Assignment) -> bool:
        if not any(self.sides.registry[role].resource for role in roles):
            return True
        absent = self.absent(source, chosen)
        if absent is not None and absent.is_bare:
            return not self.is_implied(roles)
        return self.empty(source, chosen) is not None

    def empty(self, source: int, chosen: Assignment) -> Element | None:
        """Return the element of an argument that is there and holds no resource, None if it must hold one."""
        if self.given(self.sources[source], chosen) is False:
            return None
        memo = (source, *chosen.items())
        if memo not in self._empty:
            arguments = self.call_arguments(chosen, source)
            self._empty[memo] = self.reader.empty(self.sources[source], arguments, self._mode(chosen, source))
        return self._empty[memo]

    def is_implied(self, roles: tuple[str, ...]) -> bool:
        """Tell whether git would choose a remote where the argument is absent."""
        return GIT_REMOTE in roles and any(a.repository for a in self.annotation.args)

    # -- decision lists ---------------------------------------------------------------------------

    def diagram(self, cell: EquivalenceClass) -> Diagram:
        """Return the diagram of a cell: its outcomes are, per policy, orders of rules.

        Raises:
            EvidenceError: If it grows beyond what can be examined.
        """
        try:
            return self.diagrams.of(self._activity(cell), self.decision_lists(cell))
        except TooManyError:
            raise self.too_many() from None

    def decision_lists(self, cell: EquivalenceClass) -> tuple[DecisionList, ...]:
        """Return, per policy, the rules that can judge a cell's subjects, with what each asks."""
        return tuple(
            index.decision_list(key) if key is not None else ()
            for index, key in zip(self._indexes, cell.keys, strict=True)
        )

    def beside(self, cell: EquivalenceClass, rule: RuleOfTool) -> Diagram | None:
        """Return the diagram of a cell with, after the first policy's outcome, that of one rule alone.

        None where the rule judges no subject of the cell.

        Raises:
            EvidenceError: If it grows beyond what can be examined.
        """
        key = cell.keys[0]
        alone = RuleIndex([rule]).decision_list(key) if key is not None else ()
        if key is None or not alone:
            return None
        try:
            return self.diagrams.of(self._activity(cell), (self._indexes[0].decision_list(key), alone))
        except TooManyError:
            raise self.too_many() from None

    def too_many(self) -> EvidenceError:
        """Return the error that names what makes the tool's policy too large to examine."""
        return too_many(self.server, self.tool, self.rules[0], self.variables)

    def _activity(self, cell: EquivalenceClass) -> Activity:
        """Return when a cell's subjects can exist, from the conditional roles of their sources."""
        if cell.role == NONE:
            sources = [
                self._branches(source, lambda roles, s=index: not self._must_yield(s, roles))
                for index, source in enumerate(self.sources)
            ]
            known = [branches for branches in sources if branches[0][0] or not branches[0][1]]
            return Activity(tuple(known), every=True) if known else ALWAYS
        found = [
            self._branches(self.sources[index], lambda roles, s=index: (s, roles) in cell.homes)
            for index in sorted({source for source, _ in cell.homes})
        ]
        return ALWAYS if any(not b[0][0] and b[0][1] for b in found) else Activity(tuple(found))

    def _must_yield(self, source: int, roles: tuple[str, ...]) -> bool:
        if not any(self.sides.registry[role].resource for role in roles):
            return False
        return not any(
            self._can_be_empty(source, roles, chosen)
            for chosen, each in self.role_modes({})
            if each[source] == roles
        )

    def _branches(self, source: Source, wanted: object) -> tuple[tuple[frozenset[str], bool], ...]:
        test = wanted if callable(wanted) else bool
        if source.argument is None or source.argument.conditional is None:
            return ((frozenset(), test(self._roles(source, {}))),)
        conditional = source.argument.conditional
        branches = [(frozenset({role_atom(when).key}), test(when.roles)) for when in conditional.when]
        return (*branches, (frozenset(), test(conditional.default)))

    def _guard_keys(self) -> dict[GuardKey, frozenset[int]]:
        """Return every guard with the sides that have it."""
        roles = {role for source in self.sources for role in self._possible(source)} | {NONE}
        found: dict[GuardKey, frozenset[int]] = {}
        for side, rules in enumerate(self.rules):
            for rule in rules:
                for role in roles & rule.named_roles:
                    for guard in rule.guards_of(role):
                        found[guard.key] = found.get(guard.key, frozenset()) | {side}
        return dict(sorted(found.items(), key=lambda item: guard_order(item[0])))

    def _possible(self, source: Source) -> tuple[str, ...]:
        roles = source.roles
        return (*roles, "read-path", "write-path") if GIT_REMOTE in roles else roles

    def _tested(self) -> frozenset[str]:
        """Return the top-level arguments that are tested."""
        return frozenset(name for v in self.variables for root, name in v.places if root == "args")
