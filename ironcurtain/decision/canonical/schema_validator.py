"""Checking values by the library for JSON Schema, which few calls need and which takes long to load.

Patterns run in RE2 (linear time), formats are not asserted, and what a schema makes us do is counted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache
from itertools import islice
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend, validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from ironcurtain.decision.canonical.plain_values import are_texts
from ironcurtain.decision.canonical.pointers import join
from ironcurtain.decision.canonical.schema_patterns import compiled_pattern
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import quoted, visible

_MAX_SHOWN = 5
_MAX_STEPS = 300_000
_COSTS = {"$ref": 20, "$dynamicRef": 20, "$recursiveRef": 20}
_MAX_WORDS = 300


class TooCostlyError(Exception):
    """The schema demands more work than a call is worth."""


class SchemaValidator:
    """A valid schema whose patterns are RE2's, ready to check values."""

    def __init__(self, schema: Any) -> None:  # noqa: ANN401 - JSON that was seen to be a schema
        draft = validator_for(schema, default=Draft202012Validator)
        self._validator = _extended(draft)(schema, registry=Registry())

    def checker(self, schemas: Iterable[JsonValue]) -> Callable[[JsonValue], bool | None]:
        """Return a function that tells whether a value fits some schemas of this one.

        It tells None where that takes too long or refers to what cannot be followed.
        """
        validator = self._validator.evolve(schema={"allOf": list(schemas)})

        def fits(value: JsonValue) -> bool | None:
            _steps.set([0])
            try:
                with _panics_raised():
                    return bool(validator.is_valid(value))
            except (Unresolvable, RecursionError, TooCostlyError):
                return None

        return fits

    def problems(self, arguments: dict[str, JsonValue]) -> list[str]:
        """Return what is wrong with the arguments, in plain words; empty if they fit (at most five)."""
        try:
            return [_in_words(error) for error in self.errors(arguments, _MAX_SHOWN)]
        except (Unresolvable, RecursionError):
            return ["the tool's schema refers to something that cannot be followed"]
        except TooCostlyError:
            return ["the tool's schema takes too long to evaluate for these arguments"]

    def errors(self, value: JsonValue, most: int) -> list[ValidationError]:
        """Return the first errors of a value, as the library says them.

        Raises:
            Unresolvable, RecursionError: If the schema refers to something that cannot be followed.
            TooCostlyError: If it demands more work than a value is worth.
        """
        _steps.set([0])
        with _panics_raised():
            return [*islice(self._validator.iter_errors(value), most)]


@contextmanager
def _panics_raised() -> Iterator[None]:
    """Raise RecursionError where Rust panics: references are kept there, and it too can run out of stack.

    A panic is no Exception, and whoever called would be told nothing.
    """
    try:
        yield
    except BaseException as error:
        if type(error).__name__ == "PanicException":  # its class can be imported from nowhere
            raise RecursionError from error
        raise


@lru_cache(maxsize=1024)
def validator_of(text: str) -> SchemaValidator:
    """Return what checks values by a schema, by its text: a compile prepares each tool often."""
    return SchemaValidator(json.loads(text))


_steps: ContextVar[list[int]] = ContextVar("steps")
"""How much work the running check has done, of all its keywords together."""


@cache
def _extended(draft: Any) -> Any:  # noqa: ANN401 - jsonschema builds its classes at run time
    """Return a draft's validator with our keywords, each counted. Making one is slow, so it is made once."""
    keywords = {**draft.VALIDATORS, **{key: _OURS[key] for key in _OURS if key in draft.VALIDATORS}}
    if "items" in keywords:
        keywords["items"] = _unless_texts(keywords["items"])
    counted = {key: _counted(check, _COSTS.get(key, 1)) for key, check in keywords.items()}
    return extend(draft, counted)  # type: ignore[no-untyped-call]


def _counted(check: Callable[..., Any], cost: int) -> Callable[..., Any]:
    """Count a keyword's evaluations: references can make a small schema grow exponentially."""

    def counted(*arguments: Any) -> Any:  # noqa: ANN401 - jsonschema's signature
        steps = _steps.get()
        steps[0] += cost
        if steps[0] > _MAX_STEPS:
            raise TooCostlyError
        return check(*arguments)

    return counted


def _unless_texts(check: Callable[..., Any]) -> Callable[..., Any]:
    """Answer without the library, which takes 4 µs each, where any text will do and all are texts."""

    def items(validator: Any, schema: Any, instance: Any, around: Any) -> Any:  # noqa: ANN401
        if isinstance(instance, list) and are_texts(instance, schema):
            return ()
        return check(validator, schema, instance, around)

    return items


def _pattern(
    _validator: Any,  # noqa: ANN401 - jsonschema's keyword signature
    pattern: str,
    instance: JsonValue,
    _schema: JsonValue,
) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not compiled_pattern(pattern).search(instance):
        yield ValidationError(f"must match {quoted(pattern)}")


def _pattern_properties(
    validator: Any,  # noqa: ANN401 - jsonschema's keyword signature
    patterns: dict[str, JsonValue],
    instance: JsonValue,
    _schema: JsonValue,
) -> Iterator[ValidationError]:
    if isinstance(instance, dict):
        for pattern, subschema in patterns.items():
            for name in instance:
                if compiled_pattern(pattern).search(name):
                    yield from validator.descend(instance[name], subschema, path=name, schema_path=pattern)


def _additional_properties(
    validator: Any,  # noqa: ANN401 - jsonschema's keyword signature
    additional: JsonValue,
    instance: JsonValue,
    schema: Mapping[str, JsonValue],
) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    known = json_text.members(schema.get("properties"))
    patterns = [compiled_pattern(text) for text in json_text.members(schema.get("patternProperties"))]
    extras = [n for n in instance if n not in known and not any(p.search(n) for p in patterns)]
    for name in extras:
        if additional is False:
            yield ValidationError(f"has no member {quoted(name)}")
        elif isinstance(additional, dict):
            yield from validator.descend(instance[name], additional, path=name)


def _unique_items(
    _validator: Any,  # noqa: ANN401 - jsonschema's keyword signature
    unique: JsonValue,
    instance: JsonValue,
    _schema: JsonValue,
) -> Iterator[ValidationError]:
    # The library compares every two elements, which a long array of mixed types makes endless.
    if unique is True and isinstance(instance, list):
        distinct = {json_text.canonical(item) for item in instance}
        if len(distinct) != len(instance):
            yield ValidationError("holds an element twice")


_OURS = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "uniqueItems": _unique_items,
}


def _in_words(error: ValidationError) -> str:
    place = join(tuple(str(step) for step in error.absolute_path)).removeprefix("/")
    return f"{_cut(visible(place)) or 'the arguments'} {_complaint(error)}"


def _complaint(error: ValidationError) -> str:
    wanted: Any = error.validator_value
    got: Any = error.instance
    if error.validator == "type":
        names = " or ".join(wanted) if isinstance(wanted, list) else wanted
        article = "an" if str(names)[0] in "aio" else "a"
        return f"must be {article} {names} (got {json_text.type_name(got)})"
    if error.validator == "required":
        missing = [name for name in wanted if name not in got]
        return f"must have {', '.join(quoted(name) for name in missing)}"
    if error.validator == "enum":
        return f"must be one of {', '.join(quoted(str(value)) for value in wanted[:20])}"
    shown = error.message[:_MAX_WORDS]
    return shown if error.validator in _OURS else visible(shown)


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_WORDS else f"{text[:_MAX_WORDS]}…"
