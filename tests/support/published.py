"""Tools of public servers, by their published schemas, with random annotations that fit them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from ironcurtain.model.annotations import IdentifierRole, ToolAnnotation
from ironcurtain.model.scenarios import DescribedWorld
from ironcurtain.pipeline.annotation_checks import tool_problems
from ironcurtain.pipeline.schema_leaves import schema_leaves
from ironcurtain.roles.registry import Registry

LISTS = Path(__file__).parents[1] / "fixtures" / "tool_lists"
WORLD = DescribedWorld(home="/home/user", sandbox="/home/user/box")
ROLES = [
    {"name": "thing", "description": "A thing.", "case": "exact", "separator": "/", "numbers": True},
    {"name": "channel", "description": "A channel.", "case": "fold"},
]
PATHS = ["read-path", "write-path", "delete-path"]
RESOURCES: dict[str, list[str]] = {
    "path": ["~/a/x", "~/a", "~/a/b/c", "~/box/y", "/srv/z", "/srv", "/etc/hosts", "~/other", "rel/x"],
    "fetch-url": [
        "https://example.com/docs",
        "https://www.example.com/",
        "https://example.org:8443/a",
        "http://example.com/",
        "https://10.0.0.1/",
    ],
    "recipient": ["alice@example.com", "bob@example.com", "q@q.test", "Alice <alice@example.com>"],
    "repository": ["acme/shop", "acme/other", "else/shop"],
    "thing": ["x", "team/a", "team/a/b", "team", "secret"],
    "channel": ["general", "GENERAL", "private"],
}
PATTERNS: dict[str, list[str]] = {
    "path": ["~/a", "~/a/b", "/srv", "~", "/"],
    "fetch-url": ["example.com", "*.example.com", "*", "example.org:8443"],
    "recipient": ["alice@example.com", "*@example.com"],
    "repository": ["acme/shop", "acme/*"],
    "thing": ["team/**", "team/a", "x"],
    "channel": ["general", "private"],
}
_HINTS = {
    "path": ("path", "file", "dir", "source", "destination"),
    "fetch-url": ("url", "uri"),
    "recipient": ("mail", "recipient", "assignee", "user"),
    "channel": ("channel", "zone", "branch"),
    "thing": ("id", "key", "project", "name", "query"),
}


def kind_of(role: str) -> str:
    """Return the kind of patterns that a role has, as `PATTERNS` names it."""
    return "path" if role in PATHS else role


@dataclass(frozen=True)
class Published:
    """A tool of a published list."""

    list: str
    name: str
    schema: dict[str, Any]


@cache
def published() -> tuple[Published, ...]:
    """Return every tool of every list."""
    return tuple(
        Published(path.stem, tool["name"], tool["inputSchema"])
        for path in sorted(LISTS.glob("*.json"))
        for tool in json.loads(path.read_text(encoding="utf-8"))["tools"]
    )


def random_server(random: Random) -> list[dict[str, Any]]:
    """Return one to three tools of one list, with annotations that fit their schemas."""
    name = random.choice(sorted({tool.list for tool in published()}))
    tools = [tool for tool in published() if tool.list == name]
    return [annotated(random, tool) for tool in random.sample(tools, min(len(tools), random.randint(1, 3)))]


def annotated(random: Random, tool: Published) -> dict[str, Any]:
    """Return a random annotation that fits a tool's schema."""
    for _ in range(4):
        made = _annotation(random, tool)
        if not problems(made):
            return made
    plain = [{"name": name, "roles": ["none"]} for name in tool.schema.get("properties", {})]
    return _tool(tool, plain) | {"side_effects": True, "contained": False}


def problems(tool: dict[str, Any]) -> list[str]:
    """Return what is wrong with an annotation."""
    roles = tuple(IdentifierRole.model_validate(role) for role in ROLES)
    read = ToolAnnotation.model_validate_json(json.dumps(tool))
    return tool_problems(read, Registry(roles))


def _tool(tool: Published, args: list[dict[str, Any]]) -> dict[str, Any]:
    return {"tool": tool.name, "input_schema": tool.schema, "args": args}


def _annotation(random: Random, tool: Published) -> dict[str, Any]:
    leaves = schema_leaves(tool.schema)
    properties = tool.schema.get("properties", {})
    composites = []
    joined: set[str] = set()
    if {"owner", "repo"} <= properties.keys() and random.random() < 0.7:
        composites, joined = (
            [{"role": "repository", "join": ["owner", "repo"], "with": "/"}],
            {"owner", "repo"},
        )
    args = []
    for name in properties:
        below = [leaf for leaf in leaves if leaf.top_level == name and leaf.name != name and not leaf.inner]
        if below and random.random() < 0.4:
            args += [{"name": leaf.name, **_roles(random, leaf.name, leaf.holds_text)} for leaf in below]
        else:
            top = next((leaf for leaf in leaves if leaf.name == name), None)
            texts = top is not None and top.holds_text and name not in joined
            args.append({"name": name, **_roles(random, name, texts)})
    for argument in args:
        _flagged(random, argument, args, properties)
    contained = random.random() < 0.5
    return _tool(tool, args) | {
        "side_effects": True if composites or any(_is_resource(a) for a in args) else random.random() < 0.7,
        "contained": contained,
        "composites": composites,
    }


def _roles(random: Random, name: str, holds_text: bool) -> dict[str, Any]:
    last = name.rstrip("/*").rsplit("/", 1)[-1].lower()
    hinted = [kind for kind, words in _HINTS.items() if any(word in last for word in words)]
    chosen = random.choice([*hinted, *hinted, random.choice(list(_HINTS))]) if holds_text else None
    if chosen is None or random.random() > (0.7 if hinted else 0.15):
        return {"roles": ["none"]}
    if chosen == "path":
        return {"roles": random.sample(PATHS, random.choice([1, 1, 2]))}
    return {"roles": [chosen]}


def possible_roles(argument: dict[str, Any]) -> list[str]:
    """Return every role that an annotated argument can have."""
    return list(argument.get("roles") or argument["conditional"]["default"])


def _is_resource(argument: dict[str, Any]) -> bool:
    return argument.get("roles") != ["none"]


def _flagged(
    random: Random, argument: dict[str, Any], args: Sequence[dict[str, Any]], properties: dict[str, Any]
) -> None:
    """Add a condition, a codec or another flag to an argument with a resource."""
    if not _is_resource(argument):
        return
    roles = argument["roles"]
    is_text = properties.get(argument["name"], {}).get("type") == "string"
    if random.random() < 0.08:
        argument["required"] = True
    if roles[0] in PATHS and random.random() < 0.1:
        argument["recursive"] = True
    elif is_text and roles[0] in ("thing", "channel", "recipient") and random.random() < 0.15:
        argument["codec"] = random.choice(["comma", "json-or-comma"])
    modes = [
        (name, value)
        for name, below in properties.items()
        for value in (below.get("enum", []) or ([True, False] if below.get("type") == "boolean" else []))
        if {"name": name, "roles": ["none"]} in args
    ]
    if len(roles) > 1 and modes and random.random() < 0.6:
        name, value = random.choice(modes)
        branch = {"arg": name, "equals": value, "roles": random.sample(roles, 1)}
        del argument["roles"]
        argument["conditional"] = {"default": roles, "when": [branch]}
