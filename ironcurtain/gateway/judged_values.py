"""Whether a handler gets what was judged: arguments as decided on, held against the input made of them.

The policy judges what is written. A model that strips blanks, folds case or decodes makes another value of
that, which no rule has seen and no person approved.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any

from pydantic import BaseModel, JsonValue, RootModel, Secret, SecretBytes, SecretStr
from pydantic_core import to_jsonable_python

from ironcurtain.gateway.roles import UnclearRolesError, told_name

_NO_INPUT = frozenset({"serialization", "metadata", "config"})


def changed_argument(arguments: Mapping[str, JsonValue], given: BaseModel) -> str | None:
    """Return an argument of which validation made another value, or which it made up."""
    for name in sorted(given.model_fields_set):
        told = _told(given, name)
        if told is None or told not in arguments or not _is_kept(arguments[told], getattr(given, name)):
            return told or name
    return None


def _told(model: BaseModel, name: str) -> str | None:
    """Return the name that a member has in a call; None if it can have several."""
    field = type(model).model_fields.get(name)
    try:
        return told_name(name, field) if field is not None else name
    except UnclearRolesError:
        return None


def _is_kept(told: object, held: object) -> bool:  # noqa: PLR0911 - one for each kind of value
    """Tell whether what was written is the value that is held."""
    if isinstance(held, Enum | RootModel):
        return _is_kept(told, held.value if isinstance(held, Enum) else held.root)
    if isinstance(held, BaseModel):
        return isinstance(told, Mapping) and changed_argument(told, held) is None
    if is_dataclass(held) and not isinstance(held, type):
        names = {each.name for each in fields(held)}
        return _are_members(told, {name: getattr(held, name) for name in names & _keys(told)}) and (
            _keys(told) <= names
        )
    if isinstance(held, Mapping):
        return _are_members(told, {str(_written(key)): each for key, each in held.items()})
    if isinstance(held, set | frozenset):
        return isinstance(told, list) and {*map(_text, told)} == {*map(_text, map(_written, held))}
    if isinstance(held, list | tuple):
        pairs = zip(told, held, strict=False) if isinstance(told, list) else ()
        return isinstance(told, list) and len(told) == len(held) and all(_is_kept(*pair) for pair in pairs)
    return _is_same(told, held)


def _keys(told: object) -> set[object]:
    return set(told) if isinstance(told, Mapping) else set()


def _are_members(told: object, held: Mapping[str, object]) -> bool:
    """Tell whether all members that are held were written so."""
    return isinstance(told, Mapping) and all(
        name in told and _is_kept(told[name], each) for name, each in held.items()
    )


def _is_same(told: object, held: object) -> bool:
    """Tell whether a scalar was kept: a number by its value, all else as JSON would write what is held."""
    if isinstance(held, Secret | SecretStr | SecretBytes):
        held = held.get_secret_value()
    if type(told) in (int, float) and isinstance(held, int | float | Decimal) and type(held) is not bool:
        return Decimal(repr(told)) == (held if isinstance(held, Decimal) else Decimal(repr(held)))
    written = _written(held)
    return type(written) is type(told) and written == told


def _written(held: object) -> object:
    """Return a value as JSON writes it; itself where JSON cannot."""
    if isinstance(held, PurePath):
        return str(held)
    try:
        return to_jsonable_python(held)
    except (ValueError, TypeError):
        return held


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True, default=repr)


def changing(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """Yield the arguments of which validation can make other values, each with how, once."""
    yield from dict.fromkeys(_changing(model.__pydantic_core_schema__, ()))


def _changing(schema: Any, at: tuple[str, ...]) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - pydantic's own
    """Yield the same of what one part of a model's schema describes."""
    if isinstance(schema, list):
        for each in schema:
            yield from _changing(each, at)
    if not isinstance(schema, dict):
        return
    yield from ((".".join(at) or "the input", how) for how in _ways(schema))
    for word, below in schema.items():
        if word == "fields" and isinstance(below, dict):
            for name, each in below.items():
                alias = each.get("validation_alias")
                yield from _changing(each, (*at, alias if isinstance(alias, str) else name))
        elif word not in _NO_INPUT:
            yield from _changing(below, at)


def _ways(schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield how one node of a schema can change a value."""
    kind = schema.get("type")
    if kind in ("str", "model"):
        flags = {**schema.get("config", {}), **schema}
        yield from (how for word, how in _CHANGES.items() if flags.get(word) or flags.get(f"str_{word}"))
    if kind in ("function-before", "function-after", "function-wrap", "function-plain"):
        yield "passes it to a validator"


_CHANGES = {
    "strip_whitespace": "strips blanks",
    "to_lower": "writes it in lower case",
    "to_upper": "writes it in upper case",
}
