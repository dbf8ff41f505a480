"""Declared facts about the caller: what rules may test under `caller`, and compare arguments with."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, StringConstraints, model_validator

from ironcurtain.model.unknown_facts import json_type
from ironcurtain.system.frozen import Frozen, JsonValue

CallerFactType: TypeAlias = Literal["string", "strings", "number", "boolean", "object"]
"""`strings` is a list of texts, whose elements are tested by `/NAME/*`; an `object` is compared as a whole
(what stands in it is declared by pointers of its own)."""

CallerFactName: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_/][!-)+-}]{0,127}$")]
"""A key of the caller facts, which may be a claim such as `https://example.com/role`, or a JSON pointer to
what lies deeper, `/realm_access/roles`."""


class CallerFact(Frozen):
    """A fact about the caller that rules may test; what it is declared under is where it stands.

    Attributes:
        meaning: What it says of the caller, in a sentence.
        example: A value of the type.
        from_: Where it comes from, such as a claim of a token; for people.
    """

    type: CallerFactType
    meaning: str = Field(min_length=1)
    example: JsonValue
    from_: str = Field(min_length=1, alias="from")

    @model_validator(mode="after")
    def _example_is_of_the_type(self) -> CallerFact:
        given = self.example
        if self.type == "strings":
            fits = isinstance(given, list | tuple) and all(isinstance(each, str) for each in given)
        else:
            fits = json_type(given) == self.type
        if not fits:
            msg = f"the example is not of the type {self.type}"
            raise ValueError(msg)
        return self
