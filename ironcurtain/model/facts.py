"""Declared facts: what rules test beside a call's arguments, and where each value comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, model_validator

from ironcurtain.model.conditions import ArgCondition, If
from ironcurtain.model.records import FactType, Pointer, RecordFact, Zone, record_problems
from ironcurtain.system.frozen import Frozen

MAX_LOOKUPS = 8
"""Records that one call may need."""


class ArgReference(Frozen):
    """A value of the call's arguments."""

    arg: Pointer


class CounterFact(Frozen):
    """How many calls were sent, or the sum of a number in them, the call to be decided included.

    Attributes:
        of: The calls that count.
        add: The number that is added up; None counts the calls.
        window: Calendar hours, days and weeks (from Monday) in the zone, or the whole session.
    """

    source: Literal["counter"]
    clause: str = Field(min_length=1)
    of: If
    add: ArgReference | None = None
    per: Literal["session", "caller"]
    window: Literal["hour", "day", "week", "session"]
    zone: Zone = "UTC"

    @model_validator(mode="after")
    def _a_session_has_one_count(self) -> CounterFact:
        if self.window == "session" and self.per == "caller":
            msg = "a counter of the window session is per session"
            raise ValueError(msg)
        return self

    def counts_every(self, server: str, tool: str) -> bool:
        """Tell whether it counts every call of a tool, whatever its arguments are."""
        given = self.of.model_dump(exclude_defaults=True)
        return {key for key, value in given.items() if value is not None} <= {
            "server",
            "tool",
        } and self.of.is_about(server, tool)


class LabelFact(Frozen):
    """Whether the session has sent a call of a kind; nothing in the session takes a label away.

    Attributes:
        from_: The calls that give it.
        from_result: What the answer to such a call must hold as well: tests of its structured content.
    """

    source: Literal["label"]
    clause: str = Field(min_length=1)
    from_: If = Field(alias="from")
    from_result: tuple[ArgCondition, ...] | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _answers_are_compared_with_constants(self) -> LabelFact:
        for test in self.from_result or ():
            if isinstance(test.value, dict):
                msg = f"the test of {test.name!r} in the answer compares with a constant only"
                raise ValueError(msg)  # noqa: TRY004 - pydantic tells no other as a mistake
        return self


class SaidFact(Frozen):
    """Whether all that a call names in some arguments stands in what the user wrote in the session.

    Attributes:
        args: Where the values stand, in the tools that have them; of a list every element counts.
    """

    source: Literal["said"]
    clause: str = Field(min_length=1)
    args: tuple[Pointer, ...] = Field(min_length=1)


class ClockFact(Frozen):
    """The time of the week at which the call is decided, in a time zone."""

    source: Literal["clock"]
    zone: Zone = "UTC"


Fact: TypeAlias = Annotated[
    RecordFact | CounterFact | LabelFact | SaidFact | ClockFact, Field(discriminator="source")
]


def conditions_of(facts: Mapping[str, Fact]) -> Iterator[tuple[str, If]]:
    """Yield the conditions of what is counted, and of what gives a label, with the fact's name."""
    for name, fact in facts.items():
        if isinstance(fact, CounterFact):
            yield name, fact.of
        elif isinstance(fact, LabelFact):
            yield name, fact.from_


def fact_types(facts: Mapping[str, Fact]) -> dict[str, FactType | Literal["clock"]]:
    """Return what `facts` conditions may name, `NAME` or `NAME/FIELD`, with the type of each value."""
    found: dict[str, FactType | Literal["clock"]] = {}
    for name, fact in facts.items():
        if isinstance(fact, RecordFact):
            found |= {f"{name}/{field}": fact.value_type(field) for field in fact.fields}
        elif isinstance(fact, CounterFact):
            found[name] = "number"
        elif isinstance(fact, LabelFact | SaidFact):
            found[name] = "boolean"
        elif isinstance(fact, ClockFact):
            found[name] = "clock"
    return found


def lookups(facts: Mapping[str, Fact], named: str) -> list[str]:
    """Return the records that a fact needs, each after those that it refers to.

    Args:
        facts: Declarations that `declaration_problems` finds nothing wrong with.
        named: A fact as conditions name it.
    """
    name = named.partition("/")[0]
    fact = facts.get(name)
    if not isinstance(fact, RecordFact):
        return []
    before = [each for other in fact.facts for each in lookups(facts, other)]
    return list(dict.fromkeys([*before, name]))


def declaration_problems(facts: Mapping[str, Fact]) -> Iterator[str]:
    """Yield what is wrong with how declarations refer to each other."""
    records = {name: fact for name, fact in facts.items() if isinstance(fact, RecordFact)}
    types = fact_types(facts)
    for name, fact in records.items():
        yield from record_problems(name, fact, records, types)
        if _comes_back(name, facts):
            yield f"fact {name!r} refers to itself"


def _comes_back(name: str, facts: Mapping[str, Fact]) -> bool:
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        fact = facts.get(waiting.pop())
        for other in fact.facts if isinstance(fact, RecordFact) else ():
            record = other.partition("/")[0]
            if record == name:
                return True
            if record not in seen:
                seen.add(record)
                waiting.append(record)
    return False
