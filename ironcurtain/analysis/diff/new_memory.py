"""Which counters and labels of a policy begin with nothing where another policy was enforced before it."""

from __future__ import annotations

from collections.abc import Mapping

from ironcurtain.enforcement.facts.facts_of_tool import declaration_digest
from ironcurtain.model.facts import CounterFact, Fact, LabelFact


def new_memory(old: Mapping[str, Fact], new: Mapping[str, Fact]) -> tuple[str, ...]:
    """Return the counters and labels on which nothing is booked when a policy replaces another one.

    Args:
        old: The facts that one policy declares.
        new: Those of the policy that replaces it.

    Returns:
        Each with what it is: `counter paid`, `label private`.
    """
    known = {_kept_as(name, fact) for name, fact in old.items()}
    return tuple(
        f"{fact.source} {name}"
        for name, fact in sorted(new.items())
        if isinstance(fact, CounterFact | LabelFact) and _kept_as(name, fact) not in known
    )


def _kept_as(name: str, fact: Fact) -> tuple[str, ...]:
    """Return under what its bookings are found again: a caller's total is that of one declaration."""
    if isinstance(fact, CounterFact):
        if fact.per == "caller":
            return fact.source, fact.per, name, declaration_digest(fact)
        return fact.source, fact.per, name, fact.window
    return fact.source, name
