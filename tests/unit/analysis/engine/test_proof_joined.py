"""Nothing is called proved that a call contradicts: joined resources, whole containers, and listed values."""

from __future__ import annotations

from typing import Any

import pytest
from support.projects.policies import annotations_of, compiled

from ironcurtain.analysis.diff.difference import difference
from ironcurtain.analysis.engine.evaluate import decide_prepared, load_described
from ironcurtain.analysis.guarantees.guarantees import check_guarantees
from ironcurtain.analysis.matrix.matrix import decision_matrix
from ironcurtain.analysis.narrowing.narrowing import narrowing
from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.decision.decide import Call, prepare
from ironcurtain.decision.roles import Registry
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find as find_opa
from ironcurtain.model.guarantees import GuaranteeResult, Guarantees
from ironcurtain.model.scenarios import DescribedWorld

WORLD = DescribedWorld(home="/home/user", sandbox="/home/user/box")
TEXT = {"type": "string"}
REPOSITORY = {"role": "repository", "join": ["owner", "repo"], "with": "/"}
PARTS = {"owner": TEXT, "repo": TEXT}


def rule(name: str, then: str, **conditions: Any) -> dict[str, Any]:
    return {"name": name, "clause": "C1", "reason": "so", "then": then, "if": conditions}


def on(name: str, then: str, *tests: dict[str, Any]) -> dict[str, Any]:
    return rule(name, then, tool=["t"], args=list(tests))


def listed(name: str, then: str, role: str, *patterns: str, **more: Any) -> dict[str, Any]:
    return rule(name, then, lists={"roles": [role], "allowed": list(patterns)}, **more)


def equals(name: str, value: object, op: str = "equals") -> dict[str, Any]:
    return {"name": name, "op": op, "value": value}


def bundle_of(
    rules: list[dict[str, Any]],
    properties: dict[str, Any],
    joined: dict[str, Any] | None = None,
    roles: dict[str, str] | None = None,
    required: tuple[str, ...] = (),
) -> Bundle:
    """Return a policy over one tool `s/t`."""
    schema = {"type": "object", "properties": properties, "required": list(required)}
    args = [{"name": name, "roles": [(roles or {}).get(name, "none")]} for name in properties]
    tool = {"tool": "t", "side_effects": True, "input_schema": schema, "args": args}
    own = [{"name": "thing", "description": "A thing.", "guidance": "", "case": "exact"}]
    annotated = annotations_of({"s": [{**tool, "composites": [joined] if joined else []}]}, own)
    release = Release(engine_version="test")
    return assemble(compiled(rules), annotated, registry=Registry(annotated.roles), release=release)


def opa() -> OpaCommand:
    return OpaCommand(find_opa())


def verdict(bundle: Bundle, arguments: dict[str, Any]) -> str:
    policy = load_described(bundle, WORLD)
    prepared = prepare(Call("s", "t", arguments), policy)
    return decide_prepared({"c": prepared}, bundle, policy, opa())["c"].verdict.value


def guaranteed(bundle: Bundle, **statement: Any) -> GuaranteeResult:
    each = {"id": "G1", "when": {"tool": ("t",)}, "never": "allow", **statement}
    document = {"format": "ironcurtain/guarantees/v1", "guarantees": (each,)}
    read = Guarantees.model_validate(document, strict=False)
    (result,) = check_guarantees(bundle, read, WORLD, opa()).results
    return result


# -- parts of a joined resource that are tested ----------------------------------------------------


def of_owner(value: str) -> dict[str, Any]:
    return {"tool": ("t",), "args": (equals("owner", value),)}


def test_a_tested_part_of_a_repository_leaves_a_guarantee_proved() -> None:
    bundle = bundle_of(
        [on("acme", "deny", equals("owner", "acme")), rule("all", "allow", tool=["t"])], PARTS, REPOSITORY
    )
    assert verdict(bundle, {"owner": "acme", "repo": "x"}) == "deny"
    assert guaranteed(bundle, when=of_owner("acme")).status == "proved"
    broken = guaranteed(bundle, when=of_owner("else"))
    assert broken.status == "broken"
    assert broken.witness is not None
    assert broken.witness.arguments["owner"] == "else"


def test_a_call_without_a_resource_is_found_where_its_part_is_tested() -> None:
    rules = [on("none", "allow", equals("owner", value=False, op="present"))]
    bundle = bundle_of(rules, PARTS, REPOSITORY)
    assert verdict(bundle, {}) == "allow"
    assert guaranteed(bundle).status == "broken"
    assert guaranteed(bundle, when={"roles": ("repository",)}).status == "proved"


def test_a_guard_sees_a_joined_resource_whose_part_is_tested() -> None:
    """Whether there is one depends on the tested part, so it is no question of the plainest value alone."""
    rules = [
        on("none", "deny", equals("owner", "secret")),
        listed("acme", "allow", "repository", "acme/*", paths={"roles": ["read-path"], "within": ["/srv"]}),
    ]
    bundle = bundle_of(rules, {**PARTS, "p": TEXT}, REPOSITORY, roles={"p": "read-path"})
    assert verdict(bundle, {"owner": "acme", "repo": "x", "p": "/srv/x"}) == "allow"
    assert guaranteed(bundle).status == "broken"
    assert guaranteed(bundle, when=of_owner("secret")).status == "proved"
    (table,) = decision_matrix(bundle, WORLD, opa()).servers["s"]
    rows = [row for row in table.rows if row.roles == ("read-path",)]
    assert "allow" in {outcome.verdict for row in rows for outcome in row.outcomes}


def test_a_part_that_does_not_lie_in_the_region_is_no_counterexample() -> None:
    """Of `acme/*` the owner is acme in some spelling, so no call that is found has another owner."""
    rules = [listed("acme", "allow", "repository", "acme/*", args=[equals("owner", "else")])]
    bundle = bundle_of(rules, PARTS, REPOSITORY)
    assert verdict(bundle, {"owner": "else", "repo": "x"}) == "deny"
    result = guaranteed(bundle)
    assert result.status == "not found"
    assert result.reasons


def test_policies_that_differ_in_a_part_are_told_apart_by_a_call() -> None:
    old, new = (
        bundle_of(
            [listed("all", "allow", "repository", "acme/*", args=[equals("repo", name)])], PARTS, REPOSITORY
        )
        for name in ("shop", "site")
    )
    found = difference(old, new, WORLD, opa())
    assert found.exactness == "exact"
    assert {change.direction for change in found.changes} == {"loosened", "tightened"}
    assert {change.witness.arguments["repo"] for change in found.changes if change.witness} == {
        "shop",
        "site",
    }


# -- separators ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "mark", "pattern", "arguments"),
    [
        ("recipient", ".", "*@example.com", {"a": "x", "b": "y@example", "c": "com"}),
        ("recipient", "@", "eve@example.com", {"a": "eve", "b": "example.com"}),
        ("recipient", "a", "eve@mail.com", {"a": "eve@m", "b": "il.com"}),
        ("thing", "::", "a:::::b", {"a": "a", "b": ":", "c": "b"}),
        ("thing", "--", "x--y", {"a": "x", "b": "y"}),
        ("thing", "aXa", "baXaXab", {"a": "b", "b": "Xab"}),
        ("repository", "-", "acme/a-b", {"a": "acme/a", "b": "b"}),
    ],
)
def test_a_value_is_found_however_its_parts_are_joined(
    role: str, mark: str, pattern: str, arguments: dict[str, str]
) -> None:
    joined = {"role": role, "join": list(arguments), "with": mark}
    bundle = bundle_of([listed("one", "allow", role, pattern)], dict.fromkeys(arguments, TEXT), joined)
    assert verdict(bundle, arguments) == "allow"
    assert guaranteed(bundle).status == "broken"
    assert narrowing(bundle, WORLD, opa()).tools[0].reachable


@pytest.mark.parametrize(
    ("role", "mark"), [("thing", ""), ("repository", "::"), ("recipient", ":"), ("repository", "a/b/c/")]
)
def test_parts_that_can_never_be_joined_are_proved_to_make_nothing(role: str, mark: str) -> None:
    joined = {"role": role, "join": ["owner", "repo"], "with": mark}
    bundle = bundle_of([rule("all", "allow", roles=[role])], PARTS, joined)
    assert verdict(bundle, {"owner": "x", "repo": "y"}) == "deny"
    assert guaranteed(bundle, when={"roles": (role,)}).status == "says nothing"


# -- containers ------------------------------------------------------------------------------------

SHORT = {"type": "array", "items": {"enum": ["a", "b", "c"]}, "maxItems": 1}


def test_an_array_that_equals_no_operand_is_not_missed_beside_an_object() -> None:
    """An object differs from every operand, but arrays do so in another way: `not_in` holds of them alone."""
    rules = [on("other", "allow", equals("v", [[], ["a"], ["b"]], op="not_in"))]
    bundle = bundle_of(rules, {"v": {"anyOf": [SHORT, {"type": "object"}]}}, required=("v",))
    assert verdict(bundle, {"v": ["c"]}) == "allow"
    assert verdict(bundle, {"v": {"k": 1}}) == "deny"
    assert guaranteed(bundle).status != "proved"
    assert narrowing(bundle, WORLD, opa()).tools[0].reachable


def test_whole_containers_are_compared_with_facts_and_constants() -> None:
    rules = [
        on("own", "allow", equals("v", {"caller": "/groups"})),
        on("none", "deny", equals("v", [])),
        on("team", "allow", equals("v", ["x", "y"])),
    ]
    bundle = bundle_of(rules, {"v": {"type": "array", "items": TEXT}}, required=("v",))
    unequal = {
        "tool": ("t",),
        "args": (equals("v", ["z"]), equals("v", {"caller": "/groups"}, op="not_equals")),
    }
    known = {**unequal, "caller": (equals("/groups", value=["x"]),)}
    assert guaranteed(bundle).status == "broken"
    assert guaranteed(bundle, when=known).status == "proved"


def test_a_fact_equals_what_is_in_an_object_that_is_compared_as_a_whole() -> None:
    known = [{"key": "alice", "size": {"n": 2}, "value": "a"}]
    own = [equals("/v/deep", known, op="in"), equals("/v/deep/key", {"caller": "/team"})]
    rules = [on("own", "allow", *own, {"name": "/v/deep/size/n", "op": "ge", "value": 1})]
    size = {"type": "object", "properties": {"n": {"type": "integer"}}}
    deep = {"type": "object", "properties": {"key": TEXT, "size": size, "value": TEXT}, "required": ["key"]}
    schema = {"type": "object", "properties": {"deep": deep}, "required": ["deep"]}
    assert guaranteed(bundle_of(rules, {"v": schema}, required=("v",))).status == "broken"


LETTER = {"type": "string", "pattern": "^[x-z]$"}


@pytest.mark.parametrize(
    ("properties", "one", "other", "equal"),
    [
        ({"a": LETTER, "b": {"type": "string", "maxLength": 3}}, "a", "b", {"a": "y", "b": "y"}),
        ({"a": {"type": "integer", "minimum": 41}, "b": {"multipleOf": 7}}, "a", "b", {"a": 42, "b": 42}),
        ({"a": {"enum": ["q", 7]}, "b": {"type": ["integer", "boolean"]}}, "a", "b", {"a": 7, "b": 7}),
        (
            {"a": {"type": "array", "items": LETTER, "minItems": 2}, "b": {}},
            "a",
            "b",
            {"a": ["x", "z"], "b": ["x", "z"]},
        ),
        (
            {"v": {"type": "object", "properties": {"a": LETTER, "b": {"type": "string", "maxLength": 3}}}},
            "/v/a",
            "/v/b",
            {"v": {"a": "z", "b": "z"}},
        ),
    ],
)
def test_what_is_compared_can_equal_whatever_the_schema_asks_of_both(
    properties: dict[str, Any], one: str, other: str, equal: dict[str, Any]
) -> None:
    rules = [on("same", "allow", equals(one, {"arg": other}))]
    bundle = bundle_of(rules, properties, required=tuple(properties))
    assert verdict(bundle, equal) == "allow"
    assert guaranteed(bundle).status == "broken"
    differ = {"tool": ("t",), "args": (equals(one, {"arg": other}, op="not_equals"),)}
    assert guaranteed(bundle, when=differ).status == "proved"


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        ({"enum": ["soft", "hard"], "default": "dry"}, "a"),
        (
            {"type": "object", "properties": {"k": {"type": "integer"}}, "default": {"k": "dry"}},
            "/a/k",
        ),
    ],
)
def test_what_is_compared_can_equal_a_default_that_the_schema_refuses(
    schema: dict[str, Any], name: str
) -> None:
    listed = on("listed", "deny", equals(name, ["soft", "hard"], op="in"))
    bundle = bundle_of(
        [listed, on("same", "allow", equals(name, {"arg": "b"}))], {"a": schema, "b": TEXT}, required=("b",)
    )
    assert verdict(bundle, {"b": "dry"}) == "allow"
    assert guaranteed(bundle).status == "broken"
    assert narrowing(bundle, WORLD, opa()).tools[0].reachable


def test_a_whole_object_is_compared_beside_tests_of_its_members() -> None:
    schema = {"type": "object", "properties": {"k": {"enum": ["x", "y"]}, "n": {"type": "integer"}}}
    rules = [on("one", "deny", equals("v", {"k": "x"})), on("like", "allow", equals("/v/k", "x"))]
    bundle = bundle_of(rules, {"v": schema}, required=("v",))
    assert verdict(bundle, {"v": {"k": "x"}}) == "deny"
    assert verdict(bundle, {"v": {"k": "x", "n": 1}}) == "allow"
    assert guaranteed(bundle).status == "broken"
    assert guaranteed(bundle, when={"tool": ("t",), "args": (equals("v", {"k": "x"}),)}).status == "proved"
    assert guaranteed(bundle, when={"tool": ("t",), "args": (equals("/v/k", "y"),)}).status == "proved"


def test_a_null_stands_for_no_text_that_a_test_takes_as_well() -> None:
    """A null counts as absent, and here it is filled in: only the text itself is allowed."""
    rules = [on("one", "allow", {**equals("p", "secret"), "or_absent": True})]
    bundle = bundle_of(rules, {"p": {"type": ["string", "null"], "default": "zz"}})
    assert verdict(bundle, {"p": "secret"}) == "allow"
    assert verdict(bundle, {"p": None}) == "deny"
    assert guaranteed(bundle).status == "broken"


@pytest.mark.parametrize("long", ["é" * 600, "ab" * 1_900, "a?" * 1_500])
def test_a_long_text_or_expression_is_examined(long: str) -> None:
    matches = {"name": "v", "op": "matches", "value": long}
    rules = [
        on("one", "deny", equals("v", long)),
        on("like", "allow", matches),
        on("short", "allow", equals("v", "x")),
    ]
    bundle = bundle_of(rules, {"v": TEXT}, required=("v",))
    assert verdict(bundle, {"v": long}) == "deny"
    assert guaranteed(bundle).status == "broken"
    status = guaranteed(bundle, when={"tool": ("t",), "args": (equals("v", long),)}).status
    assert status == ("not found" if "?" in long else "proved")


# -- listed values ---------------------------------------------------------------------------------


def test_a_listed_value_that_a_wide_pattern_covers_has_a_row() -> None:
    rules = [
        rule("all", "escalate", tool=["t"]),
        rule("root", "allow", paths={"roles": ["write-path"], "within": ["/"]}),
    ]
    bundle = bundle_of(
        rules, {"p": {"enum": ["acme/shop", "acme"]}}, roles={"p": "write-path"}, required=("p",)
    )
    assert verdict(bundle, {"p": "acme"}) == "escalate"
    (table,) = decision_matrix(bundle, WORLD, opa()).servers["s"]
    assert [outcome.verdict for row in table.rows for outcome in row.outcomes] == ["escalate"]
