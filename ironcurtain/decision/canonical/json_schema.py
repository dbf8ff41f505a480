"""Checking arguments against a tool's own JSON Schema (step 3).

The schema comes from a server, so it is data from a stranger: its patterns run in RE2 (linear time), a
remote `$ref` is refused, formats are not asserted, and what it makes us do is counted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING

from ironcurtain.decision.canonical.plain_values import definitions_of, fits_plainly, plain_schema
from ironcurtain.decision.canonical.pointers import tokens
from ironcurtain.decision.canonical.schema_patterns import UnusableSchemaError, compiled_pattern
from ironcurtain.model.metaschema import schema_fault
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue

if TYPE_CHECKING:
    from ironcurtain.decision.canonical.schema_validator import SchemaValidator

_ENDLESS = frozenset({"$ref", "$dynamicRef", "$recursiveRef", "unevaluatedProperties", "unevaluatedItems"})
_MAX_REFERENCES = 8


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
        self._plain = plain_schema(schema)
        self._definitions = definitions_of(schema)

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
        """Return a function that tells whether a value fits some schemas of this one, as the validator would.

        It tells None where that takes too long or refers to what cannot be followed.
        """
        parts = tuple(schemas)
        validated = cache(lambda: self._validator.checker(parts))

        def fits(value: JsonValue) -> bool | None:
            said = fits_plainly(value, parts, self._definitions) if self._plain is not None else None
            return validated()(value) if said is None else said

        return fits

    def fits(self, arguments: dict[str, JsonValue]) -> bool:
        """Tell whether the arguments fit."""
        said = self._fits_plainly(arguments)
        return not self._validator.problems(arguments) if said is None else said

    def problems(self, arguments: dict[str, JsonValue]) -> list[str]:
        """Return what is wrong with the arguments, in plain words; empty if they fit (at most five)."""
        return [] if self._fits_plainly(arguments) else self._validator.problems(arguments)

    def _fits_plainly(self, arguments: dict[str, JsonValue]) -> bool | None:
        if self._plain is None:
            return None
        return fits_plainly(arguments, [self._plain], self._definitions)

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
