"""Random tools with schemas as servers write them, random policies over them, and random calls.

Optional lists behind `anyOf`, references, lengths, formats that nobody asserts, enumerations, expressions
with flags, and defaults that are none of what their schema or role says.
"""

from __future__ import annotations

from random import Random
from typing import Any

from ironcurtain.bundle.archive import Bundle
from ironcurtain.model.scenarios import DescribedWorld
from ironcurtain.pipeline.assemble import Release, assemble
from ironcurtain.roles.registry import Registry
from support.policies import annotations, compiled

WORLD = DescribedWorld(home="/home/user", sandbox="/home/user/box")
DEFS = {
    "Text": {"type": "string"},
    "People": {"type": "array", "items": {"$ref": "#/$defs/Text"}},
    "Mode": {"enum": ["soft", "hard", None]},
    "Options": {
        "type": "object",
        "properties": {"level": {"type": ["integer", "null"]}, "name": {"$ref": "#/$defs/Text"}},
        "required": ["level"],
    },
}
PEOPLE = ["alice@example.com", "bob@example.com", "eve@evil.example"]
PATHS = ["/srv/a", "/srv/a/b", "/srv/c", "/home/user/d", "/home/user/box/x", "/etc/p", "~/d/e", "b", "/s"]
WORDS = [
    "",
    "a",
    "ab",
    "secret",
    "a SECRET\nb",
    "zzz",
    "K",
    "\u017f",
    "12",
    "x" * 12,
    "soft",
    "hard",
    "Straße",
]
SHAPES: list[dict[str, Any]] = [
    {"type": "string"},
    {"type": ["string", "null"], "default": None},
    {"anyOf": [{"type": "string"}, {"type": "null"}], "default": "soft"},
    {"$ref": "#/$defs/Text"},
    {"$ref": "#/$defs/Mode"},
    {"allOf": [{"$ref": "#/$defs/Mode"}], "default": "hard"},
    {"enum": ["soft", "hard"], "default": "dry"},
    {"type": "string", "maxLength": 3},
    {"type": "string", "minLength": 2, "maxLength": 12, "format": "email"},
    {"type": "string", "pattern": "(?i)^[a-k]+"},
    {"type": "string", "not": {"const": "secret"}},
    {"type": "integer", "minimum": 1, "exclusiveMaximum": 5},
    {"type": "number", "multipleOf": 0.5},
    {"oneOf": [{"type": "integer"}, {"type": "string", "maxLength": 2}]},
    {"oneOf": [{"minimum": 2}, {"maximum": 3}, {"type": "string"}]},
    {"type": "array", "items": {"type": ["string", "null"]}, "uniqueItems": True},
    {"type": "array", "items": {"$ref": "#/$defs/Text"}, "minItems": 1, "maxItems": 2},
    {"anyOf": [{"$ref": "#/$defs/People"}, {"type": "null"}]},
    {"$ref": "#/$defs/Options"},
    {"anyOf": [{"$ref": "#/$defs/Options"}, {"type": "null"}]},
    {},
]
LISTS: list[dict[str, Any]] = [
    {"anyOf": [{"$ref": "#/$defs/People"}, {"type": "null"}], "default": None},
    {"type": ["array", "null"], "items": {"type": "string", "format": "email"}},
    {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/People"}]},
    {"type": "array", "items": {"type": "string"}, "minItems": 1},
    {"type": "array", "items": {"type": "string"}, "maxItems": 1, "default": ["bob@example.com"]},
    {"type": "array", "items": {"enum": PEOPLE[:2]}, "uniqueItems": True},
    {"type": "string", "maxLength": 16, "default": 7},
]
PLACES: list[dict[str, Any]] = [
    {"type": "string"},
    {"type": "string", "maxLength": 8},
    {"type": ["string", "null"], "default": "/srv/c/x"},
    {"anyOf": [{"$ref": "#/$defs/Text"}, {"type": "null"}]},
    {"enum": ["/srv/a/x", "/etc/p", None], "default": "/srv/c"},
    {"type": "string", "pattern": "^/srv/"},
    {"type": "string", "default": 5},
    {"type": "array", "items": {"type": "string", "minLength": 5}},
]
EXPRESSIONS = [
    "(?s).*secret.*",
    "(?i).*secret.*",
    "(?i:[a-k])+",
    "^soft$|x{12}",
    "\\bab\\b",
    "(?m)^b$",
    "\\pL+",
    ".?",
]
TESTED, LISTED, PLACED = ["p", "q", "mode"], "to", "path"
_OPS = ("equals", "not_equals", "in", "not_in", "lt", "ge", "matches", "present", "length", "count")


class Drawn:
    """One tool with a random schema, a random policy over it, and random calls of it.

    Args:
        seed: What it is made of.
    """

    def __init__(self, seed: int) -> None:
        self.random = random = Random(seed)
        properties = {name: random.choice(SHAPES) for name in TESTED}
        properties[LISTED] = random.choice(LISTS)
        properties[PLACED] = random.choice(PLACES)
        self.schema: dict[str, Any] = {
            "type": "object",
            "properties": properties,
            "required": [name for name in properties if random.random() < 0.3],
            "$defs": DEFS,
        }
        if random.random() < 0.2:
            self.schema["not"] = {"required": random.sample(sorted(properties), 2)}
        self.rules = [self.rule(f"r{number}") for number in range(random.randint(1, 6))]

    @property
    def bundle(self) -> Bundle:
        """The policy."""
        return self.bundle_of(self.rules)

    def bundle_of(self, rules: list[dict[str, Any]]) -> Bundle:
        """Return the bundle of other rules over the tool."""
        args = [{"name": name, "roles": ["none"]} for name in TESTED]
        args.append({"name": LISTED, "roles": ["recipient"]})
        args.append({"name": PLACED, **self._path_roles})
        tool = {
            "tool": "t",
            "side_effects": True,
            "contained": True,
            "input_schema": self.schema,
            "args": args,
        }
        annotated = annotations({"s": [tool]})
        release = Release(engine_version="test")
        return assemble(compiled(rules), annotated, registry=Registry(()), release=release)

    @property
    def _path_roles(self) -> dict[str, Any]:
        kind = len(str(self.schema)) % 3
        when: dict[str, Any] = (
            {"arg": LISTED, "present": False} if kind == 1 else {"arg": "mode", "equals": "soft"}
        )
        if kind == 0:
            return {"roles": ["read-path"]}
        return {
            "conditional": {
                "default": ["read-path", "write-path"],
                "when": [{**when, "roles": ["read-path"]}],
            }
        }

    def rule(self, name: str) -> dict[str, Any]:
        """Return a random rule over the tool."""
        random = self.random
        condition: dict[str, Any] = {"tool": ["t"]}
        then = random.choice(["allow", "allow", "escalate", "deny"])
        if random.random() < 0.4:
            condition["paths"] = {
                "roles": ["read-path"],
                "within": random.sample(["/srv/a", "/srv", "~/d"], 1),
            }
            if random.random() < 0.4:
                condition["paths"]["roles"] = ["read-path", "write-path"]
        if random.random() < 0.4:
            condition["lists"] = {
                "roles": ["recipient"],
                "allowed": random.sample([*PEOPLE, "*@example.com"], 1),
            }
        if random.random() < 0.7:
            condition["args"] = [self._test() for _ in range(random.randint(1, 2))]
        if random.random() < 0.2:
            condition["in_sandbox"] = True
        return {"name": name, "clause": "C1", "reason": "so", "then": then, "if": condition}

    def _test(self) -> dict[str, Any]:
        random = self.random
        name, op = random.choice(TESTED), random.choice(_OPS)
        schema = str(self.schema["properties"][name])
        if "Options" in schema:
            name = random.choice([f"/{name}/level", f"/{name}/name"])
        elif ("array" in schema or "People" in schema) and op != "count":
            name = f"/{name}/*"
        found: dict[str, Any] = {"name": name}
        if "*" in name and random.random() < 0.5:
            found["over"] = "some"
        if random.random() < 0.2 and op != "present":
            found["or_absent"] = True
        words = [word for word in WORDS if word]
        if op in ("in", "not_in"):
            value: Any = random.sample(words, 2)
        elif op in ("lt", "ge"):
            value = random.choice([1, 2, 3.5, 5])
        elif op == "matches":
            value = random.choice(EXPRESSIONS)
        elif op == "present":
            value = random.random() < 0.5
        elif op in ("length", "count"):
            return {
                **found,
                "op": random.choice(["lt", "ge", "equals"]),
                "measure": op,
                "value": random.choice([1, 2, 3, 13]),
            }
        else:
            value = random.choice([*words, 2, 3.5, True])
        return {**found, "op": op, "value": value}

    def arguments(self) -> dict[str, Any]:
        """Return random arguments, many of them valid."""
        random = self.random
        found: dict[str, Any] = {}
        for name in self.schema["properties"]:
            if name in self.schema["required"] or random.random() < 0.6:
                found[name] = self._value(name)
        return found

    def _value(self, name: str) -> Any:
        random = self.random
        if random.random() < 0.08:
            return None
        if name == LISTED:
            people = [random.choice(PEOPLE) for _ in range(random.randint(0, 3))]
            return (
                random.choice(PEOPLE) if "'string', 'max" in str(self.schema["properties"][name]) else people
            )
        if name == PLACED:
            one = random.choice(PATHS) + random.choice(["", "/x", "/b"])
            return [one] if "array" in str(self.schema["properties"][name]) else one
        schema = str(self.schema["properties"][name])
        if "Options" in schema:
            chosen: dict[str, Any] = {"level": random.choice([None, 1, 2, 4, 9])}
            return {**chosen, **({"name": random.choice(WORDS)} if random.random() < 0.5 else {})}
        if "array" in schema or "People" in schema:
            return [random.choice([*WORDS, *WORDS, None]) for _ in range(random.randint(0, 3))]
        numbers = [1, 2, 3, 3.5, 4, 5, 0.5, 7]
        if "integer" in schema or "number" in schema or "minimum" in schema:
            return random.choice([*numbers, random.choice(WORDS)])
        return random.choice(
            [*WORDS, random.choice([*numbers, True, ["a"], {}]) if schema == "{}" else "soft"]
        )
