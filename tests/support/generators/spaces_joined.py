"""Random policies over arguments that hold several values, or are joined into one: codecs and composites."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.decision.roles import Registry
from ironcurtain.model.scenarios import DescribedWorld
from support.generators import spaces
from support.projects.policies import annotations_of, compiled, named_lists

TEXT = {"type": "string"}
WORLD = DescribedWorld(
    home="/home/user", sandbox="/home/user/box", working_roots={"j": "/home/user/box", "k": "/home/user/box"}
)
REPOSITORIES = ["acme/*", "acme/site", "team/tool", "other/*", "@repositories"]
LISTS = {
    **spaces.LISTS,
    "repositories": {"type": "repository", "resolved": ["acme/docs", "team/tool"]},
}
TOOLS: dict[str, dict[str, Any]] = {
    "pack": {
        "properties": {
            "files": TEXT,
            "target": {"type": "string", "minLength": 1},
            "level": {"type": "integer"},
        },
        "required": ["target"],
        "args": {
            "files": {"roles": ["read-path"], "codec": "json-or-comma"},
            "target": {"roles": ["write-path"]},
            "level": {"roles": ["none"]},
        },
    },
    "mail": {
        "properties": {"to": TEXT, "copies": TEXT, "note": TEXT},
        "required": ["to"],
        "args": {
            "to": {"roles": ["recipient"], "codec": "addresses"},
            "copies": {"roles": ["recipient"], "codec": "json"},
            "note": {"roles": ["none"]},
        },
    },
    "fork": {
        "properties": {
            "owner": TEXT,
            "repo": TEXT,
            "into": TEXT,
            "deep": {"type": "boolean", "default": False},
        },
        "required": [],
        "args": {
            "owner": {"roles": ["none"]},
            "repo": {"roles": ["none"]},
            "into": {"roles": ["write-path"]},
            "deep": {"roles": ["none"]},
        },
        "composites": [{"role": "repository", "join": ["owner", "repo"], "with": "/"}],
    },
}
CONDITIONS = {
    "paths": (["read-path", "write-path"], "within"),
    "lists": (["recipient", "repository"], "allowed"),
}
POOLS = {"recipient": spaces.PEOPLE, "repository": REPOSITORIES}
ROLES = {"pack": ["read-path", "write-path"], "mail": ["recipient"], "fork": ["repository", "write-path"]}
TESTS: dict[str, list[dict[str, Any]]] = {
    "pack": [
        {"name": "level", "op": "ge", "value": 5},
        {"name": "level", "op": "present", "value": True},
    ],
    "mail": [
        {"name": "note", "op": "equals", "value": "ab"},
        {"name": "note", "op": "le", "value": 2, "measure": "length", "or_absent": True},
    ],
    "fork": [{"name": "deep", "op": "equals", "value": True}],
}


def bundle_of(rules: list[dict[str, Any]]) -> Bundle:
    """Return the bundle of rules over the tools, which two servers have."""
    tools = [
        {
            "tool": name,
            "side_effects": True,
            "contained": True,
            "input_schema": {
                "type": "object",
                "properties": tool["properties"],
                "required": tool["required"],
                "additionalProperties": False,
            },
            "args": [{"name": arg, **annotation} for arg, annotation in tool["args"].items()],
            "composites": tool.get("composites", []),
        }
        for name, tool in TOOLS.items()
    ]
    annotated = annotations_of({"j": tools, "k": tools})
    return assemble(
        compiled(rules),
        annotated,
        named_lists(LISTS),
        registry=Registry(annotated.roles),
        release=Release(engine_version="test"),
    )


def random_policy(random: Random, most: int = 30) -> list[dict[str, Any]]:
    """Return the rules of a random policy."""
    return [_rule(random, f"r{number}") for number in range(random.randint(1, most))]


def _rule(random: Random, name: str) -> dict[str, Any]:
    tool = random.choice(list(TOOLS))
    then = random.choice(["allow", "allow", "escalate", "deny"])
    condition: dict[str, Any] = {"tool": [tool]}
    if random.random() < 0.2:
        condition["server"] = [random.choice(["j", "k"])]
    if random.random() < 0.2:
        condition["roles"] = [random.choice(ROLES[tool])]
    for key, (roles, field) in CONDITIONS.items():
        own = [role for role in roles if role in ROLES[tool] and random.random() < 0.6]
        if own:
            condition[key] = [_pattern_condition(random, role, field, then) for role in own]
    if random.random() < 0.4:
        condition["args"] = [random.choice(TESTS[tool])]
    if random.random() < 0.2:
        condition["in_sandbox"] = True
    return {"name": name, "clause": "C1", "reason": "so", "then": then, "if": condition}


def _pattern_condition(random: Random, role: str, field: str, then: str) -> dict[str, Any]:
    pool = POOLS.get(role, spaces.DIRECTORIES)
    one: dict[str, Any] = {"roles": [role], field: random.sample(pool, random.randint(1, 2))}
    if then == "allow" and random.random() < 0.3:
        one["or_none"] = True
    return one


def random_arguments(random: Random, tool: str) -> dict[str, Any]:
    """Return random arguments of a tool, most of them valid."""
    needed = TOOLS[tool]["required"]
    chosen = {
        name: VALUES[name](random) for name in TOOLS[tool]["properties"] if name in needed or _often(random)
    }
    if tool == "fork" and ("owner" in chosen) != ("repo" in chosen) and _often(random):
        chosen |= {name: VALUES[name](random) for name in ("owner", "repo")}
    return chosen


def _often(random: Random) -> bool:
    return random.random() < 0.7


def _files(random: Random) -> str:
    values = [spaces.random_path(random) for _ in range(random.randint(1, 3))]
    return random.choice([",".join(values), ", ".join(values), json.dumps(values), json.dumps(values[0])])


def _addresses(random: Random) -> str:
    values = [spaces.random_person(random) for _ in range(random.randint(1, 3))]
    return random.choice([", ", "; ", ","]).join(values)


VALUES: dict[str, Any] = {
    "files": _files,
    "target": spaces.random_path,
    "into": spaces.random_path,
    "level": lambda random: random.randint(3, 6),
    "to": _addresses,
    "copies": lambda random: json.dumps([spaces.random_person(random) for _ in range(random.randint(0, 2))]),
    "note": lambda random: random.choice(["", "a", "ab", "abc"]),
    "owner": lambda random: random.choice(["acme", "ACME", "team", "other", "nobody"]),
    "repo": lambda random: random.choice(["site", "docs", "tool", "x"]),
    "deep": lambda random: random.random() < 0.5,
}
