"""Random policies over tools with schemas, and random calls: what cells are held against."""

from __future__ import annotations

from random import Random
from typing import Any

from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.decision.roles import Registry
from ironcurtain.model.scenarios import DescribedWorld
from support.projects.policies import annotations_of, compiled, named_lists

WORLD = DescribedWorld(
    home="/home/user",
    sandbox="/home/user/box",
    working_roots={"s": "/home/user/box"},
    domains={"gated": ("example.com",)},
)
DIRECTORIES = ["~/a", "~/a/b", "~/a/b/c", "~/d", "/srv", "/srv/x", "~/box/inner", "~"]
DOMAINS = [
    "example.com",
    "*.example.com",
    "deep.www.example.com",
    "*",
    "http://example.com",
    "example.com/docs",
    "@hosts",
]
PEOPLE = ["alice@example.com", "bob@example.com", "*@example.com", "@friends"]
LISTS = {
    "hosts": {"type": "domain", "resolved": ["example.org", "*.example.net"]},
    "friends": {"type": "recipient", "resolved": ["carol@example.org", "bob@example.com"]},
}
TEXT, PATH = {"type": "string"}, {"type": "string", "minLength": 1}
MODES = ["soft", "hard", "dry"]
SCHEMA = {
    "read": {
        "path": PATH,
        "mode": {"type": "string", "enum": MODES},
        "amount": {"type": "integer", "minimum": 0},
    },
    "copy": {
        "source": PATH,
        "target": PATH,
        "flag": {"type": "boolean", "default": False},
        "amount": {"type": "number"},
        "note": TEXT,
    },
    "send": {
        "to": {"type": "array", "items": TEXT},
        "url": TEXT,
        "attach": {"type": "array", "items": PATH},
        "tags": {"type": "array", "items": TEXT},
        "options": {"type": "object", "properties": {"level": {"type": "integer"}, "name": TEXT}},
        "note": TEXT,
    },
    "wipe": {"tree": PATH, "mode": {"type": "string", "enum": MODES, "default": "dry"}},
}
REQUIRED = {"read": ["path"], "copy": ["source", "target"], "send": ["to"], "wipe": ["tree"]}
ROLES: dict[str, dict[str, dict[str, Any]]] = {
    "read": {"path": {"roles": ["read-path"]}},
    "copy": {
        "source": {"roles": ["read-path", "delete-path"]},
        "target": {
            "conditional": {
                "default": ["write-path", "read-path"],
                "when": [{"arg": "flag", "equals": True, "roles": ["write-path"]}],
            }
        },
    },
    "send": {
        "to": {"roles": ["recipient"]},
        "url": {"roles": ["fetch-url"]},
        "attach": {"roles": ["read-path"]},
    },
    "wipe": {
        "tree": {
            "recursive": True,
            "conditional": {
                "default": ["read-path", "delete-path"],
                "when": [{"arg": "mode", "equals": "dry", "roles": ["read-path"]}],
            },
        }
    },
}
TESTS: dict[str, list[dict[str, Any]]] = {
    "read": [
        {"name": "mode", "op": "equals", "value": "hard"},
        {"name": "mode", "op": "present", "value": True},
    ],
    "copy": [
        {"name": "flag", "op": "equals", "value": True},
        {"name": "amount", "op": "ge", "value": 50.5},
        {"name": "note", "op": "matches", "value": "[a-c]+x?"},
        {"name": "note", "op": "equals", "value": "abx"},
        {"name": "note", "op": "ge", "value": 3, "measure": "length", "or_absent": True},
        {"name": "note", "op": "equals", "value": {"caller": "/sub"}},
        {"name": "note", "op": "not_equals", "value": {"caller": "/sub"}, "or_absent": True},
    ],
    "send": [
        {"name": "/tags/*", "op": "in", "value": ["red", "green"]},
        {"name": "/tags/*", "op": "not_equals", "value": "red", "over": "some"},
        {"name": "tags", "op": "le", "value": 2, "measure": "count", "or_absent": True},
        {"name": "/options/level", "op": "gt", "value": 3},
        {"name": "/options/name", "op": "present", "value": False},
        {"name": "note", "op": "not_in", "value": ["x", "y"]},
    ],
    "wipe": [{"name": "mode", "op": "in", "value": ["soft", "hard"]}],
}
NUMERIC = [
    {"name": "amount", "op": op, "value": bound}
    for op in ("le", "lt", "gt", "equals")
    for bound in (0, 50, 51)
]
CALLER = [
    {"name": "/sub", "op": "equals", "value": "alice"},
    {"name": "/age", "op": "ge", "value": 18},
    {"name": "/groups/*", "op": "equals", "value": "staff", "over": "some"},
    {"name": "/groups/*", "op": "not_in", "value": ["staff"]},
    {"name": "/sub", "op": "not_equals", "value": "alice"},
    {"name": "/sub", "op": "matches", "value": "a.*"},
    {"name": "/age", "op": "present", "value": True},
]
DENIED_CALLER = [
    {"name": "/sub", "op": "present", "value": False},
    {"name": "/sub", "op": "in", "value": ["x", "abx"], "or_absent": True},
]
CONDITIONS = {
    "paths": (["read-path", "write-path", "delete-path"], "within", DIRECTORIES),
    "domains": (["fetch-url"], "allowed", DOMAINS),
    "lists": (["recipient"], "allowed", PEOPLE),
}
IN_TOOL = {
    "read": ["read-path"],
    "copy": ["read-path", "write-path", "delete-path"],
    "send": ["recipient", "fetch-url", "read-path"],
    "wipe": ["read-path", "delete-path"],
}


def tools() -> list[dict[str, Any]]:
    """Return the annotated tools, each with its schema."""
    found = []
    for name, properties in SCHEMA.items():
        schema = {
            "type": "object",
            "properties": properties,
            "required": REQUIRED[name],
            "additionalProperties": False,
        }
        args = [{"name": arg, **ROLES[name].get(arg, {"roles": ["none"]})} for arg in properties]
        found.append(
            {"tool": name, "side_effects": True, "contained": True, "input_schema": schema, "args": args}
        )
    return found


def random_rule(random: Random, name: str) -> dict[str, Any]:
    """Return a valid rule for one tool, or for all of them."""
    then = random.choice(["allow", "allow", "escalate", "deny"])
    tool = random.choice(list(SCHEMA))
    condition: dict[str, Any] = {"tool": [tool]} if random.random() < 0.8 else {}
    roles = IN_TOOL[tool]
    if random.random() < 0.2:
        condition["roles"] = random.sample(roles, random.randint(1, len(roles)))
    for key, (known, field, pool) in CONDITIONS.items():
        own = [role for role in known if role in roles]
        if not own or random.random() < 0.45:
            continue
        groups = [[role] for role in own] if random.random() < 0.5 else [own]
        condition[key] = [_pattern_condition(random, group, field, pool, then) for group in groups]
    if "tool" in condition and random.random() < 0.45:
        numeric = NUMERIC if "amount" in SCHEMA[tool] else []
        tests = [*TESTS[tool], *numeric]
        condition["args"] = random.sample(tests, min(len(tests), random.randint(1, 2)))
    if random.random() < 0.25:
        condition["caller"] = [random.choice(CALLER if then == "allow" else [*CALLER, *DENIED_CALLER])]
    if random.random() < 0.2:
        condition["in_sandbox"] = True
    if set(condition) <= {"in_sandbox"}:
        condition["side_effects"] = True
    return {"name": name, "clause": "C1", "reason": "so", "then": then, "if": condition}


def _pattern_condition(
    random: Random, group: list[str], field: str, pool: list[str], then: str
) -> dict[str, Any]:
    one: dict[str, Any] = {"roles": group, field: random.sample(pool, random.randint(1, 2))}
    if then == "allow" and random.random() < 0.3:
        one["or_none"] = True
    return one


def random_policy(random: Random, most: int = 30) -> list[dict[str, Any]]:
    """Return the rules of a random policy."""
    return [random_rule(random, f"r{number}") for number in range(random.randint(1, most))]


def bundle_of(rules: list[dict[str, Any]], lists: dict[str, Any] | None = None) -> Bundle:
    """Return the bundle of rules over the tools, on two servers of which one has a domain gate."""
    annotated = annotations_of({"s": tools(), "gated": tools()[2:3]})
    return assemble(
        compiled(rules),
        annotated,
        named_lists(lists or LISTS),
        registry=Registry(annotated.roles),
        release=Release(engine_version="test"),
    )


def random_arguments(random: Random, tool: str) -> dict[str, Any]:
    """Return random arguments of a tool, most of them valid."""
    chosen: dict[str, Any] = {}
    for name in SCHEMA[tool]:
        if name in REQUIRED[tool] or random.random() < 0.6:
            chosen[name] = VALUES[name](random)
    return chosen


def random_caller(random: Random) -> dict[str, Any]:
    """Return random caller facts."""
    facts: dict[str, list[Any]] = {
        "sub": ["alice", "abx", "x", 7, None],
        "age": [17, 18, 18.5, "18", True],
        "groups": [[], ["staff"], ["a", "staff"], "staff"],
    }
    return {name: random.choice(pool) for name, pool in facts.items() if random.random() < 0.6}


def random_path(random: Random) -> str:
    base = random.choice([*DIRECTORIES, "~/box", "~/box", "/etc", "~/other", "/"])
    return base.rstrip("/") + random.choice(["", "/x", "/b", "/b/c/d", "/inner/y"]) or "/"


def _url(random: Random) -> str:
    host = random.choice(
        [
            "example.com",
            "www.example.com",
            "deep.www.example.com",
            "example.org",
            "a.example.net",
            "no.test",
            "10.0.0.1",
        ]
    )
    return (
        random.choice(["https", "https", "http"])
        + "://"
        + host
        + random.choice(["", "/docs", "/docs/a", ":8443/"])
    )


def random_person(random: Random) -> str:
    return random.choice(
        ["alice@example.com", "bob@example.com", "z@example.com", "carol@example.org", "q@q.test"]
    )


def _many(one: Any, most: int) -> Any:
    return lambda random: [one(random) for _ in range(random.randint(0, most))]


VALUES: dict[str, Any] = {
    "path": random_path,
    "source": random_path,
    "target": random_path,
    "tree": random_path,
    "url": _url,
    "to": _many(random_person, 3),
    "attach": _many(random_path, 3),
    "tags": _many(lambda random: random.choice(["red", "green", "blue", ""]), 4),
    "mode": lambda random: random.choice(MODES),
    "flag": lambda random: random.random() < 0.5,
    "amount": lambda random: random.choice([0, 1, 49, 50, 51, 52, 10**9]),
    "note": lambda random: random.choice(["", "x", "y", "ab", "abx", "abxx", "zzz", "alice", "abcabc"]),
    "options": lambda random: random.choice(
        [{}, {"level": 3}, {"level": 4}, {"name": "n"}, {"level": 9, "name": ""}, {"level": 1, "name": "m"}]
    ),
}
