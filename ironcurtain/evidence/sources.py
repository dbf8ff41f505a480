"""Sources: the arguments of a tool that yield subjects, and what each of their values yields.

Every value goes through the real steps 3 to 5 of a decision. What comes out, for one value of one
argument, is an *element*: the subjects that it adds to a call, under each policy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ironcurtain.canonical import pointers
from ironcurtain.canonical.codecs import encode
from ironcurtain.canonical.conditional import roles_in_call
from ironcurtain.canonical.fit import FittedTool
from ironcurtain.canonical.paths import ancestors
from ironcurtain.canonical.schema import ArgumentSchema
from ironcurtain.canonical.subjects import Subject
from ironcurtain.canonical.unrepresentable import UnrepresentableError
from ironcurtain.decide import structural
from ironcurtain.evidence.candidates import Builder
from ironcurtain.evidence.sides import GIT_REMOTE, Side, Sides
from ironcurtain.evidence.steps import StepsOfTool
from ironcurtain.evidence.witnesses import SANDBOX, SECOND_NAME, Witness
from ironcurtain.model.annotations import Argument, Composite, ToolAnnotation
from ironcurtain.model.base import Json


class SubjectKey(NamedTuple):
    """All that a policy and the structural checks can know of a subject.

    Attributes:
        role: Its role.
        patterns: The tokens of the patterns that cover it.
        discharged: Whether the sandbox has discharged it.
        floor: The structural rule under which it is at least escalated, or None.
        marks: The further patterns that cover it.
    """

    role: str
    patterns: frozenset[str]
    discharged: bool
    floor: str | None
    marks: frozenset[str]


class Seen(NamedTuple):
    """A subject as it came out of the canonicaliser."""

    key: SubjectKey
    subject: Subject


@dataclass(frozen=True)
class Element:
    """What one value of a source adds to a call.

    Attributes:
        witness: What was tried, None where the argument is absent.
        values: The raw values that make it, none where the argument is absent.
        seen: By policy, its subjects.
    """

    witness: Witness | None
    values: tuple[Json, ...]
    seen: tuple[tuple[Seen, ...], ...]


@dataclass(frozen=True)
class Source:
    """One argument, or composite of arguments, that yields subjects.

    Attributes:
        pointer: Where its subjects are found.
        argument: The annotated argument, or
        composite: the composite.
        many: Whether one call can hold several of its values.
    """

    pointer: tuple[str, ...]
    argument: Argument | None
    composite: Composite | None
    many: bool

    @property
    def places(self) -> tuple[str, ...]:
        """The top-level arguments that it stands in."""
        if self.composite is not None:
            return self.composite.join
        return (self.argument.top_level,) if self.argument else ()

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that its subjects can have."""
        if self.composite is not None:
            return (self.composite.role,)
        return self.argument.possible_roles if self.argument else ()


class SourceReader:
    """Reads the sources of one tool, and runs values through them.

    Args:
        server: The tool's server.
        tools: The tool under each policy.
        sides: The policies.
        patterns: The patterns that rules about the tool name, under any policy; no other ones matter.
    """

    def __init__(
        self, server: str, tools: Sequence[FittedTool], sides: Sides, patterns: frozenset[str]
    ) -> None:
        self._server = server
        self.patterns = patterns
        self._sides = sides
        self._steps = [
            side.steps.of_tool(server, tool, sides.registry)
            for side, tool in zip(sides.sides, tools, strict=True)
        ]
        self.annotation: ToolAnnotation = tools[0].annotation
        self._schema = self.annotation.input_schema or {}
        self._builder = Builder(self._schema, sides.fresh, refers=False)
        self.sources = tuple(self._find())
        self._witnesses = {kind: self._relevant(each) for kind, each in sides.witnesses.items()}

    def _find(self) -> Iterator[Source]:
        registry = self._sides.registry
        for argument in self.annotation.args:
            if any(registry[role].resource for role in argument.possible_roles):
                steps = pointers.steps_of(argument.name)
                yield Source(steps, argument, None, many=self._takes_many(argument, steps))
        for composite in self.annotation.composites:
            steps = pointers.steps_of(composite.join[0])
            yield Source(steps, None, composite, many=False)

    def _takes_many(self, argument: Argument, steps: tuple[str, ...]) -> bool:
        if pointers.EVERY in steps or argument.codec is not None or GIT_REMOTE in argument.possible_roles:
            return True
        schema = self._schema.get("properties", {}).get(steps[0], {})
        for step in steps[1:]:
            schema = schema.get("properties", {}).get(step, {})
        types = schema.get("type")
        return types is None or "array" in (types if isinstance(types, list | tuple) else [types])

    def reasons(self) -> list[str]:
        """Return what about the sources cannot be examined exactly."""
        tops = [source.places[0] for source in self.sources]
        doubled = sorted({top for top in tops if tops.count(top) > 1})
        return [f"several resources below the argument {name}" for name in doubled]

    # -- arguments --------------------------------------------------------------------------------

    def place(self, source: Source, values: Sequence[Json]) -> dict[str, Json]:
        """Return the top-level arguments that hold raw values of a source."""
        if source.composite is not None:
            parts = str(values[0]).split(source.composite.with_, len(source.composite.join) - 1)
            return dict(zip(source.composite.join, parts, strict=False))
        top, *below = source.pointer
        schema = self._schema.get("properties", {}).get(top, {})
        return {top: self._placed(schema, tuple(below), list(values), source)}

    def _placed(self, schema: Json, steps: tuple[str, ...], values: list[Json], source: Source) -> Json:
        if not steps:
            return self._leaf(schema, values, source)
        if steps[0] == pointers.EVERY:
            items = schema.get("items", {}) if isinstance(schema, dict) else {}
            return [self._placed(items, steps[1:], [value], source) for value in values]
        base = self._builder.minimal(schema)
        below = schema.get("properties", {}).get(steps[0], {}) if isinstance(schema, dict) else {}
        return {
            **(base if isinstance(base, dict) else {}),
            steps[0]: self._placed(below, steps[1:], values, source),
        }

    def _leaf(self, schema: Json, values: list[Json], source: Source) -> Json:
        codec = source.argument.codec if source.argument else None
        if codec is not None:
            try:
                return encode(codec, "[" if codec.startswith("json") else "", [str(v) for v in values])
            except UnrepresentableError:
                return values[0]
        if len(values) != 1:
            return values
        return [values[0]] if self._holds_arrays_only(schema) else values[0]

    def _holds_arrays_only(self, schema: Json) -> bool:
        types = schema.get("type") if isinstance(schema, dict) else None
        return types == "array" or (
            isinstance(types, list | tuple) and "array" in types and "string" not in types
        )

    # -- running values ---------------------------------------------------------------------------

    def elements(self, source: Source, arguments: Mapping[str, Json]) -> list[Element]:
        """Return an element for every witness that the source takes in a call with these arguments."""
        role_names = self._roles(source, arguments)
        kinds = {
            self._sides.registry[role].pattern_kind
            for role in role_names
            if self._sides.registry[role].resource
        }
        if GIT_REMOTE in role_names:
            kinds.add("path")
        found = []
        for kind in sorted(kinds):
            for witness in (*self._witnesses.get(kind, ()), *self._unresolved(kind, role_names)):
                element = self._tried(source, witness, arguments)
                if element is not None:
                    found.append(element)
        return found

    def _relevant(self, witnesses: Sequence[Witness]) -> tuple[Witness, ...]:
        """Keep the witnesses that some rule about the tool, the gate or a mark can tell from others."""
        sides = self._sides
        names = {pattern.split(" ")[0] if pattern.startswith("@") else pattern for pattern in self.patterns}
        names |= {SANDBOX, SECOND_NAME, *sides.marked, *sides.world.domains.get(self._server, ())}
        places = {
            **{name: real for s in sides.sides for name, real in s.policy.patterns.directories.items()},
            **sides.marks.directories,
        }
        inside = {above for name in names & places.keys() for above in ancestors(places[name])}
        return tuple(
            w for w in witnesses if (w.values[0] in inside if w.whole else not w.chain or w.label in names)
        )

    def _unresolved(self, kind: str, roles: tuple[str, ...]) -> tuple[Witness, ...]:
        """Return a name that git knows no remote by, which no pattern covers and the floor escalates."""
        if kind != "url" or GIT_REMOTE not in roles:
            return ()
        return (Witness(kind, "remotes that git cannot resolve", ("unresolved",), (self._sides.fresh[1],)),)

    def absent(self, source: Source, arguments: Mapping[str, Json]) -> Element | None:
        """Return what a call yields without the source's argument, None if it must be given."""
        plain = {name: value for name, value in arguments.items() if name not in source.places}
        seen = self._run_all(source, plain)
        return None if seen is None else Element(None, (), seen)

    def empty(self, source: Source, arguments: Mapping[str, Json]) -> Element | None:
        """Return what an empty array yields, None if the source takes none."""
        if pointers.EVERY not in source.pointer and source.argument is not None and source.argument.codec:
            return None
        seen = self._run_all(source, {**arguments, source.pointer[0]: []})
        return None if seen is None else Element(None, (), seen)

    def fits(self, arguments: dict[str, Json]) -> bool:
        """Tell whether each argument alone is one that the schema accepts."""
        listed = self._schema.get("properties", {})
        return not ArgumentSchema({"properties": {n: listed.get(n, {}) for n in arguments}}).problems(
            arguments
        )

    def _roles(self, source: Source, arguments: Mapping[str, Json]) -> tuple[str, ...]:
        if source.composite is not None:
            return (source.composite.role,)
        return carried(source.argument, arguments) if source.argument else ()

    def _tried(self, source: Source, witness: Witness, arguments: Mapping[str, Json]) -> Element | None:
        for value in self._spellings(source, witness):
            seen = self._run_all(source, {**arguments, **self.place(source, (value,))})
            if seen is not None:
                return Element(witness, (value,), seen)
        return None

    def _spellings(self, source: Source, witness: Witness) -> Iterator[Json]:
        for value in witness.values:
            yield value
            if value.isdecimal():
                yield int(value)
        if source.argument is not None and GIT_REMOTE in source.argument.possible_roles:
            yield from (
                self._sides.remotes[value] for value in witness.values if value in self._sides.remotes
            )

    def _run_all(self, source: Source, arguments: dict[str, Json]) -> tuple[tuple[Seen, ...], ...] | None:
        found = []
        for side, steps in zip(self._sides.sides, self._steps, strict=True):
            seen = self._run(source, arguments, side, steps)
            if seen is None:
                return None
            found.append(seen)
        return tuple(found)

    def _run(
        self, source: Source, arguments: dict[str, Json], side: Side, steps: StepsOfTool
    ) -> tuple[Seen, ...] | None:
        """Do steps 3 to 5; return the source's subjects, None if the call ends there."""
        reached = steps.of(arguments, source.pointer[0])
        if reached is None:
            return None
        return tuple(
            Seen(self._key(subject, reached.floor, side), subject)
            for subject in reached.subjects
            if any(_covers(source.pointer, pointers.tokens(at)) for at in (subject.at, *subject.also_at))
        )

    def _key(self, subject: Subject, floor: structural.Floor, side: Side) -> SubjectKey:
        return subject_key(subject, floor, side, self._sides, self.patterns)


def subject_key(
    subject: Subject, floor: structural.Floor, side: Side, sides: Sides, patterns: frozenset[str]
) -> SubjectKey:
    """Return all that the rules about a tool, which name `patterns`, and the checks know of a subject."""
    covered = subject.role.resource and subject.unresolved is None
    covering = side.policy.patterns.covering(subject.role, subject.resource) if covered else ()
    marks = sides.marks.covering(subject.role, subject.resource) if covered else ()
    escalated = floor.escalated.get(subject.id)
    return SubjectKey(
        subject.role.name,
        patterns.intersection(side.tokens.get(pattern, pattern) for pattern in covering),
        subject.id in floor.discharged,
        escalated[0] if escalated else None,
        frozenset(marks),
    )


def carried(argument: Argument, arguments: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the roles of an argument in a call."""
    return roles_in_call(argument, arguments)


def _covers(pattern: tuple[str, ...], steps: tuple[str, ...]) -> bool:
    return bool(steps) and pointers.covers(pattern, steps)
