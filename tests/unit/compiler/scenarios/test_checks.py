"""Scenarios that can never come true (A144 to A146)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ironcurtain.analysis.engine.evaluate import load_described, prepare_scenarios
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.compiler.scenarios.checks import no_use, unreachable
from ironcurtain.decision.loaded_policy import LoadedPolicy
from ironcurtain.decision.roles import Registry
from ironcurtain.model.annotations import Annotations
from ironcurtain.model.policy import CompiledPolicy
from ironcurtain.model.scenarios import DescribedWorld, Scenario

SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "mode": {"type": "string"},
        "kind": {"enum": ["file", "folder"]},
        "url": {"type": "string"},
    },
    "required": ["path"],
}
WHEN = [{"arg": "mode", "in": ["look", "count"], "roles": ["read-path"]}]
TOOLS = [
    {
        "tool": "go",
        "side_effects": True,
        "contained": True,
        "input_schema": SCHEMA,
        "args": [
            {"name": "path", "conditional": {"default": ["read-path", "write-path"], "when": WHEN}},
            {"name": "mode", "roles": ["none"]},
            {"name": "kind", "roles": ["none"]},
            {"name": "url", "roles": ["fetch-url"]},
        ],
    },
    {"tool": "free", "side_effects": True, "args": [{"name": "x", "roles": ["none"]}]},
]


@pytest.fixture(scope="module", name="annotations")
def annotations_of_tools() -> Annotations:
    document = {"format": "ironcurtain/annotations/v1", "servers": {"s": {"tools": TOOLS}}}
    return Annotations.model_validate_json(json.dumps(document))


@pytest.fixture(scope="module")
def policy(annotations: Annotations) -> LoadedPolicy:
    empty = CompiledPolicy(format="ironcurtain/policy/v1", rules=())
    bundle = assemble(empty, annotations, registry=Registry(), release=Release("1.22.2"))
    world = DescribedWorld(sandbox="/home/user/sandbox", domains={"s": ("example.com",)})
    return load_described(bundle, world)


def scenario(expect: str, tool: str, arguments: Any) -> Scenario:
    call = {"server": "s", "tool": tool, "arguments": arguments}
    return Scenario.model_validate_json(json.dumps({"id": "x", "call": call, "expect": expect}))


IN = {"path": "/home/user/sandbox/a"}


@pytest.mark.parametrize(
    ("expect", "tool", "arguments", "is_unreachable", "has_no_use"),
    [
        ("allow", "go", IN, False, False),
        ("deny", "go", IN, False, False),  # a rule with in_sandbox could say so
        ("allow", "none-such", {}, True, True),
        ("deny", "none-such", {}, False, True),
        ("allow", "go", {"path": "~/.ironcurtain/key"}, True, True),
        ("escalate", "go", {"path": "~/.ironcurtain/key"}, True, True),
        ("deny", "go", {"path": "~/.ironcurtain/key"}, False, False),
        ("allow", "go", {**IN, "url": "https://other.example/"}, True, True),  # the domain gate
        ("escalate", "go", {**IN, "url": "https://other.example/"}, False, False),
        ("allow", "go", {**IN, "more": 1}, True, True),
        ("deny", "go", {**IN, "more": 1}, False, True),
        ("allow", "go", {}, True, True),
        ("deny", "go", {**IN, "kind": "pipe"}, False, True),
        ("deny", "go", {"path": "a\u0000b"}, False, True),
        ("allow", "free", {"x": {"anything": [1]}}, False, False),  # no schema, nothing to reject
        ("allow", "go", {**IN, "mode": "look"}, False, False),
        ("allow", "go", {**IN, "mode": "invented"}, False, True),
        ("allow", "go", {**IN, "kind": "file"}, False, False),
    ],
)
def test_what_no_policy_can_reach_and_what_is_no_call(
    policy: LoadedPolicy,
    annotations: Annotations,
    expect: str,
    tool: str,
    arguments: Any,
    *,
    is_unreachable: bool,
    has_no_use: bool,
) -> None:
    asked = scenario(expect, tool, arguments)
    prepared = prepare_scenarios([asked], policy)["x"]
    assert (unreachable(asked, prepared) is not None) == is_unreachable
    assert (no_use(asked, prepared, annotations.find("s", tool)) is not None) == has_no_use
