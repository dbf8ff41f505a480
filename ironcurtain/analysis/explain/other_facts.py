"""Which facts would let a refused call get further, if they were so: another status, a lower total.

No agent can ask for them: they say what the decision hung on. Each is decided before it is told.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

from ironcurtain.analysis.engine.indexes import ClassIndex
from ironcurtain.analysis.engine.rules.predicates import Values
from ironcurtain.analysis.engine.rules.wording import group_words
from ironcurtain.analysis.engine.space.call_space import CallSpace
from ironcurtain.analysis.engine.space.variables import Variable
from ironcurtain.analysis.explain.report import OtherFact
from ironcurtain.decision.decide import Call
from ironcurtain.model.decision import Decision
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import replace

_MAX_DECIDED = 60


def other_facts(
    space: CallSpace, call: Call, before: Verdict, decide: Callable[[Sequence[Call]], Sequence[Decision]]
) -> tuple[OtherFact, ...]:
    """Return what would have to be so of one declared fact for the call to get further.

    Args:
        space: The call's tool under one policy.
        call: The call, with its facts.
        before: Its verdict.
        decide: Decides calls where it would happen.
    """
    tried = [*itertools.islice(_tried(space, call), _MAX_DECIDED)]
    decisions = decide([changed for _, _, changed in tried])
    verdicts = {
        (id(variable), index): decision.verdict
        for (variable, index, _), decision in zip(tried, decisions, strict=True)
    }
    return tuple(
        OtherFact(words=group_words(variable, group), verdict=verdict)
        for variable in space.variables
        for verdict in (Verdict.ALLOW, Verdict.ESCALATE)
        if verdict.severity < before.severity
        and (group := frozenset(i for i in variable.indexes if verdicts.get((id(variable), i)) is verdict))
    )


def _tried(space: CallSpace, call: Call) -> Iterator[tuple[Variable, ClassIndex, Call]]:
    """Yield the call with each other class of each declared fact."""
    known: dict[str, JsonValue] = dict(call.facts or {})
    values: Values = {"args": {}, "caller": {}, "facts": known}
    for variable in space.variables:
        if {root for root, _ in variable.places} != {"facts"}:
            continue
        now = variable.class_of(values)
        for index in variable.indexes:
            if index != now:
                others = {name: value for (_, name), value in variable.classes[index].values}
                kept = {name: known[name] for name in known if ("facts", name) not in variable.places}
                yield variable, index, replace(call, facts=kept | others)
