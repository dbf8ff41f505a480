"""What tests of arguments say besides operator and operand: how many elements, which multiple of what."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, model_validator

from ironcurtain.system import json_text
from ironcurtain.system.frozen import Frozen, JsonValue, is_number
from ironcurtain.system.structs import Struct

_MOST_ELEMENTS = 100
_Elements: TypeAlias = Annotated[int, Field(ge=0, le=_MOST_ELEMENTS)]


class CountBound(Frozen):
    """How many elements must satisfy a test: at most, at least or exactly so many."""

    le: _Elements | None = None
    ge: _Elements | None = None
    equals: _Elements | None = None

    @model_validator(mode="after")
    def _is_one_bound(self) -> CountBound:
        if len([each for each in (self.le, self.ge, self.equals) if each is not None]) != 1:
            msg = 'count takes one of "le", "ge" and "equals"'
            raise ValueError(msg)
        return self

    @property
    def op(self) -> Literal["le", "ge", "equals"]:
        """The operator that the number of elements is compared by."""
        return "le" if self.le is not None else "ge" if self.ge is not None else "equals"

    @property
    def number(self) -> int:
        """What the number of elements is compared with."""
        return next(each for each in (self.le, self.ge, self.equals) if each is not None)

    def holds(self, number: int) -> bool:
        """Tell whether so many elements are within the bound."""
        outcomes = {"le": number <= self.number, "ge": number >= self.number, "equals": number == self.number}
        return outcomes[self.op]


LARGEST_SCALED = 1_000_000_000
"""The greatest whole number that is multiplied or added to, so that every engine's result is exact."""
SCALING = frozenset({"times", "plus", "measure"})
"""What an operand that refers to another value may say of it besides where it stands."""


class Scale(Struct):
    """What of another value a number is compared with: `times` the value or its number of elements, `plus`.

    Attributes:
        counts: Whether the number of elements of an array is meant.
        is_arithmetic: Whether the other value is multiplied or added to, so that it must be a whole number.
    """

    times: int = 1
    plus: int = 0
    counts: bool = False
    is_arithmetic: bool = False

    def of(self, value: JsonValue) -> JsonValue:
        """Return the number to compare with; null of what is absent, false of what is no such number."""
        if value is None:
            return None
        if self.counts:
            value = len(value) if isinstance(value, list | tuple) else False
        if not is_number(value):
            return False
        if not self.is_arithmetic:
            return value
        if not float(value).is_integer() or abs(value) > LARGEST_SCALED:
            return False
        return int(value) * self.times + self.plus


def scale_of(operand: JsonValue) -> Scale:
    """Return the scale of an operand that refers to another value; it is valid."""
    given = json_text.members(operand)
    times, plus = given.get("times", 1), given.get("plus", 0)
    return Scale(
        times if isinstance(times, int) else 1,
        plus if isinstance(plus, int) else 0,
        given.get("measure") == "count",
        bool({"times", "plus"} & given.keys()),
    )


_SPECIAL = frozenset("\\.+*?()|[]{}^$")


def literal_expression(text: str) -> str:
    """Return the regular expression (RE2) of exactly one text."""
    return "".join(f"\\{character}" if character in _SPECIAL else character for character in text)
