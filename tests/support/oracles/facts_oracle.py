"""An evaluator of declared facts in plain Python, written from the specification and not from our code.

It reads declarations and conditions as JSON (`compiled-policy.json`), records as servers answer them, and
sequences of calls. It keeps every value as what it means (an instant, a set, a decimal), while the engine
sees ages, sorted arrays and minutes of a week.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

import re2

from support.oracles import twin

JsonObject: TypeAlias = dict[str, Any]
Values: TypeAlias = dict[str, Any]
"""What is known of facts: a record as a mapping of its fields, everything else as its value."""

UNKNOWN = None
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


class UnavailableError(Exception):
    """A fact that a call needs cannot be had, so the call is denied."""


def record(declaration: JsonObject, document: Any, asked: Mapping[str, Any] | None = None) -> Values:
    """Read the declared fields of a record.

    Args:
        declaration: The record's.
        document: What the look-up tool answered.
        asked: What it was called with; the record has to say the same of itself where it is declared to.

    Raises:
        UnavailableError: If a field is absent or of another type than is declared, or the record is another.
    """
    for argument, place in declaration.get("identity", {}).items():
        if asked is not None and _selected(document, place) != asked[argument]:
            raise UnavailableError
    return {
        name: _typed(one["type"], _selected(document, one["at"]))
        for name, one in declaration["fields"].items()
    }


def _selected(document: Any, pointer: str) -> Any:
    path = [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]
    return _walk(document, path)


def _walk(value: Any, path: list[str]) -> Any:
    for position, token in enumerate(path):
        if token == "*":
            if not isinstance(value, list):
                raise UnavailableError
            return [_walk(one, path[position + 1 :]) for one in value]
        value = value.get(token) if isinstance(value, dict) else None
    return value


def _typed(kind: str, value: Any) -> Any:
    if kind == "instant":
        return _instant(value)
    fits = {
        "string": isinstance(value, str),
        "number": _is_number(value),
        "boolean": isinstance(value, bool),
        "strings": isinstance(value, list) and all(isinstance(one, str) for one in value),
    }
    if not fits[kind]:
        raise UnavailableError
    return frozenset(value) if kind == "strings" else value


def _instant(value: Any) -> datetime:
    try:
        read = datetime.fromisoformat(value)
    except (TypeError, ValueError) as error:
        raise UnavailableError from error
    if read.tzinfo is None:
        raise UnavailableError
    return read


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def holds(test: JsonObject, values: Values, call: twin.Question, at: datetime, then: str) -> bool:
    """Tell whether a test of a fact holds in a rule that says `then`."""
    outcome = _outcome(test, values, call, at)
    return then != "allow" if outcome is UNKNOWN else outcome


def _outcome(test: JsonObject, values: Values, call: twin.Question, at: datetime) -> bool | None:
    value, op = _named(values, test["fact"]), test["op"]
    if op == "present" and (value is not None or not test["value"]):
        return (value is not None) is bool(test["value"])
    if value is None:
        return None
    if op == "within":
        return any(_covers(span, value) for span in test["value"]) if isinstance(value, datetime) else UNKNOWN
    if op in ("older_than", "younger_than"):
        return _aged(value, op, test["value"], at)
    kind, operand = _operand(test["value"], values, call)
    if operand is UNKNOWN:
        return False if kind == "arg" else UNKNOWN
    return _compare(op, value, operand)


def _operand(given: Any, values: Values, call: twin.Question) -> tuple[str, Any]:
    if isinstance(given, dict) and len(given) == 1:
        ((kind, name),) = given.items()
        if kind == "fact":
            return kind, _named(values, name)
        if kind in ("arg", "caller"):
            place: Any = call["args" if kind == "arg" else "caller"]
            return kind, _walk(place, [t.replace("~1", "/").replace("~0", "~") for t in name.split("/")[1:]])
    return "constant", given


def _named(values: Values, name: str) -> Any:
    head, _, rest = name.partition("/")
    value = values.get(head)
    return value.get(rest) if rest and isinstance(value, dict) else value


def _compare(op: str, value: Any, operand: Any) -> bool | None:
    if op in ("contains", "not_contains"):
        if not isinstance(value, frozenset) or not isinstance(operand, str):
            return UNKNOWN
        return (operand in value) is (op == "contains")
    options = operand if op in ("in", "not_in") else [operand]
    if not isinstance(options, list | tuple | frozenset):
        return UNKNOWN
    if any(_kind(value) != _kind(one) for one in options):
        return UNKNOWN
    if op in ("equals", "in"):
        return value in options
    if op in ("not_equals", "not_in"):
        return value not in options
    if op == "matches":
        return bool(re2.fullmatch(f"(?s:{operand})", value)) if isinstance(value, str) else UNKNOWN
    if not _is_number(value):
        return UNKNOWN
    ordered = {"lt": value < operand, "le": value <= operand, "gt": value > operand, "ge": value >= operand}
    return bool(ordered[op])


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    return "number" if _is_number(value) else type(value).__name__


def _aged(value: Any, op: str, duration: str, at: datetime) -> bool | None:
    """Compare the age in whole seconds, as a watch shows it: an age of exactly the duration is neither."""
    if not isinstance(value, datetime):
        return UNKNOWN
    age = (at - value) // timedelta(seconds=1)
    limit = timedelta(**{UNITS[duration[-1]]: int(duration[:-1])}) // timedelta(seconds=1)
    return age > limit if op == "older_than" else age < limit


def _covers(span: str, now: datetime) -> bool:
    """Tell whether a span such as `mon-fri 09:00-17:00`, `sat` or `22:00-06:00` holds a time of its zone."""
    days, hours = _parts(span)
    begin, end = (_minutes(one) for one in hours.split("-"))
    first, _, last = days.partition("-")
    start = DAYS.index(first)
    length = (DAYS.index(last or first) - start) % 7
    minute = now.hour * 60 + now.minute
    today = (now.weekday() - start) % 7 <= length
    yesterday = (now.weekday() - 1 - start) % 7 <= length
    if begin < end:
        return today and begin <= minute < end
    return (today and minute >= begin) or (yesterday and minute < end)


def _parts(span: str) -> tuple[str, str]:
    days, _, hours = span.partition(" ")
    if hours:
        return days, hours
    return ("mon-sun", days) if ":" in days else (days, "00:00-24:00")


def _minutes(text: str) -> int:
    hours, minutes = text.split(":")
    return int(hours) * 60 + int(minutes)


@dataclass(frozen=True)
class Sent:
    """A call that was sent, with what it added and when."""

    at: datetime
    session: str
    caller: str
    amounts: Mapping[str, Decimal]
    labels: frozenset[str]


@dataclass
class Memory:
    """What was sent so far; nothing is ever taken out."""

    sent: list[Sent] = field(default_factory=list)

    def total(self, name: str, declaration: JsonObject, session: str, caller: str, at: datetime) -> Decimal:
        """Return what a counter holds before a call."""
        current = window(declaration, at)
        before = Decimal(0)
        for one in self.sent:
            is_own = one.caller == caller if declaration["per"] == "caller" else one.session == session
            if name in one.amounts and is_own and window(declaration, one.at) == current:
                before += one.amounts[name]
        return before

    def has(self, label: str, session: str) -> bool:
        """Tell whether a session has a label."""
        return any(one.session == session and label in one.labels for one in self.sent)


def window(declaration: JsonObject, at: datetime) -> tuple[Any, ...]:
    """Return the hour, day or week of the calendar of an instant; an hour that comes twice is two."""
    if declaration["window"] == "session":
        return ()
    local = at.astimezone(ZoneInfo(declaration.get("zone", "UTC")))
    if declaration["window"] == "week":
        return tuple(local.isocalendar())[:2]
    if declaration["window"] == "day":
        return (local.date(),)
    return (local.date(), local.hour, local.utcoffset())


@dataclass(frozen=True)
class Step:
    """A call of a session: its policy input, the records that its look-ups find, and when it is made."""

    call: twin.Question
    at: datetime
    records: Mapping[str, Any] = field(default_factory=dict)
    session: str = "s"
    caller: str = "c"
    approved: bool = False


def run(policy: JsonObject, steps: Iterable[Step], memory: Memory | None = None) -> list[JsonObject]:
    """Return the decision of each step of a sequence; what is sent is remembered for the steps after it."""
    kept = memory or Memory()
    return [_decided(policy, step, kept) for step in steps]


def _decided(policy: JsonObject, step: Step, memory: Memory) -> JsonObject:
    declared = policy.get("facts", {})
    try:
        amounts = _amounts(declared, step)
        values = known(declared, step, memory, amounts)
    except UnavailableError:
        return {"verdict": "deny", "rule": "structural-fact-unavailable"}
    decision = decide(policy["rules"], step.call, values, step.at)
    if decision["verdict"] == "allow" or (decision["verdict"] == "escalate" and step.approved):
        labels = frozenset(
            name for name, one in declared.items() if one["source"] == "label" and _counts(one["from"], step)
        )
        memory.sent.append(Sent(step.at, step.session, step.caller, amounts, labels))
    return decision


def decide(rules: list[JsonObject], call: twin.Question, values: Values, at: datetime) -> JsonObject:
    """Decide a call whose facts are known: a rule of which a test of a fact fails is none for this call."""
    concerned = [
        {**rule, "if": {key: value for key, value in rule["if"].items() if key != "facts"}}
        for rule in rules
        if all(holds(test, values, call, at, rule["then"]) for test in rule["if"].get("facts", []))
    ]
    return twin.decide(concerned, call)


def known(
    declared: JsonObject, step: Step, memory: Memory, amounts: Mapping[str, Decimal] | None = None
) -> Values:
    """Return the facts of a step: its records, its totals with this call, its labels and its clock."""
    found: Values = {}
    for name, one in declared.items():
        if one["source"] == "record" and name in step.records:
            found[name] = record(one, step.records[name])
        elif one["source"] == "counter":
            before = memory.total(name, one, step.session, step.caller, step.at)
            found[name] = before + (amounts or {}).get(name, Decimal(0))
        elif one["source"] == "label":
            found[name] = memory.has(name, step.session)
        elif one["source"] == "clock":
            found[name] = in_zone(step.at, one["zone"])
    return found


def in_zone(at: datetime, zone: str) -> datetime:
    """Return a moment as the clocks of a zone show it."""
    return at.astimezone(ZoneInfo(zone))


def _amounts(declared: JsonObject, step: Step) -> dict[str, Decimal]:
    """Return what the step adds to each counter that counts it."""
    return {
        name: _amount(one.get("add"), step)
        for name, one in declared.items()
        if one["source"] == "counter" and _counts(one["of"], step)
    }


def _amount(add: JsonObject | None, step: Step) -> Decimal:
    if add is None:
        return Decimal(1)
    given = _selected(step.call["args"], add["arg"])
    if not _is_number(given):
        raise UnavailableError
    amount = Decimal(str(given))
    if not amount.is_finite() or amount < 0:
        raise UnavailableError
    return amount


def _counts(condition: JsonObject, step: Step) -> bool:
    """Tell whether a call is one of those that are counted or labelled.

    A rule that denies would hold so, but also for what is exempt in the workspace: that was taken in, too.
    """
    rule = {"name": "counted", "then": "deny", "if": {**condition, "in_sandbox": True}}
    judged = twin.decide([rule], step.call)["subjects"].values()
    return any(one["rule"] == "counted" for one in judged)
