"""Checking arguments against a tool's own JSON Schema (step 3).

The schema comes from a server, so it is data from a stranger: its patterns run in RE2 (linear time), a
remote `$ref` is refused, and formats are not asserted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import re2
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.validators import extend, validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from ironcurtain.canonical.pointers import join
from ironcurtain.model.base import Json
from ironcurtain.text import quoted, visible

_MAX_SHOWN = 5
_TYPE_NAMES = (
    (bool, "boolean"),
    (str, "string"),
    (int | float, "number"),
    (list, "array"),
    (dict, "object"),
)


class UnusableSchemaError(ValueError):
    """The schema cannot be evaluated: it is no schema, or uses what we refuse to evaluate."""


class ArgumentSchema:
    """One tool's input schema, ready to check arguments."""

    def __init__(self, schema: dict[str, Json]) -> None:
        """Prepare the schema.

        Raises:
            UnusableSchemaError: If it is no valid JSON Schema, or holds a pattern outside RE2's syntax.
        """
        draft = validator_for(schema, default=Draft202012Validator)
        try:
            draft.check_schema(schema)
        except (SchemaError, RecursionError) as error:
            raise UnusableSchemaError(
                f"no valid JSON Schema: {visible(str(error).splitlines()[0])}"
            ) from None
        _check_patterns(schema)
        self.schema = schema
        self._validator = _extended(draft)(schema, registry=Registry())

    @property
    def properties(self) -> dict[str, Json]:
        """The schemas of the top-level arguments that the schema lists."""
        listed = self.schema.get("properties", {})
        return {name: schema for name, schema in listed.items() if isinstance(schema, dict)}

    def problems(self, arguments: dict[str, Json]) -> list[str]:
        """Return what is wrong with the arguments, in plain words; empty if they fit (at most five)."""
        try:
            errors = sorted(self._validator.iter_errors(arguments), key=lambda e: [str(s) for s in e.path])
        except (Unresolvable, RecursionError):
            return ["the tool's schema refers to something that cannot be followed"]
        return [_in_words(error) for error in errors[:_MAX_SHOWN]]


def permits_null(schema: Json) -> bool:
    """Tell whether an argument's schema accepts null."""
    return isinstance(schema, dict) and Draft202012Validator(schema, registry=Registry()).is_valid(None)


def type_name(value: Json) -> str:
    """Return the JSON name of a value's type."""
    return next((name for kind, name in _TYPE_NAMES if isinstance(value, kind)), "null")


def _extended(draft: Any) -> Any:  # noqa: ANN401 - jsonschema builds its classes at run time
    return extend(draft, _IN_RE2)  # type: ignore[no-untyped-call]


def _check_patterns(schema: Json) -> None:
    if isinstance(schema, list):
        for child in schema:
            _check_patterns(child)
    if not isinstance(schema, dict):
        return
    patterns = [schema["pattern"]] if isinstance(schema.get("pattern"), str) else []
    if isinstance(schema.get("patternProperties"), dict):
        patterns += list(schema["patternProperties"])
        if "unevaluatedProperties" in schema:
            raise UnusableSchemaError("patternProperties together with unevaluatedProperties")
    for pattern in patterns:
        _compile(pattern)
    for child in schema.values():
        _check_patterns(child)


def _compile(pattern: str) -> Any:  # noqa: ANN401 - re2 has no type information
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error:
        raise UnusableSchemaError(f"the pattern {quoted(pattern)} is outside RE2's syntax") from None


def _pattern(
    _validator: Any,  # noqa: ANN401 - jsonschema's keyword signature
    pattern: str,
    instance: Json,
    _schema: Json,
) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not _compile(pattern).search(instance):
        yield ValidationError(f"must match {quoted(pattern)}")


def _pattern_properties(
    validator: Any,  # noqa: ANN401 - jsonschema's keyword signature
    patterns: dict[str, Json],
    instance: Json,
    _schema: Json,
) -> Iterator[ValidationError]:
    if isinstance(instance, dict):
        for pattern, subschema in patterns.items():
            for name in instance:
                if _compile(pattern).search(name):
                    yield from validator.descend(instance[name], subschema, path=name, schema_path=pattern)


def _additional_properties(
    validator: Any,  # noqa: ANN401 - jsonschema's keyword signature
    additional: Json,
    instance: Json,
    schema: Json,
) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    known = schema.get("properties", {})
    patterns = [_compile(pattern) for pattern in schema.get("patternProperties", {})]
    extras = [n for n in instance if n not in known and not any(p.search(n) for p in patterns)]
    for name in extras:
        if additional is False:
            yield ValidationError(f"has no member {quoted(name)}")
        elif isinstance(additional, dict):
            yield from validator.descend(instance[name], additional, path=name)


_IN_RE2 = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
}


def _in_words(error: ValidationError) -> str:
    where = visible(join(tuple(str(step) for step in error.absolute_path)).lstrip("/")) or "the arguments"
    return f"{where} {_complaint(error)}"


def _complaint(error: ValidationError) -> str:
    wanted: Any = error.validator_value
    got: Any = error.instance
    if error.validator == "type":
        names = " or ".join(wanted) if isinstance(wanted, list) else wanted
        article = "an" if str(names)[0] in "aio" else "a"
        return f"must be {article} {names} (got {type_name(got)})"
    if error.validator == "required":
        missing = [name for name in wanted if name not in got]
        return f"must have {', '.join(quoted(name) for name in missing)}"
    if error.validator == "enum":
        return f"must be one of {', '.join(quoted(str(value)) for value in wanted[:20])}"
    return visible(error.message)[:300]
