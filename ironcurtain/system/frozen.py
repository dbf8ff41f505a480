"""What all our data share: frozen pydantic models that refuse unknown keys and loose types."""

from __future__ import annotations

from typing import Annotated, TypeAlias, TypeGuard

import pydantic
from pydantic import BaseModel, BeforeValidator, ConfigDict, StringConstraints

JsonValue: TypeAlias = pydantic.JsonValue
"""Any JSON value: object, array, string, number, true, false or null."""


class Frozen(BaseModel):
    """An immutable value object; unknown keys are errors, and no value is coerced to another type.

    What checks its values is built for the first of them: a command imports more models than it uses.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, validate_default=True, defer_build=True
    )


def is_number(value: object) -> TypeGuard[float]:
    """Tell whether a JSON value is a number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_integer(value: object) -> TypeGuard[int]:
    """Tell whether a value is an integer; true and false are none, and neither is 1.0."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_empty(value: object) -> bool:
    """Tell whether a field holds nothing: one marked with `exclude_if=is_empty` then stands in no JSON."""
    return value is None or (isinstance(value, tuple | dict) and not value)


def _wrap(value: object) -> object:
    items = value if value is None or isinstance(value, list | tuple) else [value]
    return _tuples(items)


def _tuples(value: object) -> object:
    """Behind a validator function pydantic no longer knows that arrays came from JSON, and refuses lists."""
    if isinstance(value, list | tuple):
        return tuple(_tuples(item) for item in value)
    return {key: _tuples(item) for key, item in value.items()} if isinstance(value, dict) else value


OneOrMany = BeforeValidator(_wrap)
"""Marks a field that may be written as one item or as an array of items."""

Slug: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_.-]{0,127}$")]
"""A name we chose the alphabet of: rule names, scenario ids, list names."""

ServerName: TypeAlias = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9](?:_?[A-Za-z0-9-])*_?$", max_length=63)
]
"""A server's name: letters, digits, `_`, `-`, never `__` (see `servers/endpoint_names.py`)."""

Digest: TypeAlias = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]
"""A SHA-256 in the form `sha256:<64 hex digits>`."""
