"""Checking arguments against a tool's own JSON Schema (step 3).

The schema comes from a server, so it is data from a stranger: its patterns run in RE2 (linear time), a
remote `$ref` is refused, formats are not asserted, and what it makes us do is counted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice
from typing import Any

import re2
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend, validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from ironcurtain.decision.canonical.plain_values import are_texts, fits_plainly
from ironcurtain.decision.canonical.pointers import join, tokens
from ironcurtain.model.metaschema import schema_fault
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import quoted, visible

_MAX_SHOWN = 5
_MAX_STEPS = 300_000
_ENDLESS = frozenset({"$ref", "$dynamicRef", "$recursiveRef", "unevaluatedProperties", "unevaluatedItems"})
_COSTS = {"$ref": 20, "$dynamicRef": 20, "$recursiveRef": 20}
_MAX_REFERENCES = 8
_MAX_WORDS = 300


class UnusableSchemaError(ValueError):
    """The schema cannot be evaluated: it is no schema, or uses what we refuse to evaluate."""


class _TooCostlyError(Exception):
    """The schema demands more work than a call is worth."""


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
        # The order of keywords is part of the key, since it is the order of what is found wrong.
        prepared = _prepared(json.dumps(schema))
        if isinstance(prepared, str):
            raise UnusableSchemaError(prepared)
        self.schema = schema
        self._validator = prepared.validator
        self.cost = prepared.cost

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
        validator = self._validator.evolve(schema={"allOf": list(schemas)})

        def fits(value: JsonValue) -> bool | None:
            _steps.set([0])
            try:
                return bool(validator.is_valid(value))
            except (Unresolvable, RecursionError, _TooCostlyError):
                return None

        return fits

    def problems(self, arguments: dict[str, JsonValue]) -> list[str]:
        """Return what is wrong with the arguments, in plain words; empty if they fit (at most five)."""
        if fits_plainly(arguments, self.schema):
            return []
        try:
            return [_in_words(error) for error in islice(self._errors(arguments), _MAX_SHOWN)]
        except (Unresolvable, RecursionError):
            return ["the tool's schema refers to something that cannot be followed"]
        except _TooCostlyError:
            return ["the tool's schema takes too long to evaluate for these arguments"]

    def _errors(self, arguments: dict[str, JsonValue]) -> Iterator[ValidationError]:
        _steps.set([0])
        yield from self._validator.iter_errors(arguments)

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
            raise _TooCostlyError
        return check(*arguments)

    return counted


def _unless_texts(check: Callable[..., Any]) -> Callable[..., Any]:
    """Answer without the library, which takes 4 µs each, where any text will do and all are texts."""

    def items(validator: Any, schema: Any, instance: Any, around: Any) -> Any:  # noqa: ANN401
        if isinstance(instance, list) and are_texts(instance, schema):
            return ()
        return check(validator, schema, instance, around)

    return items


@dataclass(frozen=True)
class _Prepared:
    """A schema's validator, and what one value can cost it (see `ArgumentSchema.cost`)."""

    validator: Any
    cost: int | None


@lru_cache(maxsize=1024)
def _prepared(text: str) -> _Prepared | str:
    """Return a schema ready to use, or why it cannot be, by content: a compile prepares each tool often."""
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
    draft = validator_for(schema, default=Draft202012Validator)
    cost = None if _ENDLESS & names.keys() else names.total() + programs
    return _Prepared(_extended(draft)(schema, registry=Registry()), cost)


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
