"""Declared facts: what rules test beside a call's arguments, and where each value comes from."""

from __future__ import annotations

import difflib
import zoneinfo
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from ironcurtain.model.conditions import ArgCondition, If
from ironcurtain.system.frozen import Frozen, JsonValue, ServerName

MAX_LOOKUPS = 8
"""Records that one call may need."""

FactType: TypeAlias = Literal["string", "strings", "number", "boolean", "instant"]
"""`strings` is a set; an `instant` is a date and time of RFC 3339."""

FactName: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")]


def _known_zone(zone: str) -> str:
    try:
        zoneinfo.ZoneInfo(zone)
    except (OSError, ValueError, zoneinfo.ZoneInfoNotFoundError) as error:
        msg = f"there is no time zone {zone!r}"
        raise ValueError(msg) from error
    return zone


Zone: TypeAlias = Annotated[str, AfterValidator(_known_zone)]
"""A name of the IANA time zone database, such as `Europe/Berlin`."""

Pointer: TypeAlias = Annotated[str, StringConstraints(pattern=r"^(/[^/]*)+$")]
"""A JSON pointer; `*` stands for every element of an array."""


class RecordField(Frozen):
    """One value of a record.

    Attributes:
        at: Where it stands in the answer of the look-up tool; `*` for every element, of `strings` only.
        zone: The time zone of an instant that states none.
    """

    at: Pointer
    type: FactType
    zone: Zone | None = None

    @model_validator(mode="after")
    def _many_values_are_strings(self) -> RecordField:
        if self.at.split("/").count("*") > (self.type == "strings"):
            msg = f"{self.at!r} names several values; `*` stands once, and in a field of type strings only"
            raise ValueError(msg)
        return self


class RecordFact(Frozen):
    """A record that a tool looks up before the decision.

    Attributes:
        server, tool: The tool that is called for it.
        arguments: What it is called with: by name a constant, `{"arg": POINTER}` of the call,
            `{"caller": POINTER}` or `{"fact": "NAME/FIELD"}` of another record.
        identity: By the name of an argument, where the answer repeats it: an answer that says something else
            is about another record, and refused.
    """

    source: Literal["record"]
    clause: str = Field(min_length=1)
    server: ServerName
    tool: str = Field(min_length=1)
    arguments: dict[str, JsonValue] = Field(min_length=1)
    identity: dict[str, Pointer] = Field(default_factory=dict)
    fields: dict[FactName, RecordField] = Field(min_length=1)

    @model_validator(mode="after")
    def _identity_is_asked_for(self) -> RecordFact:
        for argument, place in self.identity.items():
            if argument not in self.arguments:
                msg = (
                    f"the identity {argument!r} is no argument of the look-up{near(argument, self.arguments)}"
                )
                raise ValueError(msg)
            if "*" in place.split("/"):
                msg = f"{place!r} names several values; an identity is one"
                raise ValueError(msg)
        return self

    @property
    def facts(self) -> tuple[str, ...]:
        """The facts that its arguments refer to."""
        referred = (value.get("fact") for value in self.arguments.values() if isinstance(value, dict))
        return tuple(value for value in referred if isinstance(value, str))


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


def fact_types(facts: Mapping[str, Fact]) -> dict[str, FactType | Literal["clock"]]:
    """Return what `facts` conditions may name, `NAME` or `NAME/FIELD`, with the type of each value."""
    found: dict[str, FactType | Literal["clock"]] = {}
    for name, fact in facts.items():
        if isinstance(fact, RecordFact):
            found |= {f"{name}/{field}": declared.type for field, declared in fact.fields.items()}
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
    types = fact_types(facts)
    for name, fact in facts.items():
        if not isinstance(fact, RecordFact):
            continue
        for argument, value in fact.arguments.items():
            if isinstance(value, dict) and not _is_reference(value):
                yield (
                    f"fact {name!r}: argument {argument!r} is a constant, "
                    '{"arg": POINTER}, {"caller": POINTER} or {"fact": "NAME/FIELD"}'
                )
        for other in fact.facts:
            if other not in types:
                yield f"fact {name!r} refers to {other!r}, which nothing declares{near(other, types)}"
            elif "/" not in other or types[other] not in ("string", "number", "boolean"):
                yield f"fact {name!r} refers to {other!r}, which is no single value to look up by"
        if _comes_back(name, facts):
            yield f"fact {name!r} refers to itself"


def near(name: str, known: Mapping[str, object]) -> str:
    """Return `; did you mean …?` with the nearest known name, nothing if none is near."""
    found = difflib.get_close_matches(name, sorted(known), n=1)
    return f"; did you mean {found[0]!r}?" if found else ""


def _is_reference(value: Mapping[str, JsonValue]) -> bool:
    return len(value) == 1 and all(
        key in ("arg", "caller", "fact") and isinstance(pointer, str) for key, pointer in value.items()
    )


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
