"""Random values of a JSON Schema, made without the evidence engine and held against `jsonschema`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, TypeAlias, TypeGuard

from jsonschema import Draft202012Validator

from ironcurtain.decision.canonical import pointers

Schema = dict[str, Any]
Steps: TypeAlias = tuple[str, ...]
LARGEST = (1 << 53) - 1
_TEXTS = [
    "",
    "a",
    "x1",
    "other",
    "secret",
    "the SECRET\nline",
    "2026-11-22",
    "https://example.com/a",
    "a@b.test",
    "7",
    "ÄÖ",
    "a/b",
    "00000000-0000-4000-8000-000000000000",
    "main",
    "abcdef0",
    "v1.2",
    "2026-11-22T10:00:00Z",
    "soft",
    "a SECRET\nb",
    "x" * 12,
    "K",
    "\u017f",
    "Straße",
]
_NUMBERS = [-1, 0, 1, 2, 3, 7, 10, 50, 51, 99, 100, 101, 1000, 0.5, 2.25]
_EXTREME = [LARGEST, -LARGEST, LARGEST - 1, 4503599627370496.5, 1e15, -1e-300, 5e-324, 0.1 + 0.2, -0.0, 1e-7]
_CONTAINERS: list[Any] = [[], {}, [[]], ["a"], ["a", "b"], [1, 1.5], [None], {"k": "a"}, {"k": None}]
_TYPES = {str: "string", bool: "boolean", list: "array", dict: "object", type(None): "null"}
_DEPTH = 6
_TRIES = 12


class Values:
    """Makes values of the places of one tool's schema.

    Args:
        schema: The tool's input schema.
        pool: Values to prefer anywhere: what rules compare with, and resources.
        near: By place, values that stand at a boundary of what rules say of it.
    """

    def __init__(
        self, schema: Schema, pool: Sequence[Any], near: Mapping[Steps, Sequence[Any]] | None = None
    ) -> None:
        self._root = schema
        self._pool = list(pool)
        self._near = near or {}
        self._checker = Draft202012Validator(schema)

    def arguments(self, random: Random, places: Mapping[Steps, Sequence[Any]]) -> dict[str, Any] | None:
        """Return valid arguments, None if a few tries made none.

        Args:
            random: The source of chance.
            places: By place, values that are tried there more often than others.
        """
        for _ in range(_TRIES):
            made = self._object(random, self._root, (), places)
            if self.is_valid(made):
                return made
        return None

    def is_valid(self, arguments: dict[str, Any]) -> bool:
        """Tell whether the schema takes arguments."""
        return self._checker.is_valid(arguments)

    def defaults(self, steps: Steps) -> list[Any]:
        """Return what is filled in for an absent top-level argument, nothing for what lies below one."""
        schema = self._root.get("properties", {}).get(steps[0], {})
        return [schema["default"]] if len(steps) == 1 and schema.get("default") is not None else []

    def value(
        self,
        random: Random,
        schema: Any,
        steps: Steps = (),
        places: Mapping[Steps, Sequence[Any]] | None = None,
    ) -> Any:
        """Return a value that the schema probably takes, near a boundary where one is known."""
        places = places or {}
        if not isinstance(schema, dict) or len(steps) > 2 * _DEPTH:
            return random.choice([None, True, 1, "a"])
        schema = self._resolved(random, schema)
        for listed, share in ((places.get(steps), 0.8), (self._near.get(steps), 0.5)):
            if listed and random.random() < share:
                value = random.choice(listed)
                if _is_of_type(value, schema):
                    return value
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return random.choice(schema["enum"])
        if "default" in schema and random.random() < 0.2:
            return schema["default"]
        kinds = schema.get("type", ["string", "integer", "boolean", "array", "object"])
        kind = random.choice(kinds) if isinstance(kinds, list) else kinds
        return self._of_kind(random, kind, schema, steps, places)

    def _resolved(self, random: Random, schema: Schema) -> Schema:
        """Follow references and choose one of each set of alternatives."""
        for _ in range(_DEPTH):
            if "$ref" in schema:
                target = self._root
                for token in pointers.tokens(schema["$ref"].removeprefix("#")):
                    target = target.get(token, {})
                schema = {**target, **{k: v for k, v in schema.items() if k != "$ref"}}
            key = next((k for k in ("anyOf", "oneOf", "allOf") if schema.get(k)), None)
            if key is None:
                if "$ref" not in schema:
                    return schema
                continue
            parts = schema[key] if key == "allOf" else [random.choice(schema[key])]
            schema = {k: v for k, v in schema.items() if k != key}
            for part in parts:
                schema = {**schema, **part}
        return schema

    def _of_kind(
        self, random: Random, kind: str, schema: Schema, steps: Steps, places: Mapping[Steps, Sequence[Any]]
    ) -> Any:
        if kind == "string":
            return self._text(random, schema)
        if kind in ("integer", "number"):
            return self._number(random, kind, schema)
        if kind == "boolean":
            return random.random() < 0.5
        if kind == "array":
            least = schema.get("minItems", 0)
            most = 3 if len(steps) < _DEPTH else 0
            count = random.randint(least, max(least, min(schema.get("maxItems", least + most), least + most)))
            below = (*steps, pointers.EVERY)
            first = schema.get("prefixItems", [])
            rest = schema.get("items", {})
            return [
                self.value(random, first[n] if n < len(first) else rest, below, places) for n in range(count)
            ]
        return self._object(random, schema, steps, places) if kind == "object" else None

    def _text(self, random: Random, schema: Schema) -> str:
        texts = [each for each in self._pool if isinstance(each, str)]
        for _ in range(_TRIES):
            text: str = random.choice(texts if texts and random.random() < 0.5 else _TEXTS)
            if random.random() < 0.1:
                text += random.choice(["x", "/", " ", "\n", "é"])
            longest, shortest = schema.get("maxLength"), schema.get("minLength", 0)
            if longest is not None:
                text = text[:longest] + "x" * (random.random() < 0.2 and longest - len(text))
            text += "x" * (shortest - len(text))
            if Draft202012Validator(
                {k: v for k, v in schema.items() if k in ("pattern", "maxLength")}
            ).is_valid(text):
                return text
        return "x"

    def _number(self, random: Random, kind: str, schema: Schema) -> float:
        numbers = [n for n in self._pool if _is_number(n)]
        edges = [schema[key] for key in _BOUNDS if _is_number(schema.get(key))]
        found: float = random.choice(
            [
                *_NUMBERS,
                *(near for n in [*numbers, *edges, *edges] for near in around(n)),
                *(_EXTREME if random.random() < 0.3 else ()),
            ]
        )
        step = schema.get("multipleOf")
        if step is not None and _is_number(step) and random.random() < 0.8:
            found = round(found / step) * step
        return int(found) if kind == "integer" else found

    def _object(
        self, random: Random, schema: Schema, steps: Steps, places: Mapping[Steps, Sequence[Any]]
    ) -> dict[str, Any]:
        made = {}
        share = random.choice([0.2, 0.6, 0.9]) if len(steps) < _DEPTH else 0
        for name, below in schema.get("properties", {}).items():
            if name in schema.get("required", []) or random.random() < share:
                made[name] = self.value(random, below, (*steps, name), places)
        others = schema.get("additionalProperties", True)
        if others is not False and (steps or not made) and random.random() < 0.3:
            named = [s[len(steps)] for s in self._near if s[: len(steps)] == steps and len(s) > len(steps)]
            for name in random.sample(["k", "x1", *named], 1):
                made.setdefault(name, self.value(random, others, (*steps, name), places))
        return made


_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")


def around(number: float) -> list[float]:
    """Return what lies at and beside a number: the nearest doubles, and the nearest whole numbers."""
    low, high = math.nextafter(number, -math.inf), math.nextafter(number, math.inf)
    whole = [math.floor(number) - 1, math.floor(number), math.ceil(number), math.ceil(number) + 1]
    return [n for n in (number, number, low, high, *whole, -number) if abs(n) <= LARGEST]


def boundaries(test: Mapping[str, Any]) -> Iterator[Any]:
    """Yield values at the boundaries of what a test names."""
    value, op = test["value"], test["op"]
    if op == "present" or (isinstance(value, dict) and len(value) == 1 and {*value} & {"arg", "caller"}):
        yield from (None, "", [], {}, False, 0)
        return
    for one in value if op in ("in", "not_in") else [value]:
        if "measure" in test and _is_number(one):
            for count in {max(0, math.floor(one) + offset) for offset in (-1, 0, 1, 2)}:
                yield "é" * min(count, 400) if test["measure"] == "length" else ["a"] * min(count, 40)
        elif op == "matches" and isinstance(one, str):
            yield from _beside(re.sub(r"\(\?\w+\)|[.*+?^$|()\[\]\\]", "", one))
        else:
            yield from (one, one, *changed(one))


def changed(value: Any) -> Iterator[Any]:
    """Yield values that differ little."""
    if isinstance(value, list):
        yield from ([*value, *value[:1]], value[:-1], value[::-1], [*value, "a"], [*value, None], [value])
    elif isinstance(value, dict):
        yield from ({**value, "k": "a"}, dict(list(value.items())[1:]), {**value, "zz": None}, [value])
    elif isinstance(value, str):
        yield from _beside(value)[2:]
    elif _is_number(value):
        yield from (*around(value), str(value))
    else:
        yield from (not value, str(value), [])


def containers() -> list[Any]:
    """Return arrays and objects to compare with."""
    return list(_CONTAINERS)


def extremes() -> list[float]:
    """Return numbers at the ends of what a call can hold, and where doubles are coarse or fine."""
    return list(_EXTREME)


def _beside(text: str) -> list[str]:
    return [text, text, text[:-1], f"{text}x", f"x{text}", f"{text}\n", text.swapcase(), f" {text}"]


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_of_type(value: Any, schema: Schema) -> bool:
    kinds = schema.get("type")
    if kinds is None:
        return True
    listed = kinds if isinstance(kinds, list) else [kinds]
    if _is_number(value):
        return "number" in listed or ("integer" in listed and float(value).is_integer())
    return _TYPES.get(type(value)) in listed
