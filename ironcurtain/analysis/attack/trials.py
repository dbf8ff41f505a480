"""The calls to try: each base call with its respellings, interleaved in a fixed order."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ironcurtain.analysis.attack.bases import BaseCall
from ironcurtain.analysis.attack.scenes import Scenes
from ironcurtain.analysis.attack.spellings.carried import (
    denied_values,
    named_places,
    respell_value,
    undecided_arguments,
)
from ironcurtain.analysis.attack.spellings.leaves import ResourceLeaf, resource_leaves
from ironcurtain.analysis.attack.spellings.several import SERVERS, Mover, moved, movers, split
from ironcurtain.analysis.attack.spellings.shapes import shaped
from ironcurtain.analysis.attack.spellings.spelling import KERNEL, TOOLS, Scene, Spelling
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.decide import Call
from ironcurtain.decision.roles import Registry
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.decision import Decision
from ironcurtain.model.reserved_rules import ReservedRule
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct, replace

_NO_CALL = frozenset(
    {
        ReservedRule.MALFORMED_CALL,
        ReservedRule.UNKNOWN_TOOL,
        ReservedRule.TOOL_DRIFT,
        ReservedRule.INVALID_ARGUMENTS,
        ReservedRule.INTERNAL_ERROR,
        ReservedRule.UNREPRESENTABLE_ARGUMENT,
    }
)
"""Rules under which a call was refused before it was known what it stands for."""


class TrialCall(NamedTuple):
    """A call to decide; its arguments are an object, or JSON text where the spelling of the text counts."""

    server: str
    tool: str
    arguments: JsonValue


class Trial(Struct):
    """A respelled call, or two, and the call that it stands for.

    Attributes:
        base: The number of that call.
        calls: The respelled call, or those that do the same together.
        neighbour: See `Spelling.neighbour`.
        reached: Whether it reaches a denied resource by another argument or tool.
    """

    base: int
    kind: str
    taken_by: str
    calls: tuple[TrialCall, ...]
    scene: Scene = Scene.DESCRIBED
    neighbour: bool = False
    reached: bool = False


class DecidedBase(Struct):
    """A base call with its decision in the described world."""

    number: int
    call: BaseCall
    decision: Decision

    @property
    def is_call(self) -> bool:
        """Whether its resources were decided, so that it is known what it stands for."""
        return self.decision.rule not in _NO_CALL


class Trials:
    """Makes the trials of a policy."""

    def __init__(
        self, scenes: Scenes, content: PolicyContent, registry: Registry, decided: Sequence[DecidedBase]
    ) -> None:
        self._scenes, self._content, self._registry = scenes, content, registry
        self._decided = decided
        self._by_tool: dict[tuple[str, str], list[DecidedBase]] = {}
        for base in decided:
            if base.is_call:
                self._by_tool.setdefault((base.call.step.server, base.call.step.tool), []).append(base)
        self._movers: dict[tuple[str, str], Mover] = movers(
            ((base.call.step, self._tool(base)) for bases in self._by_tool.values() for base in bases),
            registry,
        )

    def stages(self) -> Iterator[tuple[str, list[Iterator[Trial]]]]:
        """Yield groups of trials, the most promising first, each with a description of what is left out.

        One call of each kind comes before others that the same rule decides.
        """
        first, others = self._attacked()
        once = "calls that were not respelled in every way, for want of room"
        twice = "calls whose values were not respelled twice in every way, for want of room"
        yield once, [self._carried(), *map(self._once, first)]
        yield once, [self._once(base) for base in others]
        yield twice, [self._twice(base) for base in first]
        yield twice, [self._twice(base) for base in others]

    def _attacked(self) -> tuple[list[DecidedBase], list[DecidedBase]]:
        """Return the calls that are not allowed: one of each kind, and the others."""
        kinds: dict[tuple[Hashable, ...], list[DecidedBase]] = {}
        for base in self._decided:
            if base.is_call and base.decision.verdict is not Verdict.ALLOW:
                step, decision = base.call.step, base.decision
                kind = (
                    step.server,
                    step.tool,
                    decision.verdict,
                    decision.rule,
                    tuple(sorted(step.arguments)),
                )
                kinds.setdefault(kind, []).append(base)
        return [alike[0] for alike in kinds.values()], [
            base for alike in kinds.values() for base in alike[1:]
        ]

    def _tool(self, base: DecidedBase) -> ToolAnnotation:
        step = base.call.step
        annotation = self._scenes.policy(Scene.DESCRIBED).annotation(step.server, step.tool)
        assert annotation is not None  # noqa: S101 - the call was decided, so its tool is known
        return annotation

    def _once(self, base: DecidedBase) -> Iterator[Trial]:
        step, tool = base.call.step, self._tool(base)
        leaves = resource_leaves(tool, step.arguments, self._registry)
        ground = self._scenes.grounds(Call(step.server, step.tool, step.arguments))
        for leaf in leaves:
            for spelling in leaf.spellings(ground(leaf)):
                yield from _spelled(base, leaf, spelling)
            yield from self._second_names(base, leaf)
        milder = self._milder(base)
        for shape in shaped(tool, step.arguments, leaves, milder):
            if shape.arguments is not None:
                call = TrialCall(step.server, step.tool, shape.arguments)
                yield Trial(base.number, shape.kind, shape.taken_by, (call,))
        yield from self._values(base)
        known = [mover for mover in self._movers.values() if mover.step.server == step.server]
        apart = (each for leaf in leaves for each in moved(step, leaf, known, ground(leaf)))
        parts = [*split(step, leaves), *apart]
        for steps in parts:
            calls = tuple(TrialCall(call.server, call.tool, call.arguments) for call in steps.calls)
            yield Trial(base.number, steps.kind, SERVERS, calls)

    def _twice(self, base: DecidedBase) -> Iterator[Trial]:
        step = base.call.step
        ground = self._scenes.grounds(Call(step.server, step.tool, step.arguments))
        for leaf in resource_leaves(self._tool(base), step.arguments, self._registry):
            for first in leaf.spellings(ground(leaf)):
                if isinstance(first.value, str) and _can_be_respelled(first):
                    for second in replace(leaf, text=first.value).spellings(ground(leaf)):
                        kind = f"{first.kind}, then {second.kind}"
                        both = replace(
                            second,
                            kind=kind,
                            taken_by=_joined(first.taken_by, second.taken_by),
                            neighbour=first.neighbour or second.neighbour,
                        )
                        yield from _spelled(base, leaf, both)

    def _milder(self, base: DecidedBase) -> dict[str, JsonValue] | None:
        """Return the arguments of a call of the tool that gets further."""
        step = base.call.step
        severity = base.decision.verdict.severity
        milder = [d for d in self._by_tool[step.server, step.tool] if d.decision.verdict.severity < severity]
        return min(milder, key=_mildness).call.step.arguments if milder else None

    def _second_names(self, base: DecidedBase, leaf: ResourceLeaf) -> Iterator[Trial]:
        """Yield hard links to protected files, which must be recognized by the file's identity."""
        if base.decision.rule != ReservedRule.PROTECTED_PATH or not leaf.is_path:
            return
        pointer = pointers.join(leaf.steps)
        ground = self._scenes.ground(base.call.step.server)
        for resource in base.decision.subjects:
            if resource.at == pointer and self._scenes.is_protected_file(resource.value):
                for place in ground.places[:1]:
                    link = self._scenes.links.to(resource.value, place, hard=True)
                    yield from _spelled(base, leaf, Spelling("hard link", KERNEL, link, Scene.LINKED))

    def _values(self, base: DecidedBase) -> Iterator[Trial]:
        rule = self._content.rules.get(base.decision.rule)
        if rule is None or rule.if_ is None:
            return
        step = base.call.step
        for steps in dict.fromkeys(named_places(rule.if_, rule.then, step.arguments)):
            value = next(v for _, v in pointers.matches(step.arguments, steps))
            for spelling in respell_value(value):
                changed = _with(step.arguments, steps, spelling.value)
                call = TrialCall(step.server, step.tool, changed)
                yield Trial(base.number, f"value: {spelling.kind}", TOOLS, (call,), neighbour=True)

    def _carried(self) -> Iterator[Trial]:
        """Yield calls with denied values in arguments that have no role of a resource."""
        denied = denied_values((base.decision for base in self._decided), self._registry)
        for (server, tool), bases in sorted(self._by_tool.items()):
            arguments = [base.call.step.arguments for base in bases]
            mildest = min(bases, key=_mildness)
            for place in undecided_arguments(self._tool(bases[0]), arguments, self._registry):
                for value in denied.get(place.category, ()):
                    base = self._denying(place.category, value)
                    for changed in place.with_value(mildest.call.step.arguments, value):
                        call = TrialCall(server, tool, changed)
                        kind = "an argument that is not judged"
                        yield Trial(base, kind, TOOLS, (call,), reached=True)

    def _denying(self, category: str, value: str) -> int:
        """Return the number of the smallest call that is denied for a value."""
        denied = [
            base
            for base in self._decided
            for resource in base.decision.subjects
            if resource.value == value
            and resource.verdict is Verdict.DENY
            and self._registry[resource.role].category == category
        ]
        return min(denied, key=lambda base: (len(str(base.call.step.arguments)), base.number)).number


def in_turn(
    sources: Iterable[Iterator[Trial]], is_new: Callable[[Trial], bool], room: int
) -> tuple[list[Trial], int]:
    """Take trials from sources in turn until there is no room; return them and how many sources had more."""
    taken: list[Trial] = []
    waiting = list(sources)
    while waiting and len(taken) < room:
        still = []
        for source in waiting:
            trial = next((t for t in source if is_new(t)), None)
            if trial is not None:
                taken.append(trial)
                still.append(source)
        waiting = still
    return taken[:room], len(waiting) + max(0, len(taken) - room)


def _can_be_respelled(first: Spelling) -> bool:
    """Tell whether a spelling can be spelled again by the same rules; names below `/proc` do not fold."""
    is_text = isinstance(first.value, str) and bool(first.value)
    is_plain = first.scene is Scene.DESCRIBED and first.kind != "process link"
    return is_text and is_plain and not first.neighbour and first.taken_by != TOOLS


def _mildness(base: DecidedBase) -> tuple[int, int, int]:
    return base.decision.verdict.severity, len(str(base.call.step.arguments)), base.number


def _spelled(base: DecidedBase, leaf: ResourceLeaf, spelling: Spelling) -> Iterator[Trial]:
    step = base.call.step
    arguments = leaf.with_value(step.arguments, spelling.value)
    if arguments is not None:
        call = TrialCall(step.server, step.tool, arguments)
        yield Trial(
            base.number, spelling.kind, spelling.taken_by, (call,), spelling.scene, spelling.neighbour
        )


def _with(
    arguments: Mapping[str, JsonValue], steps: tuple[str, ...], value: JsonValue
) -> dict[str, JsonValue]:
    changed: dict[str, JsonValue] = copy.deepcopy(dict(arguments))
    pointers.assign(changed, steps, value)
    return changed


def _joined(first: str, other: str) -> str:
    return first if first == other else f"{first} and {other}"
