"""Narrowing is sound over arguments of all shapes: codecs, pointers, composites, numbers, nulls, defaults."""

from __future__ import annotations

from random import Random
from typing import Any

import jsonschema
import pytest
from support.oracles import twin
from support.projects.policies import annotations_of, compiled

from ironcurtain.analysis.engine.evaluate import load_described
from ironcurtain.analysis.narrowing.narrowing import narrowing
from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.decision.decide import Call, Prepared, prepare
from ironcurtain.decision.roles import Registry
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.model.scenarios import DescribedWorld

WORLD = DescribedWorld(home="/home/user", sandbox="/home/user/box")
CHANNEL = {
    "name": "channel", "description": "A channel.", "case": "exact", "separator": "/", "numbers": True
}  # fmt: skip
TEXT = {"type": "string"}
SCHEMAS: dict[str, dict[str, Any]] = {
    "post": {
        "channel": {"type": ["string", "integer"]},
        "to": TEXT,
        "cc": {"type": ["string", "null"]},
        "level": {"type": ["integer", "null"], "default": 3},
        "kind": {"type": ["string", "null"], "enum": ["a", "b", None]},
        "note": {"type": ["string", "null"]},
    },
    "edit": {
        "root": {"type": "string", "default": "."},
        "files": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "path": TEXT,
                    "op": {"type": "string", "enum": ["add", "cut"], "default": "add"},
                },
                "required": ["path"],
            },
        },
        "dry": {"type": "boolean", "default": True},
    },
    "issue": {"owner": TEXT, "repo": TEXT, "labels": {"type": "array", "items": TEXT}, "state": TEXT},
}
REQUIRED = {"post": [], "edit": ["files"], "issue": ["owner", "repo"]}
ARGS: dict[str, list[dict[str, Any]]] = {
    "post": [
        {"name": "channel", "roles": ["channel"]},
        {"name": "to", "roles": ["recipient"], "codec": "addresses"},
        {
            "name": "cc",
            "conditional": {
                "default": ["recipient"],
                "when": [{"arg": "kind", "equals": "b", "roles": ["none"]}],
            },
        },
        *({"name": name, "roles": ["none"]} for name in ("level", "kind", "note")),
    ],
    "edit": [
        {"name": "root", "roles": ["read-path"]},
        {"name": "/files/*/path", "roles": ["read-path", "write-path"], "relative_to": "root"},
        {"name": "/files/*/op", "roles": ["none"]},
        {"name": "dry", "roles": ["none"]},
    ],
    "issue": [{"name": name, "roles": ["none"]} for name in ("owner", "repo", "labels", "state")],
}
TESTS: dict[str, list[dict[str, Any]]] = {
    "post": [
        {"name": "level", "op": "le", "value": 3},
        {"name": "level", "op": "gt", "value": 4, "or_absent": True},
        {"name": "kind", "op": "equals", "value": "a"},
        {"name": "kind", "op": "in", "value": ["a", "b"], "or_absent": True},
        {"name": "note", "op": "matches", "value": "n[0-9]?", "or_absent": True},
        {"name": "note", "op": "present", "value": False},
        {"name": "note", "op": "equals", "value": "n1"},
    ],
    "edit": [
        {"name": "dry", "op": "equals", "value": False},
        {"name": "dry", "op": "not_equals", "value": False},
    ],
    "issue": [
        {"name": "/labels/*", "op": "in", "value": ["bug", "idea"]},
        {"name": "labels", "op": "le", "value": 1, "measure": "count", "or_absent": True},
        {"name": "state", "op": "in", "value": ["open", "done"], "or_absent": True},
        {"name": "state", "op": "lt", "value": 5, "measure": "length"},
    ],
}
PLACES: dict[str, list[dict[str, Any]]] = {
    "post": [
        {"lists": {"roles": ["channel"], "allowed": ["team/**"]}},
        {"lists": {"roles": ["channel"], "allowed": ["7"]}},
        {"lists": {"roles": ["recipient"], "allowed": ["*@a.example"]}},
        {"roles": ["recipient"]},
        {"roles": ["none"]},
        {},
    ],
    "edit": [
        {"paths": {"roles": ["read-path"], "within": ["~/d"]}},
        {"paths": {"roles": ["read-path", "write-path"], "within": ["~/d"]}},
        {"roles": ["write-path"]},
    ],
    "issue": [{"lists": {"roles": ["repository"], "allowed": ["me/*"]}}, {"roles": ["repository"]}],
}
VALUES: dict[str, list[Any]] = {
    "channel": ["team/x", "other", 7, "7"],
    "to": ["x@a.example", "x@a.example, y@b.example", ""],
    "cc": ["x@a.example", "z@b.example", None],
    "level": [1, 3, 4, 5, None],
    "kind": ["a", "b", None],
    "note": ["n", "n1", "n12", "", None],
    "root": [".", "~/d", "/srv"],
    "files": [[], [{"path": "a"}], [{"path": "~/d/a", "op": "cut"}], [{"path": "a"}, {"path": "/srv/b"}]],
    "dry": [True, False],
    "owner": ["me", "you"],
    "repo": ["r"],
    "labels": [[], ["bug"], ["bug", "idea"], ["bug", "x"]],
    "state": ["open", "done", "closed", ""],
}


def bundle_of(rules: list[dict[str, Any]]) -> Bundle:
    tools = []
    for name, properties in SCHEMAS.items():
        schema: dict[str, Any] = {"type": "object", "properties": properties, "required": REQUIRED[name]}
        if name != "edit":
            schema["additionalProperties"] = False
        one = {"tool": name, "side_effects": True, "contained": name == "edit", "args": ARGS[name]}
        tools.append(one | {"input_schema": schema})
    tools[2]["composites"] = [{"role": "repository", "join": ["owner", "repo"], "with": "/"}]
    annotated = annotations_of({"s": tools}, roles=[CHANNEL])
    release = Release(engine_version="test")
    return assemble(compiled(rules), annotated, registry=Registry(annotated.roles), release=release)


def random_rules(random: Random) -> list[dict[str, Any]]:
    rules = []
    for number in range(random.randint(1, 6)):
        tool = random.choice(list(SCHEMAS))
        condition: dict[str, Any] = {"tool": [tool], **random.choice(PLACES[tool])}
        if random.random() < 0.7:
            condition["args"] = random.sample(TESTS[tool], random.randint(1, 2))
        then = random.choice(["allow", "allow", "escalate", "deny"])
        rules.append({"name": f"r{number}", "clause": "C1", "reason": "so", "then": then, "if": condition})
    return rules


def random_arguments(random: Random, tool: str) -> dict[str, Any]:
    named = [n for n in SCHEMAS[tool] if n in REQUIRED[tool] or random.random() < 0.5]
    return {name: random.choice(VALUES[name]) for name in named}


@pytest.mark.parametrize("seed", range(6))
def test_what_is_permitted_fits(seed: int) -> None:
    random = Random(seed)
    rules = random_rules(random)
    bundle = bundle_of(rules)
    narrowed = narrowing(bundle, WORLD, OpaCommand(find()))
    policy = load_described(bundle, WORLD)
    judged = 0
    for _ in range(300):
        tool = random.choice(list(SCHEMAS))
        arguments = random_arguments(random, tool)
        prepared = prepare(Call("s", tool, arguments), policy)
        if not isinstance(prepared, Prepared):
            continue
        judged += 1
        if twin.decide(rules, prepared.input)["verdict"] != "deny":
            found = narrowed.find("s", tool)
            assert found is not None
            assert found.reachable, (rules, arguments)
            assert found.input_schema is not None
            jsonschema.validate(arguments, found.input_schema)
    assert judged
