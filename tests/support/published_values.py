"""Random values of a JSON Schema, made without the evidence engine and held against `jsonschema`."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from jsonschema import Draft202012Validator

from ironcurtain.canonical import pointers

Schema = dict[str, Any]
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
]
_NUMBERS = [-1, 0, 1, 2, 3, 7, 10, 50, 51, 99, 100, 101, 1000, 0.5, 2.25]
_DEPTH = 6
_TRIES = 12


class Values:
    """Makes values of the places of one tool's schema.

    Args:
        schema: The tool's input schema.
        pool: Values to prefer: what rules compare with, and resources.
    """

    def __init__(self, schema: Schema, pool: Sequence[Any]) -> None:
        self._root = schema
        self._pool = list(pool)
        self._checker = Draft202012Validator(schema)

    def arguments(self, random: Random, places: dict[str, Sequence[Any]]) -> dict[str, Any] | None:
        """Return valid arguments, None if a few tries made none.

        Args:
            random: The source of chance.
            places: By top-level argument, values that are tried there more often than others.
        """
        for _ in range(_TRIES):
            made = self._object(random, self._root, 0, places)
            if self._checker.is_valid(made):
                return made
        return None

    def value(self, random: Random, schema: Any, depth: int = 0) -> Any:
        """Return a value that the schema probably takes."""
        if not isinstance(schema, dict) or depth > _DEPTH:
            return random.choice([None, True, 1, "a"])
        schema = self._resolved(random, schema)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return random.choice(schema["enum"])
        if "default" in schema and random.random() < 0.2:
            return schema["default"]
        kinds = schema.get("type", ["string", "integer", "boolean", "array", "object"])
        kind = random.choice(kinds) if isinstance(kinds, list) else kinds
        return self._of_kind(random, kind, schema, depth)

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

    def _of_kind(self, random: Random, kind: str, schema: Schema, depth: int) -> Any:
        if kind == "string":
            return self._text(random, schema)
        if kind in ("integer", "number"):
            return self._number(random, kind, schema)
        if kind == "boolean":
            return random.random() < 0.5
        if kind == "array":
            least = schema.get("minItems", 0)
            count = random.randint(least, max(least, min(schema.get("maxItems", least + 3), least + 3)))
            return [self.value(random, schema.get("items", {}), depth + 1) for _ in range(count)]
        return self._object(random, schema, depth, {}) if kind == "object" else None

    def _text(self, random: Random, schema: Schema) -> str:
        texts = [each for each in self._pool if isinstance(each, str)]
        for _ in range(_TRIES):
            text = random.choice(texts if texts and random.random() < 0.5 else _TEXTS)
            if random.random() < 0.1:
                text += random.choice(["x", "/", " ", "\n", "é"])
            text = text[: schema["maxLength"]] if "maxLength" in schema else text
            text += "x" * (schema.get("minLength", 0) - len(text))
            if Draft202012Validator(
                {k: v for k, v in schema.items() if k in ("pattern", "maxLength")}
            ).is_valid(text):
                return text
        return "x"

    def _number(self, random: Random, kind: str, schema: Schema) -> float:
        numbers = [n for n in self._pool if isinstance(n, int | float) and not isinstance(n, bool)]
        near = [n + offset for n in numbers for offset in (-1, 0, 1)]
        edges = [schema[key] for key in ("minimum", "maximum") if key in schema]
        found: float = random.choice([*_NUMBERS, *near, *near, *edges])
        return int(found) if kind == "integer" else found

    def _object(
        self, random: Random, schema: Schema, depth: int, places: dict[str, Sequence[Any]]
    ) -> dict[str, Any]:
        made = {}
        share = random.choice([0.2, 0.6, 0.9])
        for name, below in schema.get("properties", {}).items():
            if name in schema.get("required", []) or random.random() < share:
                preferred = places.get(name)
                is_listed = preferred and random.random() < 0.8
                made[name] = random.choice(preferred) if is_listed and preferred else None
                if not is_listed:
                    made[name] = self.value(random, below, depth + 1)
        if not schema.get("properties") and schema.get("additionalProperties") is not False:
            made |= {"k": random.choice(_TEXTS)} if random.random() < 0.3 else {}
        return made
