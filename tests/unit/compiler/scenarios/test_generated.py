"""Generated calls: every place and mode, valid by construction, few, and the same each time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.called import one_tool, prepared

from ironcurtain.compiler.scenarios.generated import (
    MAX_OF_TOOL,
    Generated,
    GenerationContext,
    call_id,
    call_key,
    generate_calls,
)
from ironcurtain.decision.canonical.validate import ValidatedTool
from ironcurtain.model.annotations import Annotations
from ironcurtain.model.lists import Lists
from ironcurtain.model.policy import CompiledPolicy
from ironcurtain.model.scenarios import DescribedWorld, ScenarioCall, Scenarios
from ironcurtain.system.files import load

ROOT = Path(__file__).parents[4]
WORLD = DescribedWorld(home="/home/user", sandbox="/home/user/sandbox")


def ground(
    tool: Any, *rules: Any, lists: Mapping[str, Any] | None = None, roles: Any = ()
) -> GenerationContext:
    document = {"format": "ironcurtain/annotations/v1", "roles": roles, "servers": {"s": {"tools": [tool]}}}
    policy = {
        "format": "ironcurtain/policy/v1",
        "rules": [
            {"name": f"r{n}", "clause": "C1", "if": condition, "then": "allow", "reason": "r"}
            for n, condition in enumerate(rules)
        ],
    }
    named = {"format": "ironcurtain/lists/v1", "lists": lists or {}}
    return GenerationContext(
        Annotations.model_validate_json(json.dumps(document)),
        (CompiledPolicy.model_validate_json(json.dumps(policy)),),
        Lists.model_validate_json(json.dumps(named)),
        WORLD,
    )


def tool(properties: Any, *args: Any, required: Any = (), **more: Any) -> Any:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"tool": "t", "side_effects": True, "input_schema": schema, "args": list(args), **more}


def values(found: Generated, name: str) -> list[Any]:
    return [call.arguments.get(name) for call in found.calls]


PATH = {"type": "string"}


def test_a_path_is_tried_in_the_sandbox_in_each_directory_that_a_rule_names_and_outside() -> None:
    rules = [{"paths": [{"roles": ["read-path"], "within": ["~/a", "/srv/b"]}]}]
    found = generate_calls(
        ground(tool({"p": PATH}, {"name": "p", "roles": ["read-path"]}, required=["p"]), *rules)
    )
    assert values(found, "p") == [
        "/home/user/sandbox/other",
        "/srv/b/other",
        "/home/user/a/other",
        "/other/other",
    ]


def test_a_url_is_tried_at_each_domain_elsewhere_at_addresses_and_inside() -> None:
    rules = [{"domains": [{"roles": ["fetch-url"], "allowed": ["*.example.com", "@known"]}]}]
    lists = {"known": {"type": "domain", "resolved": ["known.example"]}}
    found = generate_calls(
        ground(tool({"u": PATH}, {"name": "u", "roles": ["fetch-url"]}, required=["u"]), *rules, lists=lists)
    )
    hosts = {url.split("/")[2] for url in values(found, "u")}
    assert {"other.example.com", "known.example", "other.example", "192.0.2.1", "other.internal"} <= hosts


def test_an_array_mixes_places() -> None:
    rules = [{"paths": [{"roles": ["read-path"], "within": ["~/a"]}]}]
    argument = {"name": "p", "roles": ["read-path"]}
    found = generate_calls(
        ground(tool({"p": {"type": "array", "items": PATH}}, argument, required=["p"]), *rules)
    )
    assert ["/home/user/sandbox/other", "/home/user/a/other"] in values(found, "p")
    assert ["/home/user/sandbox/other", "/other/other"] in values(found, "p")


def test_each_mode_of_a_conditional_role_is_tried_in_each_place() -> None:
    mode = {"type": "string", "enum": ["list", "drop", "push"]}
    when = [{"arg": "mode", "equals": "list", "roles": ["read-path"]}]
    found = generate_calls(
        ground(
            tool(
                {"p": PATH, "mode": mode},
                {"name": "p", "conditional": {"default": ["read-path", "write-path"], "when": when}},
                {"name": "mode", "roles": ["none"]},
                required=["p", "mode"],
            )
        )
    )
    tried = {(call.arguments["mode"], call.arguments["p"]) for call in found.calls}
    assert len({mode for mode, _ in tried}) == 2
    assert len(tried) == 4


def test_the_values_on_both_sides_of_a_bound_are_tried() -> None:
    rules = [{"args": [{"name": "n", "op": "le", "value": 50}]}]
    found = generate_calls(
        ground(tool({"n": {"type": "integer"}}, {"name": "n", "roles": ["none"]}, required=["n"]), *rules)
    )
    tried = [n for n in values(found, "n") if n is not None]
    assert any(n <= 50 for n in tried)
    assert any(n > 50 for n in tried)


def test_caller_facts_that_rules_test_are_tried_too() -> None:
    rules = [{"tool": ["t"], "caller": [{"name": "/age", "op": "ge", "value": 18}]}]
    found = generate_calls(ground(tool({}), *rules))
    ages = [call.caller["age"] for call in found.calls if call.caller and "age" in call.caller]
    assert any(age >= 18 for age in ages if isinstance(age, int | float))
    assert any(call.caller is None for call in found.calls)


def test_a_codec_a_pointer_and_a_composite_are_filled_in() -> None:
    properties = {
        "to": PATH,
        "files": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"path": PATH, "n": {"type": "integer"}},
                "required": ["n"],
            },
        },
        "owner": PATH,
        "repo": PATH,
    }
    made = tool(
        properties,
        {"name": "to", "roles": ["recipient"], "codec": "comma"},
        {"name": "/files/*/path", "roles": ["read-path"]},
        {"name": "/files/*/n", "roles": ["none"]},
        {"name": "owner", "roles": ["none"]},
        {"name": "repo", "roles": ["none"]},
        composites=[{"role": "repository", "join": ["owner", "repo"], "with": "/"}],
    )
    rules = [{"lists": [{"roles": ["recipient"], "allowed": ["*@example.com"]}]}]
    found = generate_calls(ground(made, *rules))
    assert any("," in to for to in values(found, "to") if to)
    assert any(
        files and files[0]["path"].startswith("/home/user/sandbox") for files in values(found, "files")
    )
    assert any(call.arguments.get("owner") == "other" for call in found.calls)


@pytest.mark.parametrize(
    "branch", [{}, {"pattern": "^release/"}, {"minLength": 12}, {"enum": ["-d", "main"]}], ids=str
)
@pytest.mark.parametrize("name", ["branch", "/o/branch"])
def test_a_call_has_a_branch_that_its_role_takes(name: str, branch: dict[str, Any]) -> None:
    text = {"type": "string", **branch}
    below = {"type": "object", "properties": {"branch": text}, "required": ["branch"]}
    properties = {"o": below} if name == "/o/branch" else {"branch": text}
    made = tool(properties, {"name": name, "roles": ["branch-name"]}, required=properties)
    (call,) = generate_calls(ground(made)).calls
    assert prepared(one_tool(made, sandbox=None), "t", dict(call.arguments))


def test_a_tool_whose_schema_cannot_be_met_yields_nothing_and_breaks_nothing() -> None:
    impossible = {"type": "string", "pattern": "^(?!x)"}
    assert generate_calls(ground(tool({"p": impossible}, {"name": "p", "roles": ["none"]}))).calls == ()
    assert (
        generate_calls(ground(tool({"p": False}, {"name": "p", "roles": ["none"]}, required=["p"]))).calls
        == ()
    )


def test_too_many_calls_of_a_tool_are_counted_and_left_out() -> None:
    rules = [{"paths": [{"roles": ["read-path"], "within": [f"/d{n}" for n in range(MAX_OF_TOOL + 20)]}]}]
    found = generate_calls(
        ground(tool({"p": PATH}, {"name": "p", "roles": ["read-path"]}, required=["p"]), *rules)
    )
    assert len(found.calls) == MAX_OF_TOOL
    assert found.left_out == 22


@pytest.fixture(scope="module")
def shipped() -> GenerationContext:
    generated = ROOT / "generated"
    return GenerationContext(
        load(generated / "tool-annotations.json", Annotations),
        (load(generated / "compiled-policy.json", CompiledPolicy),),
        load(generated / "dynamic-lists.json", Lists),
        load(ROOT / "scenarios.yaml", Scenarios).world,
    )


def test_the_shipped_tools_are_all_covered_by_few_valid_calls(shipped: GenerationContext) -> None:
    found = generate_calls(shipped)
    tools = {(s, t.tool): ValidatedTool(t) for s, a in shipped.annotations.servers.items() for t in a.tools}
    assert {(call.server, call.tool) for call in found.calls} == tools.keys()
    assert len(found.calls) < 1000
    assert found.left_out == 0
    for call in found.calls:
        tools[call.server, call.tool].validate(call.arguments, has_working_root=True)
    assert len({call_id(call) for call in found.calls}) == len(found.calls)
    assert found == generate_calls(shipped)


def test_the_id_of_a_call_depends_on_the_call_alone() -> None:
    one = ScenarioCall(server="My_Server", tool="Do It!", arguments={"a": 1, "b": 2})
    same = ScenarioCall(server="My_Server", tool="Do It!", arguments={"b": 2, "a": 1.0})
    other = ScenarioCall(server="My_Server", tool="Do It!", arguments={"a": 1, "b": 2}, caller={"x": 1})
    assert call_id(one) == call_id(same)
    assert call_key(one) == call_key(same)
    assert call_id(one) != call_id(other)
    assert call_id(one).startswith("call.my-server-do-it.")
