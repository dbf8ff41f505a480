"""One call as two: a list sent in parts, and a file that is moved before it is used."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator

from ironcurtain.analysis.attack.spellings.leaves import ResourceLeaf, resource_leaves
from ironcurtain.analysis.attack.spellings.paths import absolute_path
from ironcurtain.analysis.attack.spellings.spelling import FRESH, SpellingContext
from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.roles import Registry
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct

SERVERS = "servers"
_READS, _WRITES, _DELETES = "read-path", "write-path", "delete-path"
_PLACES = 3


class CallStep(Struct):
    """One of several calls."""

    server: str
    tool: str
    arguments: dict[str, JsonValue]


class CallSequence(Struct):
    """Calls that together do the same as one call."""

    kind: str
    calls: tuple[CallStep, ...]


class Mover(Struct):
    """A call that takes a file from one place to another.

    Attributes:
        source: Where it is taken from; `target` where it is put.
    """

    step: CallStep
    source: ResourceLeaf
    target: ResourceLeaf

    def moving(self, source: str, target: str) -> CallStep:
        """Return its call for other places."""
        first = self.source.with_value(self.step.arguments, source)
        both = self.target.with_value(first or self.step.arguments, target)
        return CallStep(self.step.server, self.step.tool, both or self.step.arguments)


def split(step: CallStep, leaves: Iterable[ResourceLeaf]) -> Iterator[CallSequence]:
    """Yield a call whose resources stand in a list as calls with parts of the list."""
    lists = dict.fromkeys(leaf.steps[:-1] for leaf in leaves if leaf.steps[-1].isdecimal())
    for place in lists:
        values = next((v for _, v in pointers.matches(step.arguments, place)), None)
        if not isinstance(values, list) or len(values) < 2 or not place:  # noqa: PLR2004 - one has no parts
            continue
        parts = []
        for part in (values[:1], values[1:]):
            changed = copy.deepcopy(step.arguments)
            pointers.assign(changed, place, part)
            parts.append(CallStep(step.server, step.tool, changed))
        yield CallSequence("split over two calls", tuple(parts))


def movers(
    steps: Iterable[tuple[CallStep, ToolAnnotation]], registry: Registry
) -> dict[tuple[str, str], Mover]:
    """Return, by tool, a call that moves files."""
    by_tool: dict[tuple[str, str], Mover] = {}
    for step, tool in steps:
        leaves = [leaf for leaf in resource_leaves(tool, step.arguments, registry) if leaf.is_path]
        sources = [leaf for leaf in leaves if {_READS, _DELETES} <= _names(leaf)]
        targets = [leaf for leaf in leaves if _WRITES in _names(leaf) and _DELETES not in _names(leaf)]
        if len(sources) == 1 and len(targets) == 1 and all(leaf.part is None for leaf in leaves):
            by_tool.setdefault((step.server, step.tool), Mover(step, sources[0], targets[0]))
    return by_tool


def moved(
    step: CallStep, leaf: ResourceLeaf, known: Iterable[Mover], ground: SpellingContext
) -> Iterator[CallSequence]:
    """Yield a call on a path as two: moved to another place and read there, or written there and moved."""
    path = absolute_path(leaf.text, ground)
    if path is None or not leaf.is_path or ".." in path.split("/"):
        return
    reads, writes = _names(leaf) == {_READS}, _names(leaf) == {_WRITES}
    parent, _, name = path.rstrip("/").rpartition("/")
    for mover in known:
        for place in ground.places[:_PLACES]:
            elsewhere = f"{place.rstrip('/')}/{FRESH}-moved"
            there = leaf.with_value(step.arguments, elsewhere)
            below = leaf.with_value(step.arguments, f"{elsewhere}/{name}")
            if there is None or below is None:
                continue
            at, inside = (CallStep(step.server, step.tool, arguments) for arguments in (there, below))
            if reads:
                yield CallSequence("moved first", (mover.moving(path, elsewhere), at))
                if parent:
                    yield CallSequence("moved first", (mover.moving(parent, elsewhere), inside))
            elif writes:
                yield CallSequence("moved afterwards", (at, mover.moving(elsewhere, path)))


def _names(leaf: ResourceLeaf) -> set[str]:
    return {role.name for role in leaf.roles}
