"""Sources: the arguments of a tool that yield resources, and what each of their values yields.

Every value goes through the real steps 3 to 5 of a decision. What comes out, for one value of one
argument, is an *element*: the resources that it adds to a call, under each policy.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from ironcurtain.analysis.engine.indexes import SourceIndex, indexed
from ironcurtain.analysis.engine.policies_under_test import PoliciesUnderTest, PolicyUnderTest
from ironcurtain.analysis.engine.prepare_cache import PreparedResources, StepsOfTool
from ironcurtain.analysis.engine.space.dependent import Joined
from ironcurtain.analysis.engine.space.elements import (
    Element,
    Keys,
    ResourceKey,
    SeenResource,
    keys_of,
    lies_there,
    pairs,
    resource_key,
)
from ironcurtain.analysis.engine.space.placing import Placing, RawValue, ResourceSource
from ironcurtain.analysis.engine.values.taken_schema import schema_of_some
from ironcurtain.analysis.engine.values.witnesses import SANDBOX, SECOND_NAME, PatternWitness, shorter_paths
from ironcurtain.decision import structural_checks
from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.canonical.paths import ancestors
from ironcurtain.decision.canonical.resources import Resource
from ironcurtain.decision.canonical.validate import InvalidArgumentsError, ValidatedTool
from ironcurtain.decision.roles import GIT_REMOTE
from ironcurtain.model.annotations import Composite, ToolAnnotation
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.json_text import MAX_INTEGER
from ironcurtain.system.structs import replace


@dataclass
class _SurroundingCall:
    """A plain call that values of a source are tried in.

    Attributes:
        arguments: The call without the source.
        mode: What of it other roles depend on, with defaults filled in.
        works: Whether some value was tried in it that got as far as the policy.
    """

    source: ResourceSource
    arguments: dict[str, JsonValue]
    mode: Mapping[str, JsonValue]
    works: bool = False


class SourceReader:
    """Reads the sources of one tool, and runs values through them.

    Args:
        server: The tool's server.
        tools: The tool under each policy.
        policies: The policies.
        patterns: The patterns that rules about the tool name, under any policy; no other ones matter.
    """

    def __init__(
        self,
        server: str,
        tools: Sequence[ValidatedTool],
        policies: PoliciesUnderTest,
        patterns: frozenset[str],
    ) -> None:
        self._server = server
        self.patterns = patterns
        self._policies = policies
        self._steps = [
            side.steps.of_tool(server, tool, policies.registry)
            for side, tool in zip(policies, tools, strict=True)
        ]
        self._tool = tools[0]
        self.annotation: ToolAnnotation = self._tool.annotation
        samples = {
            pointers.steps_of(argument.name): policies.registry[role].valid(policies.fresh[0])
            for argument in self.annotation.args
            for role in argument.possible_roles[:1]
            if policies.registry[role].resource
        }
        self.placing = Placing(schema_of_some(self._tool, policies.registry), policies.fresh, samples)
        self.sources = tuple(self._find())
        repositories = sum(argument.repository for argument in self.annotation.args)
        self._ties = not self.placing.shapes.exact or repositories > 1
        self._witnesses = {kind: self._relevant(each) for kind, each in policies.witnesses.items()}

    def _find(self) -> Iterator[ResourceSource]:
        registry = self._policies.registry
        for argument in self.annotation.args:
            if any(registry[role].resource for role in argument.possible_roles):
                steps = pointers.steps_of(argument.name)
                is_remote = GIT_REMOTE in argument.possible_roles
                yield ResourceSource(
                    steps, argument, None, is_remote or self.placing.takes_many(argument, steps)
                )
        for composite in self.annotation.composites:
            yield ResourceSource(pointers.steps_of(composite.join[0]), None, composite, many=False)

    def gaps(self) -> frozenset[str]:
        """Return what about the sources cannot be examined exactly."""
        tops = [source.places[0] for source in self.sources]
        gaps = {f"several resources below the argument {top}" for top in tops if tops.count(top) > 1}
        for source, each in ((s, s.composite) for s in self.sources if s.composite is not None):
            witnesses = self._witnesses.get(self._policies.registry[each.role].pattern_kind, ())
            regions = [(witness, [*self._placed(source, witness)]) for witness in witnesses]
            gaps |= {*self._joined(each).gaps(regions, partial(self.is_judged, source))}
        return frozenset(gaps)

    def _joined(self, composite: Composite) -> Joined:
        return Joined(composite, self._policies.registry[composite.role], self._policies.fresh[0])

    def _placed(self, source: ResourceSource, witness: PatternWitness) -> Iterator[dict[str, JsonValue]]:
        yield from (self.placing.place(source, (each,)) for each in self.spellings(source, witness))

    # -- running values ---------------------------------------------------------------------------

    def elements(
        self, source: ResourceSource, arguments: dict[str, JsonValue], mode: Mapping[str, JsonValue]
    ) -> list[Element]:
        """Return an element for every region that values of the source can lie in, those that fit first.

        Args:
            source: The source.
            arguments: A plain call without the source.
            mode: What of it other roles depend on, with defaults filled in.
        """
        role_names = source.roles_in(mode)
        kinds = {
            self._policies.registry[role].pattern_kind
            for role in role_names
            if self._policies.registry[role].resource
        }
        if GIT_REMOTE in role_names:
            kinds.add("path")
        witnesses = [
            witness
            for kind in sorted(kinds)
            for witness in (*self._witnesses.get(kind, ()), *self._unresolved(kind, role_names))
        ]
        around = _SurroundingCall(source, arguments, mode)
        found = [each for witness in witnesses for each in self._tried(around, witness)]
        listed = self._listed(source)
        if listed is not None:
            found = self._of_listed(around, listed, found)
        return sorted(found, key=lambda element: not element.fits)

    def _listed(self, source: ResourceSource) -> tuple[JsonValue, ...] | None:
        own = source.argument
        if own is None or own.relative_to is not None or GIT_REMOTE in own.possible_roles:
            return None
        return self.placing.listed(own, source.pointer)

    def _of_listed(
        self, around: _SurroundingCall, listed: Sequence[JsonValue], regions: Sequence[Element]
    ) -> list[Element]:
        """Return the elements of the only values that the schema permits; no region can hold others."""
        found = []
        for value in listed:
            near = PatternWitness("", str(value), ("listed", str(value)), (str(value),))
            element = self._of_value(around, near, value)
            if element is not None:
                # The place is named as every other one is, where a plain witness lies in it, too.
                region = next((w for w in regions if _is_plain(w) and keys_of(w) == keys_of(element)), None)
                found.append(replace(element, witness=region.witness) if region is not None else element)
        return found

    def _relevant(self, witnesses: Sequence[PatternWitness]) -> tuple[PatternWitness, ...]:
        """Keep the witnesses that some rule about the tool, the gate or a mark can tell from others."""
        policies = self._policies
        names = {pattern.split(" ")[0] if pattern.startswith("@") else pattern for pattern in self.patterns}
        names |= {SANDBOX, SECOND_NAME, *policies.marked, *policies.world.domains.get(self._server, ())}
        places = {
            **{name: real for s in policies for name, real in s.policy.patterns.directories.items()},
            **policies.marks.directories,
        }
        inside = {above for name in names & places.keys() for above in ancestors(places[name])}
        return tuple(
            w for w in witnesses if (w.values[0] in inside if w.whole else not w.chain or w.label in names)
        )

    def _unresolved(self, kind: str, roles: tuple[str, ...]) -> tuple[PatternWitness, ...]:
        """Return a name that git knows no remote by, which no pattern covers; it is escalated at least."""
        if kind != "url" or GIT_REMOTE not in roles:
            return ()
        return (
            PatternWitness(
                kind, "remotes that git cannot resolve", ("unresolved",), (self._policies.fresh[1],)
            ),
        )

    def absent(self, source: ResourceSource, mode: Mapping[str, JsonValue]) -> Element | None:
        """Return what a call yields without the source's argument, None if it must be given.

        That it must be is proved: it is required, or what is filled in for it is refused.
        """
        annotated = [a for a in self.annotation.args if a.required and a.top_level in source.places]
        nulls = [self._as_absent(name) for name in source.places]
        if annotated or None in nulls:
            return None
        given = {name: value for each in nulls if each is not None for name, value in each.items()}
        own = self._own(source, given)
        seen = None if own is None else self._alone(source, own, mode)
        if seen is None:
            return None
        filled = any(value is not None for value in (own or {}).values())
        return Element(None, (), seen, given=tuple(given.items()), filled=filled)

    def _as_absent(self, name: str) -> dict[str, JsonValue] | None:
        """Return how an argument is left away, None if it cannot be; a null counts as absent."""
        if name not in self.placing.shapes.required:
            return {}
        return {name: None} if self.placing.fits({name: None}) else None

    def empty(
        self, source: ResourceSource, arguments: Mapping[str, JsonValue], mode: Mapping[str, JsonValue]
    ) -> Element | None:
        """Return what a call yields that gives a source no resource, None if it must hold one."""
        if source.argument is None:
            return None
        nothing = tuple(() for _ in self._policies)
        doubtful = None
        top = source.pointer[0]
        for value in self.placing.empties(source.argument, source.pointer):
            given = ((top, value),)
            seen = self._run_all(source, {**arguments, top: value})
            if seen is not None and not any(seen):
                return Element(None, (), seen, given=given)
            alone = self._alone(source, {top: value}, mode)
            if len(source.pointer) > 1 or (alone is not None and not any(alone)):
                doubtful = doubtful or Element(None, (), nothing, fits=False, given=given)
        return doubtful

    def _tried(self, around: _SurroundingCall, witness: PatternWitness) -> Iterable[Element]:
        """Return the elements of a witness; none if no value lies in its region.

        A witness of an argument is made in canonical form of its region. So if steps 4 and 5 refuse every
        spelling of it, no value of the role lies there, or every one is denied. Where a composite has no
        spelling of it, `gaps` tells so. That the schema refuses a witness proves nothing.
        """
        found: dict[Keys, Element] = {}
        spellings = self.spellings(around.source, witness)
        if around.source.argument is not None and GIT_REMOTE in around.source.argument.possible_roles:
            # An address and the name of a remote that has it are the same to git.
            known = (self._in_call(around, witness, value) for value in spellings)
            fitting = next((element for element in known if element is not None), None)
            spellings = self.spellings(around.source, witness) if fitting is None else iter(())
            found = {} if fitting is None else {keys_of(fitting): fitting}
        for value in spellings:
            element = self._of_value(around, witness, value)
            if element is None:
                continue
            keys = keys_of(element)
            if keys not in found or (element.fits and not found[keys].fits):
                found[keys] = element
            if next(iter(found.values())).fits:
                break
        return found.values()

    def _of_value(self, around: _SurroundingCall, witness: PatternWitness, value: RawValue) -> Element | None:
        known = self._in_call(around, witness, value)
        if known is not None:
            return known
        placed = self.placing.place(around.source, (value,))
        # Where the schema takes the value and the rest of the call works, steps 4 and 5 refuse it.
        if around.works and not self._ties and self.placing.fits(placed):
            return None
        alone = self._alone(around.source, placed, around.mode)
        return None if alone is None else Element(witness, (value,), alone, fits=False)

    def _in_call(self, around: _SurroundingCall, witness: PatternWitness, value: RawValue) -> Element | None:
        """Return the element of a value in a whole call, None if the call does not reach the policy."""
        placed = self.placing.place(around.source, (value,))
        seen = self._run_all(around.source, {**around.arguments, **placed})
        if seen is None:
            return None
        around.works = True
        return Element(witness, (value,), seen)

    def _own(self, source: ResourceSource, given: dict[str, JsonValue]) -> dict[str, JsonValue] | None:
        """Return a source's arguments with defaults filled in, None if there has to be one."""
        has_root = any(
            side.policy.deployment.working_root(self._server) is not None for side in self._policies
        )
        try:
            filled = self._tool.filled(given, has_working_root=has_root)
        except InvalidArgumentsError:
            # Some other argument has to be given; this one is what its default says.
            filled = self._tool.with_defaults(given)
            if source.argument is not None and source.argument.repository:
                return None
        return {name: filled[name] for name in source.places if name in filled}

    def _alone(
        self, source: ResourceSource, own: dict[str, JsonValue], mode: Mapping[str, JsonValue]
    ) -> tuple[tuple[SeenResource, ...], ...] | None:
        """Do steps 4 and 5 for a source alone, whatever the schema says; None if the call ends there."""
        filled = {**mode, **own}
        found = []
        for side, steps in zip(self._policies, self._steps, strict=True):
            reached = steps.of_filled(filled)
            if reached is None:
                return None
            found.append(self._seen(source, reached, side))
        return tuple(found)

    def spellings(self, source: ResourceSource, witness: PatternWitness) -> Iterator[RawValue]:
        """Yield values of a source that should lie in the region of a witness, the preferred one first."""
        if source.composite is not None:
            joined = self._joined(source.composite)
            spelt = [parts for value in witness.values for parts in joined.spellings(value)]
            yield from spelt
            tops = [(name,) for name in source.composite.join]
            for parts in spelt[:1]:
                each = [[part, *self.placing.like(at, part)] for at, part in zip(tops, parts, strict=True)]
                yield from itertools.product(*each)
            return
        for value in witness.values:
            yield value
            # A call can write no larger number (step 1).
            if value.isdecimal() and int(value) <= MAX_INTEGER:
                yield int(value)
        argument, world = source.argument, self._policies.world
        root = world.working_roots.get(self._server, world.sandbox)
        if argument is None or GIT_REMOTE not in argument.possible_roles:
            # What is relative to another argument lies elsewhere in each call.
            is_short = witness.kind == "path" and (argument is None or argument.relative_to is None)
            yield from shorter_paths(witness.values, world.home, root) if is_short else ()
        else:
            yield from (
                self._policies.remotes[value] for value in witness.values if value in self._policies.remotes
            )
        if argument is not None:
            yield from self.placing.like(source.pointer, witness.values[0])
            if argument.relative_to is not None:
                yield from self.placing.like(source.pointer, self._policies.fresh[0])

    def accepts(self, arguments: dict[str, JsonValue]) -> bool:
        """Tell whether a whole call gets as far as the policy, under each of them."""
        return all(steps.accepts(arguments) for steps in self._steps)

    def adds(self, arguments: dict[str, JsonValue], elements: Iterable[tuple[SourceIndex, Element]]) -> bool:
        """Tell whether a whole call's relative arguments add what their elements, read beside others, did."""
        held = list(elements)
        for index, source in indexed(SourceIndex, self.sources):
            if source.argument is None or source.argument.relative_to is None:
                continue
            seen = self._run_all(source, arguments)
            own = [each.seen for home, each in held if home == index]
            expected = [_keys(itertools.chain(*of_policy)) for of_policy in zip(*own, strict=True)]
            if seen is None or (own and [_keys(each) for each in seen] != expected):
                return False
        return True

    def is_judged(self, source: ResourceSource, placed: dict[str, JsonValue]) -> bool:
        """Tell whether a source's arguments, whatever the schema says of them, get as far as the policy."""
        return self._alone(source, placed, {}) is not None

    def yields(self, source: ResourceSource, placed: dict[str, JsonValue], element: Element) -> bool:
        """Tell whether arguments add to a call what an element does, whatever the schema says of them."""
        seen = self._alone(source, placed, {})
        return seen is not None and keys_of(replace(element, seen=seen)) == keys_of(element)

    def _run_all(
        self, source: ResourceSource, arguments: dict[str, JsonValue]
    ) -> tuple[tuple[SeenResource, ...], ...] | None:
        found = []
        for side, steps in zip(self._policies, self._steps, strict=True):
            seen = self._run(source, arguments, side, steps)
            if seen is None:
                return None
            found.append(seen)
        return tuple(found)

    def _run(
        self,
        source: ResourceSource,
        arguments: dict[str, JsonValue],
        side: PolicyUnderTest,
        steps: StepsOfTool,
    ) -> tuple[SeenResource, ...] | None:
        """Do steps 3 to 5; return the source's resources, None if the call ends there."""
        reached = steps.of(arguments, source.pointer[0])
        return None if reached is None else self._seen(source, reached, side)

    def _seen(
        self, source: ResourceSource, reached: PreparedResources, side: PolicyUnderTest
    ) -> tuple[SeenResource, ...]:
        return tuple(
            SeenResource(self._key(resource, reached.minimum, side), resource)
            for resource in reached.resources
            if any(_covers(source.pointer, pointers.tokens(at)) for at in (resource.at, *resource.also_at))
        )

    def _key(
        self, resource: Resource, minimum: structural_checks.MinimumVerdict, side: PolicyUnderTest
    ) -> ResourceKey:
        return resource_key(resource, minimum, side, self._policies, self.patterns)


def _keys(seen: Iterable[SeenResource]) -> frozenset[ResourceKey]:
    return frozenset(each.key for each in seen)


def _is_plain(element: Element) -> bool:
    """Tell whether an element's witness names the place that its resources lie in."""
    witness = element.witness
    if witness is None or witness.whole:
        return False
    return all(lies_there(witness, keys) for keys, _ in pairs(element))


def _covers(pattern: tuple[str, ...], steps: tuple[str, ...]) -> bool:
    return bool(steps) and pointers.covers(pattern, steps)
