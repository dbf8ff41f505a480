"""Amounts: the largest values that recorded calls had where rules compare numbers, rounded as people do."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ironcurtain.analysis.engine.rules.predicates import find
from ironcurtain.decision.canonical.pointers import steps_of
from ironcurtain.enforcement.audit.record_types import DecisionRecord
from ironcurtain.model.conditions import If
from ironcurtain.model.unknown_facts import reference
from ironcurtain.system.frozen import JsonValue, is_number

AmountName: TypeAlias = tuple[Literal["args", "facts", "age"], str]
"""Where an amount stands: an argument, a fact, or a fact whose age is compared, in seconds."""

_HOUR, _DAY = 3600, 86400
_HOURS = (1, 2, 3, 4, 6, 8, 12, 18, 24, 36, 48)
_DAYS = (3, 4, 5, 7, 10, 14, 21, 30, 45, 60, 90, 120, 180, 365)


@dataclass
class Amounts:
    """The largest values of what rules bound from one side; None where a call's value is not known."""

    largest: dict[AmountName, float | None] = field(default_factory=dict)

    def add(self, record: DecisionRecord, conditions: Sequence[If]) -> None:
        """Take in the amounts of one call that rules compare upwards."""
        for name in {name for condition in conditions for name in upwards(condition)}:
            value = _value(record, name)
            before = self.largest.get(name, value)
            self.largest[name] = None if before is None or value is None else max(before, value)


def upwards(condition: If) -> Iterable[AmountName]:
    """Yield what a condition demands to be more than a number."""
    for test in condition.args or ():
        if (
            test.op in ("gt", "ge")
            and is_number(test.value)
            and test.measure is None
            and "*" not in test.name
        ):
            yield ("args", test.name)
    for fact in condition.facts or ():
        if fact.op == "older_than":
            yield ("age", fact.fact)
        elif fact.op in ("gt", "ge") and reference(fact.value) is None:
            yield ("facts", fact.fact)


def bounds_of(all_amounts: Sequence[Amounts]) -> dict[AmountName, float] | None:
    """Return the rounded bound of every amount over several kinds of calls; None where one is not known."""
    found: dict[AmountName, float] = {}
    for amounts in all_amounts:
        for name, largest in amounts.largest.items():
            if largest is None:
                return None
            found[name] = max(found.get(name, largest), largest)
    return {name: (_age if name[0] == "age" else rounded)(largest) for name, largest in found.items()}


def rounded(value: float) -> float:
    """Return the next larger number that a person would write: 1, 2 or 5 with zeros behind it."""
    if value <= 0:
        return 0
    power = 10.0 ** math.floor(math.log10(value))
    step = next(step for step in (1, 2, 5, 10) if step * power >= value)
    return int(step * power) if step * power >= 1 else step * power


def duration(seconds: float) -> str:
    """Return a rounded age as rules write it."""
    return f"{int(seconds) // _DAY}d" if seconds % _DAY == 0 else f"{int(seconds) // _HOUR}h"


def _age(seconds: float) -> float:
    lengths = [*(hours * _HOUR for hours in _HOURS), *(days * _DAY for days in _DAYS)]
    # `younger_than` is less than, so that an age of exactly a day needs more than a day.
    return next((length for length in lengths if length > seconds), (int(seconds) // _DAY + 1) * _DAY)


def _value(record: DecisionRecord, name: AmountName) -> float | None:
    if name[0] == "args":
        value: JsonValue = find(record.arguments or {}, steps_of(name[1]))
    else:
        values = record.facts.values if record.facts is not None else None
        value = (values or {}).get(name[1])
    return value if is_number(value) else None
