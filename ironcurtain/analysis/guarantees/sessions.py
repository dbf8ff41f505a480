"""What sessions can come to: every set of labels that sent calls can leave, by the fewest calls.

Labels only grow, so a policy with n labels has at most 2^n states of a session, twice that with "a call of
the first kind was sent". A breadth-first walk over them finds the shortest sequence, or shows that none is.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from ironcurtain.analysis.engine.policy_analysis import PolicyAnalysis
from ironcurtain.analysis.engine.search import FoundCall
from ironcurtain.analysis.engine.sequence_scope import CallKind, ReadSequence
from ironcurtain.analysis.engine.space.call_space import CUSTOM_MODULES
from ironcurtain.analysis.guarantees.kinds import CallKinds, ToolName
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.structs import Struct

MAX_LABELS = 8


class SentCall(Struct):
    """One call of a sequence.

    Attributes:
        awaited: The labels that its answer gives.
    """

    tool: ToolName
    call: FoundCall
    awaited: frozenset[str] = frozenset()


class State(Struct):
    """What a session has come to: its labels, and whether a call of the first kind was sent."""

    labels: frozenset[str] = frozenset()
    is_after: bool = False


@dataclass
class Walk:
    """A walk over the states of sessions.

    Attributes:
        path: The calls that break the guarantee; None where none were found.
        gaps: Why there may be some all the same.
    """

    sequence: ReadSequence
    kinds: CallKinds
    path: tuple[SentCall, ...] | None = None
    gaps: set[str] = field(default_factory=set)


def walk(sequence: ReadSequence, analysis: PolicyAnalysis) -> Walk:
    """Walk every state that a session can come to until a call is allowed that must not be."""
    found = Walk(sequence, CallKinds(analysis))
    after = sequence.after
    if after is None:
        return found
    tools = {tool for kind in sequence.kinds for tool in kind.read.tools}
    tested = found.kinds.tested_labels(tools)
    labels = [kind for kind in sequence.labels if kind.name in tested]
    if len(labels) > MAX_LABELS:
        found.gaps.add(f"more than {MAX_LABELS} labels")
    movers = [after, *labels[:MAX_LABELS]]
    found.gaps |= {gap for kind in movers for gap in kind.gaps}
    reached: dict[State, tuple[SentCall, ...]] = {State(): ()}
    waiting = deque(reached)
    while waiting and found.path is None:
        state = waiting.popleft()
        last = _breaking(found, state) if state.is_after else None
        if last is not None:
            found.path = (*reached[state], last)
        for target, sent in _next(found, state, movers) if last is None else ():
            if target not in reached:
                reached[target] = (*reached[state], sent)
                waiting.append(target)
    found.gaps -= {CUSTOM_MODULES}  # they only ever tighten
    return found


def _breaking(found: Walk, state: State) -> SentCall | None:
    allow = found.sequence.allow
    for tool in allow.read.tools:
        searched = found.kinds.find(tool, state.labels, [allow], [], Verdict.ALLOW)
        if searched.call is not None:
            return SentCall(tool, searched.call)
        found.gaps |= searched.gaps
    return None


def _next(found: Walk, state: State, movers: list[CallKind]) -> Iterator[tuple[State, SentCall]]:
    """Yield the states that one call leads to."""
    after = found.sequence.after
    for tool in sorted({tool for kind in movers for tool in kind.read.tools}):
        here = [kind for kind in movers if tool in kind.read.tools and not _has(state, kind, after)]
        for matching in _subsets(here):
            avoiding = [kind for kind in here if kind not in matching and not kind.awaited]
            searched = found.kinds.find(tool, state.labels, matching, avoiding, Verdict.ESCALATE)
            if searched.call is None:
                found.gaps |= searched.gaps
                continue
            given = frozenset(kind.name for kind in matching if kind is not after)
            awaited = frozenset(kind.name for kind in matching if kind.awaited)
            target = State(state.labels | given, state.is_after or after in matching)
            yield target, SentCall(tool, searched.call, awaited)


def _has(state: State, kind: CallKind, after: CallKind | None) -> bool:
    """Tell whether a call of a kind changes nothing any more."""
    return state.is_after if kind is after else kind.name in state.labels


def _subsets(kinds: list[CallKind]) -> Iterator[tuple[CallKind, ...]]:
    for size in range(1, len(kinds) + 1):
        yield from itertools.combinations(kinds, size)
