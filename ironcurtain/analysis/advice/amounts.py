"""Amounts: the values that approved calls had where rules compare numbers, rounded as people do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Decimal, localcontext
from typing import Literal, TypeAlias

from ironcurtain.analysis.engine.rules.predicates import find
from ironcurtain.decision.canonical.pointers import steps_of
from ironcurtain.enforcement.audit.record_types import DecisionRecord
from ironcurtain.model.conditions import If
from ironcurtain.model.unknown_facts import reference
from ironcurtain.system.frozen import JsonValue, is_number

AmountName: TypeAlias = tuple[Literal["args", "facts", "age"], str]
"""Where an amount stands: an argument, a fact, or a fact whose age is compared, in seconds."""

MIN_ANSWERS = 5
"""Answers of people that a sentence, and each place and amount in it, has to rest on."""
_HOUR, _DAY = 3600, 86400
_HOURS = (1, 2, 3, 4, 6, 8, 12, 18, 24, 36, 48)
_DAYS = (3, 4, 5, 7, 10, 14, 21, 30, 45, 60, 90, 120, 180, 365)


@dataclass
class Amounts:
    """The amounts in calls that people approved, where rules bound them from one side."""

    largest: dict[AmountName, dict[str, float | None]] = field(default_factory=dict)
    """By request; None where a call's amount is not known."""

    def add(self, request: str, record: DecisionRecord, conditions: Sequence[If]) -> None:
        """Take in the amounts of one call that rules compare."""
        for condition in conditions:
            upward = {*upwards(condition)}
            for name in upward:
                self._put(name, request, _value(record, name))
            for name in {*_downwards(condition)} - upward:
                self._put(name, request, None)

    def merge(self, other: Amounts) -> None:
        """Take in the amounts of other calls."""
        for name, by_request in other.largest.items():
            for request, value in by_request.items():
                self._put(name, request, value)

    def bounds(self, answers: int = MIN_ANSWERS) -> dict[AmountName, float] | None:
        """Return the rounded bound of every amount; None where one is not known.

        As many answers as a sentence rests on were about that much or more.
        """
        found: dict[AmountName, float] = {}
        for name, by_request in self.largest.items():
            values = sorted((v for v in by_request.values() if v is not None), reverse=True)
            if len(values) < len(by_request) or len(values) < answers:
                return None
            found[name] = (_age if name[0] == "age" else rounded)(values[answers - 1])
        return found

    def _put(self, name: AmountName, request: str, value: float | None) -> None:
        by_request = self.largest.setdefault(name, {})
        before = by_request.get(request, value)
        by_request[request] = None if before is None or value is None else max(before, value)


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


def _downwards(condition: If) -> Iterable[AmountName]:
    """Yield the facts that a condition demands to be less than a number, where no sentence bounds them."""
    for fact in condition.facts or ():
        if fact.op in ("lt", "le") and reference(fact.value) is None:
            yield ("facts", fact.fact)


def rounded(value: float) -> float:
    """Return the next larger number of two digits with zeros behind them, which a person would write."""
    if value <= 0:
        return 0
    with localcontext(rounding=ROUND_CEILING, prec=2):
        exact = +Decimal(value)
    return int(exact) if exact == exact.to_integral_value() else float(exact)


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
