"""Plain values: what stands in a call for the arguments that a question is not about.

No proof rests on them: where none of them fits, calls that are put together are refused, and count as such.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from ironcurtain.analysis.engine.policies_under_test import GIT_REMOTE, PoliciesUnderTest
from ironcurtain.analysis.engine.space.placing import Source, Spelling
from ironcurtain.analysis.engine.space.sources import SourceReader
from ironcurtain.analysis.engine.space.variables import PRESENT
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.system.frozen import JsonValue


class PlainValues:
    """The plain values of one tool's arguments."""

    def __init__(self, annotation: ToolAnnotation, reader: SourceReader, sides: PoliciesUnderTest) -> None:
        self._annotation = annotation
        self._reader = reader
        self._sides = sides
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

    def needs_repository(self, source: Source) -> bool:
        """Tell whether what a source yields depends on the repository of the call."""
        argument = source.argument
        return argument is not None and GIT_REMOTE in argument.possible_roles and bool(self._sides.remotes)

    def resource(self, name: str) -> dict[str, JsonValue]:
        """Return a plain value of an argument that names a resource and must be there."""
        source = next((s for s in self._reader.sources if name in s.places), None)
        return {name: PRESENT} if source is None else self.of(source)

    def of(self, source: Source) -> dict[str, JsonValue]:
        """Return plain arguments of a source: one that fits, or else one that steps 4 and 5 let pass."""
        if source.pointer not in self._known:
            placed = [self._reader.placing.place(source, (value,)) for value in self._witnesses(source)]
            fitting = [each for each in placed if self._reader.placing.fits(each)]
            judged = (each for each in (*fitting, *placed) if self._reader.is_judged(source, each))
            self._known[source.pointer] = next(judged, placed[0] if placed else {})
        return self._known[source.pointer]

    def _filler(self, name: str) -> dict[str, JsonValue]:
        source = next((s for s in self._reader.sources if name in s.places), None)
        if source is not None:
            placed = self.of(source)
            if self._reader.placing.fits(placed):
                return placed
        return {name: self._reader.placing.plain(name)}

    def _witnesses(self, source: Source) -> Iterator[Spelling]:
        listed = self._reader.placing.listed(source.argument, source.pointer) if source.argument else None
        yield from listed or ()
        roles = [self._sides.registry[role] for role in source.roles]
        kinds = {role.pattern_kind for role in roles if role.resource}
        if "path" in kinds and self._sides.sandbox is not None:
            yield f"{self._sides.sandbox}/{self._sides.fresh[0]}"
            yield "."
        for kind in sorted(kinds):
            for witness in self._sides.witnesses.get(kind, ()):
                if not witness.chain:
                    yield from self._reader.spellings(source, witness)
        yield from list(self._sides.remotes.values())[:1]
