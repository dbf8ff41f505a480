"""What one call adds to the memory of its session and to the totals of its caller, if it is sent.

Pure: the call, the moment and what was booked before come in. A proxy gathers facts with it, and sequences of
calls that are told as data are followed with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal

from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.decide import Prepared
from ironcurtain.enforcement.audit.record_types import Booked
from ironcurtain.enforcement.facts.clock import window_of
from ironcurtain.enforcement.facts.facts_of_tool import Counted, FactsOfTool, Labelled
from ironcurtain.enforcement.facts.memory import SessionMemory, key_of
from ironcurtain.enforcement.facts.totals.amounts import AmountError, add, amount_of, as_json, total_text
from ironcurtain.enforcement.facts.totals.store import TotalKey
from ironcurtain.enforcement.facts.unavailable import FactUnavailableError
from ironcurtain.system import json_text
from ironcurtain.system.frozen import Digest, JsonValue
from ironcurtain.system.structs import Struct

_ONE, _ZERO = Decimal(1), Decimal(0)


class CountedCall(Struct):
    """One counter that concerns a call: what the call adds, and where that is kept.

    Attributes:
        is_booked: Whether it is one of the calls that the counter counts and keeps.
    """

    counted: Counted
    booked: Booked
    amount: Decimal
    is_booked: bool

    @property
    def key(self) -> TotalKey | None:
        """The caller's total; None for a counter per session."""
        return key_of(self.booked) if self.booked.caller is not None else None

    @property
    def place(self) -> tuple[str, str]:
        """The counter and its window, as the memory of a session knows them."""
        return self.counted.name, self.booked.window

    def with_call(self, before: Decimal) -> JsonValue:
        """Return the total with the call, as the engine sees it.

        Raises:
            FactUnavailableError: If that cannot be counted exactly.
        """
        try:
            return as_json(add(before, self.amount))
        except AmountError as error:
            raise FactUnavailableError(self.counted.name, str(error)) from None


class Additions(Struct):
    """What a call adds.

    Attributes:
        counted: The counters that concern it.
        given: The labels that it gives its session, or may give, where that depends on its answer.
    """

    counted: tuple[CountedCall, ...]
    given: tuple[Labelled, ...]

    @property
    def booked(self) -> tuple[Booked, ...]:
        """What is booked when the call is sent."""
        labels = (Booked(fact=each.name) for each in self.given if each.fact.from_result is None)
        return (*(each.booked for each in self.counted if each.is_booked), *labels)

    @property
    def awaited(self) -> tuple[Labelled, ...]:
        """Labels that it may give once its answer is there."""
        return tuple(each for each in self.given if each.fact.from_result is not None)

    def totals(
        self, memory: SessionMemory, of_caller: Callable[[TotalKey], Decimal]
    ) -> Mapping[str, JsonValue]:
        """Return the totals with the call that rules about its tool test, by the counter's name.

        Args:
            memory: What its session has booked.
            of_caller: Returns what stands booked for a caller.

        Raises:
            FactUnavailableError: If one cannot be counted exactly.
        """
        return {
            each.counted.name: each.with_call(
                of_caller(each.key) if each.key is not None else memory.total(*each.place)
            )
            for each in self.counted
            if each.counted.is_tested
        }


def additions_of(concerned: FactsOfTool, prepared: Prepared, at: datetime) -> Additions:
    """Return what a call adds.

    Args:
        concerned: What concerns its tool.
        prepared: The call after step 5.
        at: When it is decided.

    Raises:
        FactUnavailableError: If it adds an amount that is missing, negative or cannot be counted exactly.
    """
    caller = _caller_of(prepared.caller)
    return Additions(
        tuple(_counted(each, prepared, caller, at) for each in concerned.counters),
        tuple(each for each in concerned.giving if each.condition.matches(prepared)),
    )


def _caller_of(caller: Mapping[str, JsonValue]) -> Digest:
    """Return the digest of whom an agent acts for: of `sub` if it is known, else of all caller facts."""
    who = caller.get("sub")
    return json_text.digest(["sub", who] if who is not None else ["facts", dict(caller)])


def _counted(counted: Counted, prepared: Prepared, caller: Digest, at: datetime) -> CountedCall:
    fact = counted.fact
    is_counted = counted.condition is not None and counted.condition.matches(prepared)
    try:
        amount = _amount(counted, prepared) if is_counted else _ZERO
    except AmountError as error:
        raise FactUnavailableError(counted.name, str(error)) from None
    is_shared = fact.per == "caller"
    booked = Booked(
        fact=counted.name,
        add=total_text(amount),
        window=window_of(fact.window, fact.zone, at),
        caller=caller if is_shared else None,
        declared=counted.declared if is_shared else "",
    )
    return CountedCall(counted, booked, amount, is_counted and counted.is_booked)


def _amount(counted: Counted, prepared: Prepared) -> Decimal:
    if counted.fact.add is None:
        return _ONE
    value: JsonValue = prepared.call.arguments
    for step in pointers.steps_of(counted.fact.add.arg):
        value = value.get(step) if isinstance(value, dict) else None
    return amount_of(value)
