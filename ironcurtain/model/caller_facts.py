"""Declared facts about the caller: what rules may test under `caller`, and compare arguments with."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, StringConstraints, model_validator

from ironcurtain.model.unknown_facts import json_type
from ironcurtain.system.frozen import Frozen, JsonValue, is_empty

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
        role: The role of the identifier, or of the identifiers, that the fact is. It is compared with
            arguments of this role, both in canonical form; without a role, with arguments that name nothing.
    """

    type: CallerFactType
    meaning: str = Field(min_length=1)
    example: JsonValue
    from_: str = Field(min_length=1, alias="from")
    role: str | None = Field(default=None, min_length=1, exclude_if=is_empty)

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

    @model_validator(mode="after")
    def _identifiers_are_texts(self) -> CallerFact:
        if self.role is not None and self.type not in ("string", "strings"):
            msg = f"a fact with a role is a string, or a list of strings, not of the type {self.type}"
            raise ValueError(msg)
        return self
