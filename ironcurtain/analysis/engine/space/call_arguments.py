"""The arguments of the calls that are put together: those of a mode, and plain ones for all others.

No proof rests on plain values: where none of them fits, calls that are put together are refused, and count as
such.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from functools import cached_property

from ironcurtain.analysis.engine.indexes import Assignment
from ironcurtain.analysis.engine.policies_under_test import PoliciesUnderTest
from ironcurtain.analysis.engine.rules.predicates import Values
from ironcurtain.analysis.engine.space.elements import Element
from ironcurtain.analysis.engine.space.modes import Modes, joined_sources, tied_variables
from ironcurtain.analysis.engine.space.placing import RawValue, ResourceSource
from ironcurtain.analysis.engine.space.sources import SourceReader
from ironcurtain.analysis.engine.space.variables import PRESENT, is_sign
from ironcurtain.decision.canonical.validate import ValidatedTool
from ironcurtain.decision.roles import GIT_REMOTE
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.system.frozen import JsonValue


class PlainValues:
    """What stands in calls of one tool for the arguments that a question is not about."""

    def __init__(self, annotation: ToolAnnotation, reader: SourceReader, policies: PoliciesUnderTest) -> None:
        self._annotation = annotation
        self._reader = reader
        self._policies = policies
        self._known: dict[tuple[str, ...], dict[str, JsonValue]] = {}

    @cached_property
    def fillers(self) -> dict[str, JsonValue]:
        """A plain value for every argument that must be given, or whose default is refused."""
        needed = [*sorted(self._reader.placing.shapes.required)]
        needed += [a.top_level for a in self._annotation.args if a.required]
        needed += [s.places[0] for s in self._reader.sources if self._reader.absent(s, {}) is None]
        found: dict[str, JsonValue] = {}
        for name in dict.fromkeys(needed):
            if name not in found:
                found.update(self._filler(name))
        return found

    @cached_property
    def repository(self) -> dict[str, JsonValue]:
        """The argument that names a repository, where there is one."""
        sources = (s for s in self._reader.sources if s.argument is not None and s.argument.repository)
        source = next(sources, None)
        return {} if source is None else self.of(source)

    def needs_repository(self, source: ResourceSource) -> bool:
        """Tell whether what a source yields depends on the repository of the call."""
        argument = source.argument
        return argument is not None and GIT_REMOTE in argument.possible_roles and bool(self._policies.remotes)

    def resource(self, name: str) -> dict[str, JsonValue]:
        """Return a plain value of an argument that names a resource and must be there."""
        source = next((s for s in self._reader.sources if name in s.places), None)
        return {name: PRESENT} if source is None else self.of(source)

    def of(self, source: ResourceSource) -> dict[str, JsonValue]:
        """Return plain arguments of a source: one that fits, or else one that steps 4 and 5 let pass."""
        if source.pointer not in self._known:
            placed = [self._reader.placing.place(source, (value,)) for value in self._witnesses(source)]
            fitting = [each for each in placed if self._reader.placing.fits(each)]
            evaluated = (each for each in (*fitting, *placed) if self._reader.is_judged(source, each))
            self._known[source.pointer] = next(evaluated, placed[0] if placed else {})
        return self._known[source.pointer]

    def _filler(self, name: str) -> dict[str, JsonValue]:
        source = next((s for s in self._reader.sources if name in s.places), None)
        if source is not None:
            placed = self.of(source)
            if self._reader.placing.fits(placed):
                return placed
        return {name: self._reader.placing.plain(name)}

    def _witnesses(self, source: ResourceSource) -> Iterator[RawValue]:
        listed = self._reader.placing.listed(source.argument, source.pointer) if source.argument else None
        yield from listed or ()
        roles = [self._policies.registry[role] for role in source.roles]
        kinds = {role.pattern_kind for role in roles if role.resource}
        if "path" in kinds and self._policies.sandbox is not None:
            yield f"{self._policies.sandbox}/{self._policies.fresh[0]}"
            yield "."
        for kind in sorted(kinds):
            for witness in self._policies.witnesses.get(kind, ()):
                if not witness.chain:
                    yield from self._reader.spellings(source, witness)
        yield from list(self._policies.remotes.values())[:1]


class CallArguments:
    """Puts the arguments of calls of one tool together.

    Args:
        tool: The tool.
        modes: Its modes.
        reader: Its sources.
        policies: The policies.
    """

    def __init__(
        self, tool: ValidatedTool, modes: Modes, reader: SourceReader, policies: PoliciesUnderTest
    ) -> None:
        self._tool, self._modes, self._reader = tool, modes, reader
        self._plain = PlainValues(tool.annotation, reader, policies)

    def filled(self, arguments: dict[str, JsonValue]) -> dict[str, JsonValue]:
        """Return a call's arguments with defaults filled in."""
        return self._tool.with_defaults(arguments)

    def default(self, name: str) -> JsonValue:
        """Return what is filled in for an absent top-level argument, None if nothing is."""
        return self.filled({}).get(name)

    def of(self, chosen: Assignment, without: ResourceSource | None = None) -> dict[str, JsonValue]:
        """Return plain arguments of a call in a mode: the tested ones, and what must be there besides.

        Args:
            chosen: The mode.
            without: A source to leave out, whose values are to be put in.
        """
        left_out = without.places if without is not None else ()
        given = {name: value for name, value in self._raw(chosen).items() if name not in left_out}
        if without is not None and self._plain.needs_repository(without):
            given = {**self._plain.repository, **given}
        if without is not None:
            # Whether there is a joined resource matters to other sources, and not which.
            joined = [s for s in joined_sources(self._modes.sources) if s != without]
            given |= {
                n: v for s in joined if self._modes.gives(s, chosen) for n, v in self._plain.of(s).items()
            }
        return {
            **{n: v for n, v in self._plain.fillers.items() if n not in given and n not in left_out},
            **given,
        }

    def _raw(self, chosen: Assignment) -> dict[str, JsonValue]:
        """Return the arguments that a mode tests as a call gives them, resources among them plain."""
        classes = (self._modes.variables[index].classes[class_] for index, class_ in chosen.items())
        given = {name: value for each in classes for (root, name), value in each.raw if root == "args"}
        return self._with_plain(given)

    def _with_plain(self, given: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """Return arguments with plain values where it is only known that a resource is there."""
        found: dict[str, JsonValue] = {}
        for name, value in given.items():
            found.update(self._plain.resource(name) if is_sign(value) else {name: value})
        return found

    def read_with(self, source: ResourceSource, chosen: Assignment) -> dict[str, JsonValue]:
        """Return what of a mode steps 4 and 5 read besides a source, with defaults filled in."""
        found = dict(self._plain.repository) if self._plain.needs_repository(source) else {}
        found |= self._with_plain(self._modes.values(chosen)["args"])
        unread = {n for s in (source, *joined_sources(self._modes.sources)) for n in s.places}
        return {name: value for name, value in found.items() if name not in unread}

    def joined(self, source: ResourceSource, element: Element, chosen: Assignment) -> dict[str, JsonValue]:
        """Return arguments that make a joined resource, in the classes of a mode if some are found."""
        plain = self._reader.placing.place(source, element.values)
        tied = tied_variables(self._modes.sources, self._modes.variables)
        of_mode = {
            name: value
            for index in tied
            if index in chosen
            for (root, name), value in self._modes.variables[index].classes[chosen[index]].values
            if root == "args" and name in plain
        }
        known = self._modes.values(chosen)
        for size in range(len(of_mode) + 1):
            for names in itertools.combinations(sorted(of_mode), size):
                made = {**plain, **{name: of_mode[name] for name in names}}
                is_meant = self.are_in_mode(
                    {**known["args"], **made}, known["caller"], known["facts"], chosen
                )
                if is_meant and (not names or self._reader.yields(source, made, element)):
                    return made
        return plain

    def are_in_mode(
        self,
        arguments: dict[str, JsonValue],
        caller: dict[str, JsonValue],
        facts: dict[str, JsonValue],
        chosen: Assignment,
    ) -> bool:
        """Tell whether what is joined in a call has the classes that the call was made for."""
        tied = list(tied_variables(self._modes.sources, self._modes.variables))
        if not tied:
            return True
        values: Values = {"args": self.filled(arguments), "caller": caller, "facts": facts}
        return all(self._modes.variables[index].class_of(values) == chosen[index] for index in tied)
