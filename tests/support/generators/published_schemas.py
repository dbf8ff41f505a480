"""Published schemas, written in the other ways that servers write schemas.

What one list happens not to hold another server's may: optional values behind `anyOf`, references that come
back to themselves, objects that demand siblings deep inside, bounds near the largest number of a call,
enumerations, defaults that fit nothing, and keywords that tie arguments to each other.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from random import Random
from typing import Any

from ironcurtain.compiler.annotate.schema_leaves import schema_leaves

Schema = dict[str, Any]
LARGEST = (1 << 53) - 1
MOST_PLACES = 120
_ENUMERATED: list[list[Any]] = [
    ["soft", "hard", None],
    ["a", "b/c", "..", "../x", "."],
    ["~/a/x", "/srv/z", "/etc/hosts", None],
    ["~/a", "rel/x", "/srv/../etc"],
    ["alice@example.com", "bob@example.com"],
    ["acme/shop", "else/shop", "acme"],
    ["secret", 7, True, ["a"], {"k": "a"}, None],
    [["a"], ["a", "b"], []],
]
_TEXTS: list[Schema] = [
    {"type": "string", "maxLength": 3},
    {"type": "string", "minLength": 2, "maxLength": 12, "format": "email"},
    {"type": "string", "pattern": "(?i)^[a-k]+"},
    {"type": "string", "pattern": "^/srv/"},
    {"type": "string", "not": {"const": "secret"}},
    {"type": "string", "default": 5},
    {"type": ["string", "null"], "default": "/srv/c/x"},
    {"allOf": [{"type": "string"}, {"maxLength": 8}], "default": "hard"},
    {"anyOf": [{"type": "string", "maxLength": 2}, {"type": "string", "pattern": "^se"}]},
    {"oneOf": [{"type": "integer"}, {"type": "string", "maxLength": 2}]},
    {"oneOf": [{"minimum": 2}, {"maximum": 3}, {"type": "string"}]},
]
_NUMBERS: list[Schema] = [
    {"type": "number", "minimum": -LARGEST, "maximum": LARGEST},
    {"type": "number", "exclusiveMinimum": 0.1, "exclusiveMaximum": 0.30000000000000004},
    {"type": "integer", "minimum": 9007199254740990, "maximum": 1e300},
    {"type": "integer", "minimum": 1, "exclusiveMaximum": 5},
    {"type": "number", "multipleOf": 0.1},
    {"type": "number", "multipleOf": 0.5, "minimum": -2.5},
    {"type": ["integer", "null"], "multipleOf": 3, "maximum": -1e-7},
    {"type": "number", "default": 5e-324, "maximum": 1e-300},
]
_LISTS: list[Schema] = [
    {"type": "array", "items": {"type": ["string", "null"]}, "uniqueItems": True},
    {"type": "array", "items": {"$ref": "#/$defs/Text"}, "minItems": 1, "maxItems": 2},
    {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/Text"}}, {"type": "null"}], "default": None},
    {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
    {"type": ["array", "null"], "items": {"type": "number"}, "minItems": 2},
    {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": {"type": "string"}},
    {"type": "array", "items": {"type": "object", "properties": {"k": {"type": "string"}}}},
    {"type": "array", "items": {"enum": ["alice@example.com", "a"]}, "maxItems": 1, "default": ["b"]},
    {"type": "array"},
]
_OBJECTS: list[Schema] = [
    {"type": "object"},
    {},
    {"type": "object", "additionalProperties": {"type": "string", "maxLength": 3}},
    {"type": "object", "additionalProperties": {"type": ["number", "null"]}, "minProperties": 1},
    {"type": "object", "patternProperties": {"^x": {"type": "integer"}}, "additionalProperties": False},
    {
        "type": "object",
        "properties": {"level": {"type": ["integer", "null"]}, "name": {"$ref": "#/$defs/Text"}},
        "required": ["level"],
        "additionalProperties": False,
    },
    {"anyOf": [{"type": "object", "properties": {"k": {"const": "a"}}}, {"type": "null"}]},
]
_NODE: Schema = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]},
        "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
    },
    "required": ["name"],
}


def varied(random: Random, schema: Schema) -> Schema:
    """Return a schema with one to three of its arguments, or the whole, written in another way."""
    made = copy.deepcopy(schema)
    made.setdefault("properties", {})
    for _ in range(random.choice([1, 1, 2, 3])):
        names = sorted(made["properties"])
        if names and random.random() < 0.75:
            name = random.choice(names)
            made["properties"][name] = random.choice(_CHANGES)(random, made["properties"][name])
        elif random.random() < 0.7:
            made["properties"][random.choice(["extra", "q", "tree/top", "m~n"])] = _drawn(random, {})
        else:
            _tie(random, made)
    if "#/$defs/Text" in json.dumps(made):
        made.setdefault("$defs", {})["Text"] = {"type": "string"}
    if "#/$defs/Node" in json.dumps(made):
        made.setdefault("$defs", {})["Node"] = copy.deepcopy(_NODE)
    return made if len(schema_leaves(made)) <= MOST_PLACES else schema


def _drawn(random: Random, _: Schema) -> Schema:
    """Return a schema that has nothing to do with what stood there."""
    pool = random.choice([_TEXTS, _NUMBERS, _LISTS, _OBJECTS])
    return copy.deepcopy(random.choice(pool))


def _enumerated(random: Random, _: Schema) -> Schema:
    values = random.choice(_ENUMERATED)
    found: Schema = {"enum": values}
    if random.random() < 0.3:
        found["default"] = random.choice([*values, "dry"])
    return found


def _nullable(random: Random, old: Schema) -> Schema:
    either: Schema = {"anyOf": [old, {"type": "null"}]}
    return {**either, "default": None} if random.random() < 0.6 else either


def _nested(random: Random, old: Schema) -> Schema:
    """Return an object that holds the value, and demands siblings deep inside."""
    size = {"type": "object", "properties": {"n": random.choice(_NUMBERS)}, "required": ["n"]}
    deep: Schema = {
        "type": "object",
        "properties": {"key": {"type": "string", "minLength": 1}, "size": size, "value": old},
        "required": random.sample(["key", "size", "value"], random.choice([1, 2, 3])),
    }
    if random.random() < 0.5:
        return {"type": "object", "properties": {"deep": deep}, "required": ["deep"]}
    held = {"deep": deep, "kind": {"const": "a"}}
    item = {"type": "object", "properties": held, "required": ["deep", "kind"]}
    return {"type": "array", "items": item, "minItems": random.choice([0, 1])}


def _recursive(random: Random, _: Schema) -> Schema:
    return random.choice(
        [
            {"$ref": "#/$defs/Node"},
            {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]},
            {"type": "array", "items": {"$ref": "#/$defs/Node"}, "minItems": 1},
        ]
    )


def _either(random: Random, old: Schema) -> Schema:
    """Return alternatives of the value and of something else."""
    return {random.choice(["anyOf", "oneOf"]): [old, _drawn(random, {})]}


_CHANGES: list[Callable[[Random, Schema], Schema]] = [
    _drawn, _drawn, _enumerated, _enumerated, _nullable, _nested, _nested, _recursive, _either,
]  # fmt: skip


def _tie(random: Random, schema: Schema) -> None:
    """Let the whole schema tie arguments to each other."""
    names = sorted(schema["properties"])
    if len(names) < 2:
        return
    one, other = random.sample(names, 2)
    kind = random.choice(["not", "one", "dependent", "if"])
    if kind == "not":
        schema["not"] = {"required": [one, other]}
    elif kind == "one":
        schema["oneOf"] = [{"required": [one]}, {"required": [other]}]
    elif kind == "dependent":
        schema["dependentRequired"] = {one: [other]}
    else:
        schema["if"] = {"required": [one]}
        schema["then"] = {"properties": {other: random.choice(_TEXTS)}}
