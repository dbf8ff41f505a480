"""Records that a tool looks up before the decision: what it is asked, and which values of its answers count.

    "order":  {"tool": "get_order", "arguments": {"id": {"arg": "/order_id"}}, …}     # one look-up
    "chosen": {"each": "/item_ids", "arguments": {"id": {"each": "/item_ids"}}, …}    # one for each element

A record that is looked up for each element has, for every field, one value of all the look-ups together.
"""

from __future__ import annotations

import zoneinfo
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from ironcurtain.system.frozen import Frozen, JsonValue, ServerName
from ironcurtain.system.text import nearest

MAX_ELEMENTS = 16
"""Elements of an argument that records are looked up for."""

FactType: TypeAlias = Literal["string", "strings", "number", "boolean", "instant"]
"""`strings` is a set; an `instant` is a date and time of RFC 3339."""

FieldType: TypeAlias = Literal[FactType, "keys"]
"""`keys` is the set of the names of an object's members."""

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

_EVERY = "*"


class RecordField(Frozen):
    """One value of a record.

    Attributes:
        at: Where it stands in the answer of the look-up tool; `*` for every element of a list, or for the one
            that `where` chooses.
        zone: The time zone of an instant that states none.
        where: By a pointer into the same list (or object, of which `*` itself is the member's name): what the
            one element has there that is meant.
        equals, not_equals: The field is true or false: whether the value at `at` is this one.
        minus: A number that is taken from the one at `at`.
        default: What stands for the value at `at` where there is none.

    What `where`, `equals`, `not_equals` and `minus` compare with is a constant, `{"arg": POINTER}`,
    `{"caller": POINTER}`, `{"fact": "NAME/FIELD"}`, or `{"each": POINTER}` in a record that is looked up for
    each element.
    """

    at: Pointer
    type: FieldType
    zone: Zone | None = None
    where: dict[Pointer, JsonValue] = Field(default_factory=dict)
    equals: JsonValue = None
    not_equals: JsonValue = None
    minus: JsonValue = None
    default: str | int | float | bool | None = None

    @property
    def operands(self) -> tuple[JsonValue, ...]:
        """What it is compared with."""
        given = (*self.where.values(), self.equals, self.not_equals, self.minus)
        return tuple(each for each in given if each is not None)

    @model_validator(mode="after")
    def _one_value_is_named(self) -> RecordField:
        stars = self.at.split("/").count(_EVERY)
        if self.where and stars != 1:
            msg = f"{self.at!r} names no list that `where` could choose from; `*` stands once in it"
            raise ValueError(msg)
        if not self.where and stars > (self.type == "strings"):
            msg = f"{self.at!r} names several values; `*` stands once, in a set of strings or with `where`"
            raise ValueError(msg)
        listed = self.at.partition(f"/{_EVERY}")[0]
        for place in self.where:
            if place.partition(f"/{_EVERY}")[0] != listed or place.split("/").count(_EVERY) != 1:
                msg = f"{place!r} is nothing in the elements of {listed!r}"
                raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _comparisons_are_of_their_type(self) -> RecordField:
        compared = [each for each in (self.equals, self.not_equals) if each is not None]
        if compared and (self.type != "boolean" or len(compared) > 1):
            msg = "`equals` or `not_equals` makes a field of type boolean"
            raise ValueError(msg)
        if self.minus is not None and self.type != "number":
            msg = "`minus` belongs to a field of type number"
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
        each: The argument, a list, for each of whose elements it is looked up. Then `{"each": POINTER}` is
            the element at the same position of that or another argument, and `{"fact": "NAME/FIELD"}` of a
            record of the same list is its value at the same position. Of all look-ups together, a boolean is
            whether all are true, a number is the sum, and texts and sets are one set.
    """

    source: Literal["record"]
    clause: str = Field(min_length=1)
    server: ServerName
    tool: str = Field(min_length=1)
    arguments: dict[str, JsonValue] = Field(min_length=1)
    identity: dict[str, Pointer] = Field(default_factory=dict)
    each: Pointer | None = None
    fields: dict[FactName, RecordField] = Field(min_length=1)

    @model_validator(mode="after")
    def _identity_is_asked_for(self) -> RecordFact:
        for argument, place in self.identity.items():
            if argument not in self.arguments:
                msg = (
                    f"the identity {argument!r} is no argument of the look-up{near(argument, self.arguments)}"
                )
                raise ValueError(msg)
            if _EVERY in place.split("/"):
                msg = f"{place!r} names several values; an identity is one"
                raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _elements_belong_to_a_list(self) -> RecordFact:
        if self.each is None and any(is_reference(each, "each") for each in self.operands):
            msg = '{"each": POINTER} needs "each": which list the record is looked up for'
            raise ValueError(msg)
        if self.each is not None and _EVERY in self.each.split("/"):
            msg = f"{self.each!r} names several lists"
            raise ValueError(msg)
        for name, field in self.fields.items():
            if self.each is not None and field.type == "instant":
                msg = f"the field {name!r}: instants of several records are no one value"
                raise ValueError(msg)
        return self

    @property
    def operands(self) -> tuple[JsonValue, ...]:
        """The values that it is asked with and that its fields are compared with."""
        return (*self.arguments.values(), *(each for f in self.fields.values() for each in f.operands))

    @property
    def facts(self) -> tuple[str, ...]:
        """The facts that it refers to."""
        referred = (value.get("fact") for value in self.operands if isinstance(value, dict))
        return tuple(dict.fromkeys(value for value in referred if isinstance(value, str)))

    def value_type(self, field: str) -> FactType:
        """Return the type of the value that rules test."""
        declared = self.fields[field].type
        if declared == "keys" or (self.each is not None and declared == "string"):
            return "strings"
        return declared


def is_reference(value: JsonValue, *kinds: str) -> bool:
    """Tell whether an operand refers to another value, in one of these ways."""
    return (
        isinstance(value, dict)
        and len(value) == 1
        and all(key in kinds and isinstance(place, str) for key, place in value.items())
    )


def record_problems(
    name: str, fact: RecordFact, records: Mapping[str, RecordFact], known: Mapping[str, object]
) -> Iterator[str]:
    """Yield what is wrong with the values that a record is asked with, and compared with.

    Args:
        name: Its name.
        fact: Its declaration.
        records: All records that are declared.
        known: By their names, all facts that tests may name.
    """
    named = [(f"argument {argument!r}", value) for argument, value in fact.arguments.items()]
    named += [(f"field {field!r}", value) for field, each in fact.fields.items() for value in each.operands]
    for where, value in named:
        is_constant = not isinstance(value, dict if where.startswith("argument") else list | dict)
        if not is_constant and not is_reference(value, "arg", "caller", "fact", "each"):
            yield (
                f"fact {name!r}: {where} is a constant, "
                '{"arg": POINTER}, {"caller": POINTER}, {"fact": "NAME/FIELD"} or {"each": POINTER}'
            )
    for referred in fact.facts:
        other, _, field = referred.partition("/")
        if referred not in known:
            yield f"fact {name!r} refers to {referred!r}, which nothing declares{near(referred, known)}"
        elif not field or records[other].fields[field].type not in ("string", "number", "boolean"):
            yield f"fact {name!r} refers to {referred!r}, which is no single value to look up by"
        elif records[other].each not in (None, fact.each):
            yield f"fact {name!r} refers to {referred!r}, which is looked up for each of another list"


def near(name: str, known: Mapping[str, object]) -> str:
    """Return `; did you mean …?` with the nearest known name, nothing if none is near."""
    meant = nearest(name, known)
    return f"; did you mean {meant!r}?" if meant is not None else ""
