"""Narrowing in tables: what a policy leaves of an argument's schema, and what it leaves open."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import re2
from support.documents import at, object_at
from support.projects.policies import annotations_of, compiled, rule, tool

from ironcurtain.analysis.narrowing.keywords import portable_pattern
from ironcurtain.analysis.narrowing.narrowing import described_deployment, narrowing
from ironcurtain.analysis.narrowing.report import NarrowedTool, text_lines
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.compiler.render.custom_modules import CustomModule
from ironcurtain.decision.loaded_policy import Deployment
from ironcurtain.decision.roles import Registry
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.model.scenarios import DescribedWorld

WORLD = DescribedWorld(home="/home/user", sandbox="/home/user/box")
MODE = {"type": "string", "enum": ["soft", "hard", "dry"]}
CUSTOM = """package ironcurtain.custom.mine

deny contains {"id": "call", "reason": "never"} if input.tool == "t"
"""


def test_a_deployment_whose_places_are_named_by_two_dots_is_a_world(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    given = Deployment(
        "/home/user",
        f"{tmp_path}/project/../work",
        protected=("~/../user/keys",),
        working_roots={"s": f"{tmp_path}/./project/.."},
    )
    world = described_deployment(given)
    assert world.sandbox == f"{tmp_path.resolve()}/work"
    assert world.protected == ("/home/user/keys",)
    assert world.working_roots == {"s": str(tmp_path.resolve())}
    assert narrowed({}, [rule("any", "allow", tool=["t"])], world=world).reachable


def narrowed(
    properties: dict[str, Any],
    rules: list[dict[str, Any]],
    *,
    required: tuple[str, ...] = (),
    custom: tuple[CustomModule, ...] = (),
    contained: bool = False,
    schema: dict[str, Any] | None = None,
    world: DescribedWorld = WORLD,
    **roles: Any,
) -> NarrowedTool:
    described = {"type": "object", "properties": properties, "required": list(required), **(schema or {})}
    named = {name: roles.get(name, ["none"]) for name in properties}
    annotated = annotations_of({"s": [tool("t", contained=contained, **named) | {"input_schema": described}]})
    bundle = assemble(
        compiled(rules),
        annotated,
        registry=Registry(annotated.roles),
        release=Release(engine_version="test"),
        custom=custom,
    )
    (found,) = narrowing(bundle, world, OpaCommand(find())).tools
    if found.input_schema is not None:
        jsonschema.Draft202012Validator.check_schema(found.input_schema)
    return found


def argument(described: dict[str, Any], *tests: dict[str, Any], then: str = "allow") -> dict[str, Any]:
    """Return what is left of one argument `a` where one rule tests it, and nothing else is permitted."""
    rules = [rule(f"r{number}", then, tool=["t"], args=[test]) for number, test in enumerate(tests)]
    found = narrowed({"a": described}, rules)
    assert found.input_schema is not None
    assert not found.reasons
    return found.input_schema


@pytest.mark.parametrize(
    ("described", "tests", "left"),
    [
        (MODE, [{"name": "a", "op": "equals", "value": "dry"}], {"const": "dry"}),
        (MODE, [{"name": "a", "op": "in", "value": ["dry", "soft"]}], {"enum": ["soft", "dry"]}),
        (MODE, [{"name": "a", "op": "not_equals", "value": "hard"}], {"enum": ["soft", "dry"]}),
        ({"type": "boolean"}, [{"name": "a", "op": "equals", "value": False}], {"const": False}),
        ({"type": "string"}, [{"name": "a", "op": "equals", "value": "x"}], {"const": "x"}),
        (
            {"type": "string"},
            [{"name": "a", "op": "equals", "value": "x"}, {"name": "a", "op": "in", "value": ["y", "z"]}],
            {"enum": ["x", "y", "z"]},
        ),
        (
            {"type": ["string", "null"]},
            [{"name": "a", "op": "in", "value": ["x", "y"]}],
            {"enum": ["x", "y", None]},
        ),
        ({"type": "integer"}, [{"name": "a", "op": "lt", "value": 50}], {"maximum": 49}),
        ({"type": "number"}, [{"name": "a", "op": "le", "value": 50.5}], {"maximum": 50.5}),
        ({"type": "integer", "maximum": 7}, [{"name": "a", "op": "le", "value": 50}], {"maximum": 7}),
        ({"type": "integer"}, [{"name": "a", "op": "gt", "value": 3}], {"minimum": 4}),
        (
            {"type": "integer"},
            [{"name": "a", "op": "le", "value": 5}, {"name": "a", "op": "le", "value": 9}],
            {"maximum": 9},
        ),
        (
            {"type": "string"},
            [{"name": "a", "op": "matches", "value": "x.*"}],
            {"pattern": "^(?:x[\\s\\S]*)$"},
        ),
        (
            {"type": "string"},
            [{"name": "a", "op": "lt", "value": 9, "measure": "length"}],
            {"maxLength": 8},
        ),
        (
            {"type": "array", "items": {"type": "string"}},
            [{"name": "/a/*", "op": "in", "value": ["x", "y"]}],
            {"items": {"type": "string", "enum": ["x", "y"]}},
        ),
        (
            {"type": "array", "items": {"type": "string"}},
            [{"name": "/a/*", "op": "in", "value": ["x", "y"], "over": "some"}],
            {},
        ),
        (
            {"type": "object", "properties": {"level": {"type": "integer"}}},
            [{"name": "/a/level", "op": "le", "value": 3}],
            {"properties": {"level": {"type": "integer", "maximum": 3}}},
        ),
    ],
)
def test_what_a_test_leaves(
    described: dict[str, Any], tests: list[dict[str, Any]], left: dict[str, Any]
) -> None:
    schema = argument(described, *tests)
    expected = {key: value for key, value in described.items() if key != "enum" or not left} | left
    assert schema["properties"]["a"] == expected
    assert schema["required"] == ["a"]  # without it no rule holds


def test_a_test_that_absence_satisfies_leaves_the_argument_optional() -> None:
    schema = argument({"type": "integer"}, {"name": "a", "op": "le", "value": 9, "or_absent": True})
    assert schema == {
        "type": "object",
        "properties": {"a": {"type": "integer", "maximum": 9}},
        "required": [],
    }


def test_a_default_that_is_denied_goes_and_the_argument_must_be_given() -> None:
    described = {"type": "string", "enum": ["soft", "hard"], "default": "hard"}
    schema = argument(described, {"name": "a", "op": "equals", "value": "soft"})
    assert schema["properties"]["a"] == {"type": "string", "const": "soft"}
    assert schema["required"] == ["a"]


def test_an_argument_that_no_permitted_call_gives_is_left_out() -> None:
    schema = argument({"type": "string"}, {"name": "a", "op": "present", "value": False})
    assert schema["properties"] == {}


def test_an_argument_whose_schema_is_that_of_another_one_keeps_its_own_values() -> None:
    properties = {"a": {"type": ["boolean", "string"]}, "b": {"$ref": "#/properties/a"}, "c": {"$ref": "#"}}
    only = rule("only", "allow", tool=["t"], args=[{"name": "a", "op": "equals", "value": "yes"}])
    found = narrowed(properties, [only], required=("a",)).input_schema
    assert found is not None
    validator = jsonschema.Draft202012Validator(found)
    assert validator.is_valid({"a": "yes", "b": True, "c": {"a": False, "b": "no"}})
    assert not validator.is_valid({"a": "no", "b": True})
    gone = rule("gone", "allow", tool=["t"], args=[{"name": "a", "op": "present", "value": False}])
    without = narrowed(properties, [gone]).input_schema
    assert without is not None
    assert "a" not in object_at(without, "properties")
    assert jsonschema.Draft202012Validator(without).is_valid({"b": "yes"})


@pytest.mark.parametrize("where", ["$defs", "definitions"])
def test_what_a_schema_defines_is_sent_once(where: str) -> None:
    node = {"type": "object", "properties": {"next": {"$ref": f"#/{where}/node"}}, "description": "a node"}
    properties = {
        "a": {"$ref": f"#/{where}/node"},
        "b": {"type": "array", "items": {"enum": ["x", "y"], "description": "a letter"}},
        "c": {"$ref": "#/properties/b/items"},
        "e~/f": {"$ref": "#/properties/a"},
        "d": {"$ref": "#/properties/e~0~1f"},
    }
    everything = rule("all", "allow", tool=["t"])
    found = narrowed(properties, [everything], schema={where: {"node": node}}).input_schema
    text = json.dumps(found)
    assert (text.count("a node"), text.count("a letter")) == (1, 2)
    assert found is not None
    validator = jsonschema.Draft202012Validator(found)
    assert validator.is_valid({"a": {"next": {}}, "b": ["x"], "c": "y", "e~/f": {}, "d": {"next": {}}})
    for wrong in ({"c": "z"}, {"d": {"next": 5}}, {"e~/f": 5}):
        assert not validator.is_valid(wrong)


def test_what_is_escalated_stays() -> None:
    rules = [
        rule("deny", "deny", tool=["t"], args=[{"name": "a", "op": "equals", "value": "hard"}]),
        rule("ask", "escalate", tool=["t"], args=[{"name": "a", "op": "equals", "value": "soft"}]),
        rule("allow", "allow", tool=["t"]),
    ]
    found = narrowed({"a": MODE}, rules)
    assert found.input_schema is not None
    assert at(found.input_schema, "properties", "a", "enum") == ["soft", "dry"]
    assert found.input_schema["required"] == []


def test_a_tool_without_a_way_to_a_permission_is_hidden() -> None:
    nothing = narrowed(
        {"a": MODE}, [rule("other", "allow", tool=["t"], args=[{"name": "a", "op": "equals", "value": "no"}])]
    )
    assert (nothing.reachable, nothing.input_schema) == (False, None)
    denied = narrowed({"a": MODE}, [rule("deny", "deny", tool=["t"])])
    assert not denied.reachable


def test_a_path_is_described_and_never_demanded() -> None:
    properties = {"path": {"type": "string", "description": "The file."}}
    rules = [
        rule("docs", "allow", paths={"roles": ["read-path"], "within": ["~/docs"]}),
        rule("srv", "escalate", paths={"roles": ["read-path"], "within": ["/srv"]}),
    ]
    found = narrowed(properties, rules, required=("path",), path=["read-path"])
    assert found.input_schema is not None
    assert at(found.input_schema, "properties", "path") == {
        "type": "string",
        "description": "The file. May be read: ~/docs. May be read with a person's approval: /srv.",
    }


def test_an_optional_path_that_may_be_nowhere_is_left_out() -> None:
    properties: dict[str, Any] = {
        "path": {"type": "string"},
        "more": {"type": "array", "items": {"type": "string"}},
    }
    rules = [rule("bare", "allow", tool=["t"], roles=["none"])]
    found = narrowed(properties, rules, path=["read-path"], more=["read-path"])
    assert found.input_schema is not None
    assert found.input_schema["properties"] == {"more": {**properties["more"], "maxItems": 0}}


def test_a_dead_tool_by_a_required_path() -> None:
    rules = [rule("out", "allow", paths={"roles": ["write-path"], "within": ["/srv"]})]
    roles: dict[str, Any] = {"source": ["read-path", "delete-path"], "target": ["write-path"]}
    properties = {"source": {"type": "string"}, "target": {"type": "string"}}
    found = narrowed(properties, rules, required=("source", "target"), **roles)
    assert not found.reachable
    assert narrowed(properties, rules, required=("source", "target"), contained=True, **roles).reachable


def test_the_sandbox_of_the_site_counts() -> None:
    """A rule for what is no longer in the sandbox can permit there what a world with one denies."""
    rules = [
        rule("in", "deny", roles=["read-path"], in_sandbox=True),
        rule("box", "allow", paths={"roles": ["read-path"], "within": ["~/box"]}),
    ]
    rules.reverse()
    options: dict[str, Any] = {"required": ("path",), "contained": True, "path": ["read-path"]}
    with_sandbox = narrowed({"path": {"type": "string"}}, rules, **options)
    without = narrowed(
        {"path": {"type": "string"}}, rules, world=described_deployment(Deployment("/home/user")), **options
    )
    assert (with_sandbox.reachable, without.reachable) == (False, True)


def test_a_project_s_own_module_takes_nothing_away() -> None:
    """It may deny one value of a class and not another, so what it said of the value tried is no proof."""
    module = CustomModule("ironcurtain/custom/mine.rego", CUSTOM, frozenset(), source="mine.rego")
    rules = [rule("allow", "allow", tool=["t"])]
    found = narrowed({"mode": MODE}, rules, custom=(module,))
    assert found.input_schema is not None
    assert found.input_schema["properties"] == {"mode": MODE}


def test_what_cannot_be_followed_stays_as_wide_as_the_server_says() -> None:
    test = {"name": "a", "op": "matches", "value": "\\pL{2}"}
    found = narrowed({"a": {"type": "string"}}, [rule("r", "allow", tool=["t"], args=[test])])
    assert found.reasons
    assert found.input_schema is not None
    assert found.input_schema["properties"] == {"a": {"type": "string"}}
    only_denied = [rule("r", "deny", tool=["t"], args=[test])]
    assert not narrowed({"a": {"type": "string"}}, only_denied).reachable


@pytest.mark.parametrize(
    ("pattern", "accepted", "refused"),
    [
        ("[a-c]+x?", ["a", "cabx"], ["", "x", "ax\n", "xa"]),
        ("a.b", ["a\nb", "axb"], ["ab", "axxb"]),
        ("(a|b)*c{2,3}", ["cc", "abccc"], ["c", "cccc"]),
        (r"\d{1,3}\.\w+", ["1.a", "123._"], ["1234.a", "\u0661.a", "1.é"]),
        (r"feat/[\w.-]+", ["feat/a-b.c"], ["feat/", "feat/a/b"]),
        ("[^a]", ["b", "é"], ["a", ""]),
    ],
)
def test_a_portable_pattern_means_what_the_rule_means(
    pattern: str, accepted: list[str], refused: list[str]
) -> None:
    portable = portable_pattern(pattern)
    assert portable is not None
    for text in [*accepted, *refused]:
        wanted = re2.fullmatch(f"(?s:{pattern})", text) is not None
        assert wanted == (text in accepted)
        assert (re2.search(portable, text) is not None) == wanted
    assert jsonschema.Draft202012Validator({"pattern": portable}).is_valid(accepted[0])


@pytest.mark.parametrize(
    "pattern",
    ["(?i)a", "[[:alpha:]]", r"\pL", r"\D", r"\W", "[", "(?P<n>a)", r"[\w-z]", "a\nb", r"\bx", "a{,2}"],
)
def test_what_dialects_read_differently_is_not_written(pattern: str) -> None:
    assert portable_pattern(pattern) is None


def test_text_says_what_was_taken_away() -> None:
    described = {"type": "object", "properties": {"a": MODE, "b": {"type": "string"}}, "required": []}
    tools = [
        tool("open", a=["none"], b=["none"]) | {"input_schema": described},
        tool("shut", a=["none"], b=["none"]) | {"input_schema": described},
        tool("some", a=["none"], b=["none"]) | {"input_schema": described},
    ]
    annotated = annotations_of({"s": tools})
    tests = [{"name": "a", "op": "equals", "value": "dry"}, {"name": "b", "op": "present", "value": False}]
    rules = [rule("open", "allow", tool=["open"]), rule("some", "escalate", tool=["some"], args=tests)]
    bundle = assemble(
        compiled(rules), annotated, registry=Registry(()), release=Release(engine_version="test")
    )
    found = narrowing(bundle, WORLD, OpaCommand(find()))
    assert list(text_lines(found, annotated)) == [
        "s/open: as the server says",
        "s/shut: hidden, no call of it can be permitted",
        "s/some: narrowed",
        "  required: a",
        "  a: no enum",
        '  a: const "dry"',
        "  b: cannot be given",
    ]
    assert found.find("s", "open") is found.tools[0]
    assert found.find("s", "none") is None
