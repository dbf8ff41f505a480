"""Tools of public servers, by their published schemas, with random annotations that fit them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from ironcurtain.compiler.annotate.checks import tool_problems
from ironcurtain.compiler.annotate.schema_leaves import schema_leaves
from ironcurtain.decision.roles import Registry
from ironcurtain.model.annotations import IdentifierRole, ToolAnnotation
from ironcurtain.model.scenarios import DescribedWorld
from support.generators.published_schemas import varied

LISTS = Path(__file__).parents[2] / "fixtures" / "tool_lists"
WORLD = DescribedWorld(home="/home/user", sandbox="/home/user/box")
ROLES: list[dict[str, Any]] = [
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
    "thing": ["x", "team/a", "team/a/b", "team", "secret", "a::b", "team--a", "7", "7/8"],
    "channel": ["general", "GENERAL", "private", "a:b", "a-b-c"],
    "resource-uri": ["note:a", "note:b", "note://b/c", "urn:x:y"],
}
PATTERNS: dict[str, list[str]] = {
    "path": ["~/a", "~/a/b", "/srv", "~", "/"],
    "fetch-url": ["example.com", "*.example.com", "*", "example.org:8443"],
    "recipient": ["alice@example.com", "*@example.com"],
    "repository": ["acme/shop", "acme/*"],
    "thing": ["team/**", "team/a", "x", "a::b", "a::b::c", "team--a", "7"],
    "channel": ["general", "private", "a:b", "a-b-c"],
    "resource-uri": ["note:a", "note://b/c"],
}
SEPARATORS = ["/", "/", "@", ":", "-", "::", "--", "a", "-a-", " ", "k"]
"""What joins the parts of a composite: also what stands in the parts, and more than a character."""
VARIED = 0.4
"""The share of tools whose schema is written in another way."""
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
    """Return a random annotation that fits a tool's schema, or the schema as another server writes it."""
    for _ in range(4):
        own = replace(tool, schema=varied(random, tool.schema)) if random.random() < VARIED else tool
        made = _annotation(random, own)
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
    texts = {leaf.name for leaf in leaves if leaf.holds_text}
    composites = _composites(random, [name for name in properties if name in texts])
    joined = {name for each in composites for name in each["join"]}
    args = []
    for name in properties:
        below = [leaf for leaf in leaves if leaf.top_level == name and leaf.name != name and not leaf.inner]
        if below and name not in joined and random.random() < 0.4:
            args += [{"name": leaf.name, **_roles(random, leaf.name, leaf.holds_text)} for leaf in below]
        else:
            args.append({"name": name, **_roles(random, name, name in texts and name not in joined)})
    _relate(random, [argument for argument in args if argument["name"] in texts - joined])
    for argument in args:
        _flagged(random, argument, args, properties)
    contained = random.random() < 0.5
    return _tool(tool, args) | {
        "side_effects": True if composites or any(_is_resource(a) for a in args) else random.random() < 0.7,
        "contained": contained,
        "composites": composites,
    }


def _composites(random: Random, texts: list[str]) -> list[dict[str, Any]]:
    """Return a composite of some of a tool's texts, or none."""
    if {"owner", "repo"} <= set(texts) and random.random() < 0.6:
        return [{"role": "repository", "join": ["owner", "repo"], "with": "/"}]
    if len(texts) < 2 or random.random() > 0.25:
        return []
    join = random.sample(texts, random.choice([2, 2, min(3, len(texts))]))
    role = random.choice(["repository", "thing", "thing", "channel", "recipient"])
    return [{"role": role, "join": join, "with": random.choice(SEPARATORS)}]


def _relate(random: Random, args: list[dict[str, Any]]) -> None:
    """Let one path be relative to another, and one to an argument that names no path before."""
    if len(args) < 2 or random.random() > 0.25:
        return
    base, relative = random.sample(args, 2)
    for argument in (base, relative):
        if argument["roles"][0] not in PATHS:
            argument["roles"] = random.sample(PATHS, 1)
    relative["relative_to"] = base["name"]


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
        (name, test)
        for name, below in properties.items()
        for test in _branches(random, below)
        if {"name": name, "roles": ["none"]} in args
    ]
    if len(roles) > 1 and modes and random.random() < 0.6:
        name, test = random.choice(modes)
        branch = {"arg": name, **test, "roles": random.sample(roles, 1)}
        del argument["roles"]
        argument["conditional"] = {"default": roles, "when": [branch]}


def _branches(random: Random, schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what a mode can test of an argument."""
    values = [value for value in schema.get("enum", []) if value is not None]
    if schema.get("type") == "boolean":
        values = [True, False]
    if not values:
        return [{"present": True}, {"present": False}] if random.random() < 0.2 else []
    return [*({"equals": value} for value in values), {"in": values[:2]}, {"present": True}]
