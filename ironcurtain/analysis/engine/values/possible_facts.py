"""What declared facts can be: their types as a JSON Schema, by the name that conditions give them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.canonical.json_schema import ArgumentSchema
from ironcurtain.model.facts import CounterFact, Fact, fact_types
from ironcurtain.model.times import MINUTES_OF_WEEK
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct

_TYPES: Final[Mapping[str, dict[str, JsonValue]]] = {
    "string": {"type": "string"},
    "strings": {"type": "array", "items": {"type": "string"}},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "instant": {"type": "integer"},
    "clock": {"type": "integer", "minimum": 0, "maximum": MINUTES_OF_WEEK - 1},
}
"""The values that a decision sees, by the declared type: an instant is an age in seconds."""


class PossibleFacts(Struct):
    """What the facts of a call of one tool can be.

    Attributes:
        schema: Its properties are the facts, by the name that conditions give them.
        totals: By the name of a total, the argument of the call that it includes: it is never less.
    """

    schema: ArgumentSchema
    totals: Mapping[str, str]


def possible_facts(sides: Sequence[Mapping[str, Fact]], server: str, tool: str) -> PossibleFacts:
    """Return what the facts that some policies declare can be in calls of a tool."""
    totals = {
        name: added[0]
        for facts in sides
        for name, fact in facts.items()
        if isinstance(fact, CounterFact) and fact.add is not None and fact.counts_every(server, tool)
        for added in [pointers.steps_of(fact.add.arg)]
        if len(added) == 1
    }
    return PossibleFacts(_schema(sides, server, tool), totals)


def _schema(sides: Iterable[Mapping[str, Fact]], server: str, tool: str) -> ArgumentSchema:
    found: dict[str, list[JsonValue]] = {}
    for facts in sides:
        for name, type_ in fact_types(facts).items():
            fact, schema = facts.get(name), dict(_TYPES[type_])
            if isinstance(fact, CounterFact):
                is_count = fact.add is None
                schema["type"] = "integer" if is_count else "number"
                schema["minimum"] = 1 if is_count and fact.counts_every(server, tool) else 0
            known = found.setdefault(name, [])
            if schema not in known:
                known.append(schema)
    properties: dict[str, JsonValue] = {
        name: schemas[0] if len(schemas) == 1 else {"anyOf": schemas} for name, schemas in found.items()
    }
    return ArgumentSchema({"type": "object", "properties": properties})


def declared_otherwise(sides: Iterable[Mapping[str, Fact]]) -> frozenset[str]:
    """Return the names of facts that several policies declare, and not alike."""
    found: dict[str, Fact] = {}
    unlike = set()
    for facts in sides:
        for name, fact in facts.items():
            if found.setdefault(name, fact) != fact:
                unlike.add(name)
    return frozenset(unlike)


NO_DECLARED_FACTS: Final = possible_facts((), "", "")
"""Of policies that declare none."""
