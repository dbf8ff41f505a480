"""Checking arguments against a tool's own JSON Schema (step 3).

The schema comes from a server, so it is data from a stranger: its patterns run in RE2 (linear time), a
remote `$ref` is refused, formats are not asserted, and what it makes us do is counted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import re2

from ironcurtain.decision.canonical.plain_values import fits_plainly
from ironcurtain.decision.canonical.pointers import tokens
from ironcurtain.model.metaschema import schema_fault
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import quoted

if TYPE_CHECKING:
    from ironcurtain.decision.canonical.schema_validator import SchemaValidator

_ENDLESS = frozenset({"$ref", "$dynamicRef", "$recursiveRef", "unevaluatedProperties", "unevaluatedItems"})
_MAX_REFERENCES = 8


class UnusableSchemaError(ValueError):
    """The schema cannot be evaluated: it is no schema, or uses what we refuse to evaluate."""


class ArgumentSchema:
    """One tool's input schema, ready to check arguments.

    Attributes:
        schema: The schema.
        cost: How many keywords and elements one value of a call can meet at most, a pattern counting as many
            as it has steps; None where that is not bounded by the schema's size: what refers to another
            place is evaluated once for each way that leads there.
    """

    def __init__(self, schema: dict[str, JsonValue]) -> None:
        """Prepare the schema.

        Raises:
            UnusableSchemaError: If it is no valid JSON Schema, or holds a pattern outside RE2's syntax.
        """
        # The order of keywords is part of the text, since it is the order of what is found wrong.
        self._text = json.dumps(schema)
        self.cost = _cost(self._text)
        self.schema = schema

    @property
    def properties(self) -> dict[str, dict[str, JsonValue]]:
        """The schemas of the top-level arguments that the schema lists, references followed."""
        listed = json_text.members(self._followed(self.schema).get("properties"))
        return {name: self._followed(schema) for name, schema in listed.items() if isinstance(schema, dict)}

    def below(self, schema: dict[str, JsonValue], token: str | None) -> dict[str, JsonValue]:
        """Return the schema of a member (or, for None, of the elements) of what `schema` describes.

        Empty where the schema says nothing plain about it.
        """
        followed = self._followed(schema)
        listed = json_text.members(followed.get("properties"))
        child = followed.get("items") if token is None else listed.get(token)
        return self._followed(child) if isinstance(child, dict) else {}

    def checker(self, schemas: Iterable[JsonValue]) -> Callable[[JsonValue], bool | None]:
        """Return a function that tells whether a value fits some schemas of this one, by the same validator.

        It tells None where that takes too long or refers to what cannot be followed.
        """
        return self._validator.checker(schemas)

    def problems(self, arguments: dict[str, JsonValue]) -> list[str]:
        """Return what is wrong with the arguments, in plain words; empty if they fit (at most five)."""
        return [] if fits_plainly(arguments, self.schema) else self._validator.problems(arguments)

    @cached_property
    def _validator(self) -> SchemaValidator:
        # Its library takes longer to load than all else that decides.
        from ironcurtain.decision.canonical.schema_validator import validator_of  # noqa: PLC0415 - as above

        return validator_of(self._text)

    def _followed(self, schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
        """Return a schema with its local reference laid under it, as far as it can be followed."""
        found = schema
        for _ in range(_MAX_REFERENCES):
            reference = found.get("$ref")
            if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
                return found
            target: JsonValue = self.schema
            for token in tokens(reference[1:]):
                target = target.get(token) if isinstance(target, dict) else None
            if not isinstance(target, dict):
                return found
            found = target | {key: value for key, value in found.items() if key != "$ref"}
        return found


def _cost(text: str) -> int | None:
    """Return what one value can cost a schema (see `ArgumentSchema.cost`).

    Raises:
        UnusableSchemaError: If the schema cannot be evaluated.
    """
    found = _examined(text)
    if isinstance(found, str):
        raise UnusableSchemaError(found)
    return found


@lru_cache(maxsize=1024)
def _examined(text: str) -> int | str | None:
    """Return a schema's cost, or why it cannot be used, by its text: a compile prepares each tool often."""
    schema = json.loads(text)
    if fault := schema_fault(schema):
        return f"no valid JSON Schema: {fault}"
    names: Counter[str] = Counter()
    try:
        programs = _check_patterns(schema, names)
    except UnusableSchemaError as error:
        return str(error)
    except RecursionError:
        return "no valid JSON Schema: it is nested too deeply"
    if {"patternProperties", "unevaluatedProperties"} <= names.keys():
        return "patternProperties together with unevaluatedProperties"
    return None if _ENDLESS & names.keys() else names.total() + programs


def _check_patterns(schema: JsonValue, names: Counter[str]) -> int:
    """Compile every pattern of a schema, and count all names that could be its keywords, and its elements.

    Returns:
        The size of all patterns' programs: what one character can cost.
    """
    if isinstance(schema, list):
        names[""] += len(schema)
        return sum(_check_patterns(child, names) for child in schema)
    if not isinstance(schema, dict):
        return 0
    names.update(schema.keys())
    pattern = schema.get("pattern")
    patterns = [pattern] if isinstance(pattern, str) else []
    patterns += json_text.members(schema.get("patternProperties"))
    programs: int = sum(compiled_pattern(text).programsize for text in patterns)
    return programs + sum(_check_patterns(child, names) for child in schema.values())


def compiled_pattern(pattern: str) -> Any:  # noqa: ANN401 - re2 has no type information
    """Return a schema's pattern, which is searched for.

    Raises:
        UnusableSchemaError: If it is outside RE2's syntax.
    """
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error:
        raise UnusableSchemaError(f"the pattern {quoted(pattern)} is outside RE2's syntax") from None
