"""Declared facts as a decision sees them: values of their declared types, ages and minutes instead of times.

Nothing here reads a clock: the time at which a call is decided comes in.
"""

from __future__ import annotations

import math
import re
import zoneinfo
from collections.abc import Mapping
from datetime import MAXYEAR, MINYEAR, UTC, datetime, timedelta
from decimal import Decimal
from typing import TypeAlias

from ironcurtain.decision.canonical import pointers
from ironcurtain.errors import ScenarioError
from ironcurtain.model.facts import ClockFact, CounterFact, Fact, LabelFact, SaidFact, fact_types
from ironcurtain.model.records import FactType, RecordFact, near
from ironcurtain.model.times import MINUTES_OF_WEEK
from ironcurtain.system.frozen import JsonValue, is_integer

FactValues: TypeAlias = dict[str, JsonValue]
"""Values by the name that conditions give them, `NAME` or `NAME/FIELD`; what is not known is not there."""

_INSTANT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})?"
)


def normalise(facts: Mapping[str, Fact], raw: Mapping[str, object], at: datetime | None) -> FactValues:
    """Return the values that a decision sees; what is absent or of another type than declared is left out.

    Args:
        facts: The declarations.
        raw: Values as they were found: of a record its fields by their declared names, instants as texts of
            RFC 3339; of a counter the total with this call; of a label, and of what the
            user said, true or false.
        at: When the call is decided, with its time zone; without it clocks and ages are not known.

    Returns:
        By `NAME` or `NAME/FIELD`: texts, numbers, booleans; a set as a sorted array; an instant as its age in
        whole seconds, rounded down; a clock as the minute of the week in its zone, 0 on Monday at 00:00.
    """
    found: FactValues = {}
    for name, fact in facts.items():
        if isinstance(fact, RecordFact):
            record = raw.get(name)
            for field in fact.fields:
                value = record.get(field) if isinstance(record, Mapping) else None
                found[f"{name}/{field}"] = _of_field(fact, field, value, at)
        elif isinstance(fact, ClockFact):
            found[name] = None if at is None else _minute(at, fact.zone)
        elif isinstance(fact, CounterFact):
            total = _number(raw.get(name))
            found[name] = total if _can_be(fact, total) else None
        elif isinstance(fact, LabelFact | SaidFact):
            found[name] = _of_type("boolean", raw.get(name))
    return {name: value for name, value in found.items() if value is not None}


def known_facts(facts: Mapping[str, Fact], values: Mapping[str, JsonValue]) -> FactValues:
    """Return those of some normalised values that are declared, and of their types."""
    types = fact_types(facts)
    read = {name: _seen(types[name], value) for name, value in values.items() if name in types}
    return {
        name: value for name, value in read.items() if value is not None and _can_be(facts.get(name), value)
    }


def with_whole_totals(
    facts: Mapping[str, Fact], values: FactValues, server: str, tool: str, args: Mapping[str, JsonValue]
) -> FactValues:
    """Return the values without totals that do not include the call itself: those are not known.

    Args:
        facts: The declarations.
        values: As `known_facts` returns them.
        server: The call's server.
        tool: Its tool.
        args: Its canonical arguments.
    """

    def lacks_call(name: str, value: JsonValue) -> bool:
        fact = facts.get(name)
        if not isinstance(fact, CounterFact) or not fact.counts_every(server, tool):
            return False
        added = args.get(pointers.steps_of(fact.add.arg)[0]) if fact.add is not None else 1
        total, amount = _number(value), _number(added)
        return total is not None and amount is not None and total < amount

    return {name: value for name, value in values.items() if not lacks_call(name, value)}


def stated_facts(facts: Mapping[str, Fact], stated: Mapping[str, JsonValue], at: str | None) -> FactValues:
    """Return the values of facts as people state them, in a scenario or on the command line.

    Args:
        facts: The declarations.
        stated: As `normalise` takes them, or under `NAME/FIELD` (and of a clock) as a decision sees them.
        at: When the call is decided, as text of RFC 3339.

    Raises:
        ScenarioError: If a fact is not declared, or a value or the time is not of its type.
    """
    types = fact_types(facts)
    nested = {name: value for name, value in stated.items() if isinstance(value, dict)}
    plain = {name: value for name, value in stated.items() if name not in nested}
    fields = [f"{name}/{field}" for name, record in nested.items() for field in record]
    for name in (*fields, *plain):
        if name not in types:
            raise _unknown_fact(facts, name, types)
    time = None if at is None else moment(at)
    if at is not None and time is None:
        raise ScenarioError(f"`at` {at!r} is no time with its zone, such as 2026-03-02T09:00:00Z")
    seen = normalise(facts, nested, time) | known_facts(facts, plain)
    for name in (*fields, *plain):
        if name not in seen:
            raise ScenarioError(
                f"the fact {name!r} is of type {types[name]}",
                hint="An instant needs `at`." if types[name] == "instant" and at is None else "",
            )
    return seen


def _unknown_fact(facts: Mapping[str, Fact], name: str, types: Mapping[str, str]) -> ScenarioError:
    """Return what is wrong with a stated name that is no fact's, or a record's without its fields."""
    fact = facts.get(name)
    if not isinstance(fact, RecordFact):
        return ScenarioError(
            f"no fact {name!r} is declared{near(name, types)}",
            hint=f"Declared are: {', '.join(facts)}." if facts else "The policy declares no facts.",
        )
    field = next(iter(fact.fields))
    return ScenarioError(
        f"the fact {name!r} is a record, so its value is an object of its fields",
        hint=f'Write {{"{name}": {{"{field}": …}}}}.',
    )


def _can_be(fact: Fact | None, value: JsonValue) -> bool:
    """Tell whether a counter can stand at a value; what counts calls is a whole number."""
    if not isinstance(fact, CounterFact) or not isinstance(value, int | float):
        return True
    return value >= 0 and (fact.add is not None or isinstance(value, int))


def _of_field(fact: RecordFact, field: str, value: object, at: datetime | None) -> JsonValue:
    type_ = fact.value_type(field)
    if type_ != "instant":
        return _of_type(type_, value)
    found = instant(value, fact.fields[field].zone)
    return None if found is None or at is None else (at - found) // timedelta(seconds=1)


def _of_type(type_: FactType, value: object) -> JsonValue:
    """Return a value if it is of a type; None if it is not."""
    if type_ == "string":
        return value if isinstance(value, str) else None
    if type_ == "boolean":
        return value if isinstance(value, bool) else None
    if type_ == "number":
        return _number(value)
    if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        return sorted(set(value))
    return None


def _seen(type_: str, value: JsonValue) -> JsonValue:
    """Return a normalised value if it is one of its type; None if it is not."""
    if type_ in ("instant", "clock"):
        whole = value if is_integer(value) else None
        within = type_ == "instant" or (whole is not None and 0 <= whole < MINUTES_OF_WEEK)
        return whole if within else None
    return _of_type("strings" if type_ == "strings" else _PLAIN[type_], value)


_PLAIN: dict[str, FactType] = {"string": "string", "number": "number", "boolean": "boolean"}


def _number(value: object) -> int | float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal) or not math.isfinite(value):
        return None
    return int(value) if value == int(value) else float(value)


def instant(value: object, zone: str | None = None) -> datetime | None:
    """Return the instant that a text states, one without a zone in the declared one; None if it is none."""
    if not isinstance(value, str) or _INSTANT.fullmatch(value) is None:
        return None
    try:
        read = datetime.fromisoformat(value.upper())
        if read.tzinfo is None:
            return None if zone is None else read.replace(tzinfo=zoneinfo.ZoneInfo(zone)).astimezone(UTC)
        return read.astimezone(UTC)
    except (ValueError, OverflowError):  # no such day, or none in UTC: before the year 1, after 9999
        return None


def moment(text: str) -> datetime | None:
    """Return the time at which a call is decided, one that every zone's calendar has; None if it is none."""
    found = instant(text)
    return found if found is not None and MINYEAR < found.year < MAXYEAR else None


def _minute(at: datetime, zone: str) -> int:
    local = at.astimezone(zoneinfo.ZoneInfo(zone))
    return (local.weekday() * 24 + local.hour) * 60 + local.minute
