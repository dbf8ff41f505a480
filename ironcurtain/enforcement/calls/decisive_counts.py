"""Counts that decided a call: without what was booked on them before, the verdict would be milder."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from ironcurtain.decision.decide import Prepared
from ironcurtain.enforcement.facts.gather import Gathered
from ironcurtain.model.decision import Decision
from ironcurtain.model.facts import CounterFact
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct, replace
from ironcurtain.system.text import quoted


class DecisiveCount(Struct):
    """A counter whose total decided a call.

    Attributes:
        total: Its total with the call.
    """

    name: str
    fact: CounterFact
    total: JsonValue

    @property
    def sentence(self) -> str:
        """The count and its total, for the agent and for people."""
        whose = f" of this {self.fact.window}" + (" of the caller" if self.fact.per == "caller" else "")
        return f"The count {quoted(self.name)}{whose} decided that: with this call it is {self.total}."


async def decisive_counts(
    prepared: Prepared | Decision,
    gathered: Gathered | None,
    decision: Decision,
    judge: Callable[[Prepared], Awaitable[Decision]],
) -> tuple[DecisiveCount, ...]:
    """Return the counts without which a call would have been decided more mildly.

    Args:
        prepared: The call as it was decided, with its facts.
        gathered: These facts; None where none concern it.
        decision: The decision.
        judge: Decides the call with other facts.
    """
    if decision.verdict is Verdict.ALLOW or gathered is None or isinstance(prepared, Decision):
        return ()
    grown = [name for name, first in gathered.alone.items() if gathered.facts.get(name) != first]

    async def is_milder(names: Sequence[str]) -> bool:
        facts = {**gathered.facts, **{name: gathered.alone[name] for name in names}}
        otherwise = await judge(replace(prepared, input={**prepared.input, "facts": facts}))
        return otherwise.verdict.severity < decision.verdict.severity

    found = [name for name in grown if await is_milder([name])]
    if not found and len(grown) > 1 and await is_milder(grown):
        found = grown
    return tuple(DecisiveCount(name, gathered.counters[name], gathered.facts[name]) for name in found)
