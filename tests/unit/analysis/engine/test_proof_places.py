"""Nothing is called proved that a call contradicts: composites, whole arrays and objects, deep schemas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import pytest
from support.projects.policies import annotations_of, compiled

from ironcurtain.analysis.diff.difference import difference
from ironcurtain.analysis.engine.evaluate import decide_prepared, load_described
from ironcurtain.analysis.engine.policy_analysis import analyse_policy
from ironcurtain.analysis.findings.findings import Material, find
from ironcurtain.analysis.guarantees.guarantees import check_guarantees, status_words
from ironcurtain.analysis.narrowing.narrowing import narrowing
from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.decision.decide import Call, prepare
from ironcurtain.decision.roles import BUILT_IN, Registry, Role
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find as find_opa
from ironcurtain.model.annotations import Codec, IdentifierRole
from ironcurtain.model.guarantees import GuaranteeResult, Guarantees
from ironcurtain.model.scenarios import DescribedWorld

WORLD = DescribedWorld(home="/home/user", sandbox="/home/user/box")
TEXT = {"type": "string"}


def rule(name: str, then: str, **conditions: Any) -> dict[str, Any]:
    return {"name": name, "clause": "C1", "reason": "so", "then": then, "if": conditions}


def on(name: str, then: str, *tests: dict[str, Any]) -> dict[str, Any]:
    return rule(name, then, tool=["t"], args=list(tests))


def equals(name: str, value: object, op: str = "equals") -> dict[str, Any]:
    return {"name": name, "op": op, "value": value}


def bundle_of(
    rules: list[dict[str, Any]],
    properties: dict[str, Any],
    args: dict[str, dict[str, Any]] | None = None,
    joined: dict[str, Any] | None = None,
    role: dict[str, Any] | None = None,
) -> Bundle:
    """Return a policy over one tool `s/t`, all of whose arguments are required."""
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    listed = [{"name": name, **(args or {}).get(name, {"roles": ["none"]})} for name in properties]
    tool = {
        "tool": "t",
        "side_effects": True,
        "input_schema": schema,
        "args": listed,
        "composites": [joined] if joined else [],
    }
    annotated = annotations_of({"s": [tool]}, [role] if role else [])
    release = Release(engine_version="test")
    return assemble(compiled(rules), annotated, registry=Registry(annotated.roles), release=release)


def role_of(**more: Any) -> dict[str, Any]:
    return {"name": "thing", "description": "A thing.", "guidance": "", "case": "exact", **more}


def verdict(bundle: Bundle, arguments: dict[str, Any], caller: dict[str, Any] | None = None) -> str:
    policy = load_described(bundle, WORLD)
    prepared = prepare(Call("s", "t", arguments, caller or {}), policy)
    opa = OpaCommand(find_opa())
    return decide_prepared({"c": prepared}, bundle, policy, opa)["c"].verdict.value


def guaranteed(bundle: Bundle, **statement: Any) -> GuaranteeResult:
    each = {"id": "G1", "when": {"tool": ("t",)}, "never": "allow", **statement}
    document = {"format": "ironcurtain/guarantees/v1", "guarantees": (each,)}
    read = Guarantees.model_validate(document, strict=False)
    (result,) = check_guarantees(bundle, read, WORLD, OpaCommand(find_opa())).results
    return result


def nothing_hides_that_it_is_allowed(bundle: Bundle) -> str:
    """Check what is told of a policy that allows some call; return what is said of *never allow*."""
    opa = OpaCommand(find_opa())
    found = find(analyse_policy(bundle, WORLD, opa), Material(lambda _: {}), opa).findings
    silent = {f.kind for f in found if f.kind in ("dead-rule", "shadowed-rule") and f.proof == "proved"}
    assert not silent
    (tool,) = narrowing(bundle, WORLD, opa).tools
    assert tool.reachable
    status = guaranteed(bundle).status
    assert status in ("broken", "not found", "not examined")
    return status


# -- composites ----------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", [".", "/", None])
@pytest.mark.parametrize("between", [".", "/", "::"])
@pytest.mark.parametrize("count", [2, 3])
def test_a_composite_of_any_separator_and_length_is_examined_in_all_its_parts(
    separator: str | None, between: str, count: int
) -> None:
    parts = dict.fromkeys(("db", "schema", "table")[:count], TEXT)
    joined = {"role": "thing", "join": list(parts), "with": between}
    role = role_of(**({"separator": separator} if separator else {}))
    denied = between.join(["hr", "salaries", "x"][:count])
    rules = [
        rule("no", "deny", lists={"roles": ["thing"], "allowed": [denied]}),
        rule("rest", "allow", roles=["thing"]),
    ]
    bundle = bundle_of(rules, parts, joined=joined, role=role)
    assert verdict(bundle, dict.fromkeys(parts, "pub")) == "allow"
    assert verdict(bundle, dict(zip(parts, denied.split(between), strict=True))) == "deny"
    assert nothing_hides_that_it_is_allowed(bundle) == "broken"


def test_a_pattern_over_parts_of_a_composite_is_reached() -> None:
    parts = {"db": TEXT, "schema": TEXT, "table": TEXT}
    joined = {"role": "thing", "join": list(parts), "with": "."}

    def policy(then: str, pattern: str = "hr.**") -> Bundle:
        rules = [rule("hr", then, lists={"roles": ["thing"], "allowed": [pattern]})]
        return bundle_of(rules, parts, joined=joined, role=role_of(separator="."))

    assert verdict(policy("allow"), {"db": "hr", "schema": "x", "table": "y"}) == "allow"
    assert nothing_hides_that_it_is_allowed(policy("allow")) == "broken"
    found = difference(policy("allow"), policy("deny"), WORLD, OpaCommand(find_opa()))
    assert [change.direction for change in found.changes] == ["tightened"]
    # What has two parts is none of three.
    assert guaranteed(policy("allow", "hr.salaries")).status == "proved"
    assert guaranteed(policy("allow", "a.b.c.d.**")).status == "proved"


def test_a_composite_whose_parts_are_decoded_is_not_called_unreachable() -> None:
    joined = {"role": "thing", "join": ["schema", "table"], "with": "."}
    role = role_of(separator=".", decode="percent")
    rules = [rule("deep", "allow", lists={"roles": ["thing"], "allowed": ["hr.a.b"]})]
    bundle = bundle_of(rules, {"schema": TEXT, "table": TEXT}, joined=joined, role=role)
    assert verdict(bundle, {"schema": "hr%2Ea", "table": "b"}) == "allow"
    assert nothing_hides_that_it_is_allowed(bundle) == "not found"


# -- the invariant that proofs about sources rest on -----------------------------------------------


CODECS = get_args(Codec)
OWN_ROLES = [
    role_of(),
    {**role_of(case="fold", separator="."), "name": "folded"},
    {**role_of(separator="/", decode="percent"), "name": "decoded"},
    {**role_of(numbers=True), "name": "numbered"},
]
PATTERNS = {
    "path": ("/srv/a", "~/a"),
    "url": ("*.example.com", "example.com", "example.com/team"),
    "recipient": ("*@example.com", "alice@example.com"),
    "repository": ("acme/*", "acme/shop"),
    "remote-path": ("team/**", "team/a"),
    "thing": ("alpha", "beta"),
    "folded": ("team.**", "team.a"),
    "decoded": ("team/**", "team/a"),
    "numbered": ("7", "alpha"),
}
CONDITIONS = {"path": ("paths", "within"), "url": ("domains", "allowed"), "identifier": ("lists", "allowed")}


def regions() -> Iterator[tuple[str, Role, str, dict[str, Any]]]:
    """Yield a tool's name for each resource role there is, each pattern, and each codec it can have."""
    for role in Registry(tuple(IdentifierRole.model_validate(each) for each in OWN_ROLES)).all:
        for number, pattern in enumerate(PATTERNS[role.pattern_kind] if role.resource else ()):
            for codec in (None, *CODECS):
                if codec != "addresses" or role.name == "recipient":
                    name = f"{role.name}-{number}-{codec or 'plain'}"
                    yield name, role, pattern, {"codec": codec} if codec else {}


@pytest.mark.parametrize("inside", [True, False])
def test_each_region_of_an_argument_has_a_witness_that_steps_4_and_5_take(inside: bool) -> None:
    """Every role that ships, and every kind that a project can declare, in every codec that it can have."""
    tools, rules = [], []
    for name, role, pattern, flags in regions():
        args = [{"name": "it", "roles": [role.name], **flags}]
        schema = {"type": "object", "properties": {"it": TEXT}, "required": ["it"]}
        tools.append({"tool": name, "side_effects": True, "input_schema": schema, "args": args})
        key, field = CONDITIONS[role.category]
        named = {"tool": [name], key: {"roles": [role.name], field: [pattern]}}
        rules.append(rule(f"in-{name}", "allow" if inside else "deny", **named))
        if not inside:
            rules.append(rule(f"rest-{name}", "allow", tool=[name], roles=[role.name]))
    annotated = annotations_of({"s": tools}, OWN_ROLES)
    release = Release(engine_version="test")
    bundle = assemble(compiled(rules), annotated, registry=Registry(annotated.roles), release=release)
    never = [{"id": tool["tool"], "when": {"tool": (tool["tool"],)}, "never": "allow"} for tool in tools]
    document = {"format": "ironcurtain/guarantees/v1", "guarantees": tuple(never)}
    read = Guarantees.model_validate(document, strict=False)
    results = check_guarantees(bundle, read, WORLD, OpaCommand(find_opa())).results
    assert [each.id for each in results if each.status != "broken"] == []
    assert {role.name for _, role, *_ in regions()} >= {role.name for role in BUILT_IN if role.resource}


@pytest.mark.parametrize("listed", [["README.md"], ["README.md", "LICENSE"]])
def test_an_enumeration_relative_to_another_argument_names_other_files_in_each_call(
    listed: list[str],
) -> None:
    rules = [rule("a", "allow", paths={"roles": ["read-path", "write-path"], "within": ["/srv/a"]})]
    args: dict[str, dict[str, Any]] = {
        "repo": {"roles": ["read-path"]},
        "file": {"roles": ["write-path"], "relative_to": "/repo"},
    }
    bundle = bundle_of(rules, {"repo": TEXT, "file": {"enum": listed}}, args)
    assert verdict(bundle, {"repo": "/srv/a/x", "file": "README.md"}) == "allow"
    nothing_hides_that_it_is_allowed(bundle)
    assert guaranteed(bundle, when={"roles": ("write-path",)}).status in ("broken", "not found")


def test_an_enumeration_of_elements_is_examined_value_by_value() -> None:
    rules = [
        rule("no", "deny", paths={"roles": ["read-path"], "within": ["/srv/b"]}),
        rule("yes", "allow", paths={"roles": ["read-path"], "within": ["/srv"]}),
    ]
    args = {"p": {"roles": ["read-path"]}}
    items = {"enum": ["/srv/a/x", "/srv/b/y"]}
    bundle = bundle_of(rules, {"p": {"type": "array", "items": items, "minItems": 2}}, args)
    assert verdict(bundle, {"p": ["/srv/a/x", "/srv/a/x"]}) == "allow"
    assert nothing_hides_that_it_is_allowed(bundle) == "broken"
    elsewhere = guaranteed(bundle, when={"roles": ("read-path",), "outside": ("/srv/a",)})
    assert elsewhere.status == "proved"


@pytest.mark.parametrize("denied", [["7"], ["7", "8"], ["7", "77", "7777", "777777", "777777777"]])
@pytest.mark.parametrize("least", [1, 1_000, 1_000_000])
def test_a_number_that_no_pattern_names_is_tried(denied: list[str], least: int) -> None:
    rules = [
        rule("no", "deny", lists={"roles": ["thing"], "allowed": denied}),
        rule("rest", "allow", roles=["thing"]),
    ]
    schema = {"id": {"type": "integer", "minimum": least}}
    bundle = bundle_of(rules, schema, {"id": {"roles": ["thing"]}}, role=role_of(numbers=True))
    assert nothing_hides_that_it_is_allowed(bundle) == "broken"


# -- arrays and objects as wholes ------------------------------------------------------------------

LABELS = {"type": "array", "items": TEXT, "minItems": 1}
OBJECT = {"type": "object", "properties": {"id": TEXT}, "required": ["id"]}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (LABELS, ["x"]),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 2}, [1, 2]),
        (OBJECT, {"id": "x"}),
        ({"enum": [["x"], ["y"]]}, ["x"]),
        ({"type": ["array", "string"], "maxLength": 1}, ["x", "y"]),
    ],
)
def test_arrays_and_objects_that_are_compared_with_a_fact_can_equal_it(
    schema: dict[str, Any], value: object
) -> None:
    bundle = bundle_of([on("own", "allow", equals("it", {"caller": "/it"}))], {"it": schema})
    assert verdict(bundle, {"it": value}, {"it": value}) == "allow"
    nothing_hides_that_it_is_allowed(bundle)


@pytest.mark.parametrize(
    ("schema", "tests", "value"),
    [
        (
            {"type": "array", "items": {"const": "other"}, "maxItems": 5},
            [equals("it", [["other"], ["other", "other"], []], "not_in")],
            ["other"] * 3,
        ),
        (
            {"type": "array", "items": {"type": "boolean"}, "maxItems": 2},
            [equals("it", [[], [True], [False], [True, True], [False, False], [False, True]], "not_in")],
            [True, False],
        ),
        (
            {"type": "array", "items": {"type": "object", "required": ["k"], "properties": {"k": TEXT}}},
            [equals("/it/*", {"k": ""}, "not_equals")],
            [{"k": "x"}],
        ),
        (
            {"type": "object", "properties": {"dry": {"type": "boolean"}, "n": {"type": "integer"}}},
            [equals("it", {"dry": False}, "not_equals"), equals("/it/dry", value=False)],
            {"dry": False, "n": 1},
        ),
    ],
)
def test_arrays_and_objects_that_differ_from_constants_are_not_missed(
    schema: dict[str, Any], tests: list[dict[str, Any]], value: object
) -> None:
    bundle = bundle_of([on("x", "allow", *tests)], {"it": schema})
    assert verdict(bundle, {"it": value}) == "allow"
    nothing_hides_that_it_is_allowed(bundle)


def test_arrays_that_are_only_compared_as_wholes_are_examined_exactly() -> None:
    rules = [on("x", "deny", equals("it", [["a"], ["b", "c"]], "in")), rule("rest", "deny", tool=["t"])]
    assert guaranteed(bundle_of(rules, {"it": LABELS})).status == "proved"


def test_a_role_that_depends_on_an_object_is_not_said_to_be_in_no_call() -> None:
    branch = {"arg": "o", "equals": {"k": ""}, "roles": ["read-path"]}
    args = {"path": {"conditional": {"default": ["read-path", "write-path"], "when": [branch]}}}
    schema = {"type": "object", "properties": {"k": TEXT}, "required": ["k"]}
    rules = [rule("r", "allow", paths={"roles": ["write-path", "read-path"], "within": ["/srv"]})]
    bundle = bundle_of(rules, {"path": TEXT, "o": schema}, args)
    assert verdict(bundle, {"path": "/srv/x", "o": {"k": "x"}}) == "allow"
    written = guaranteed(bundle, when={"roles": ("write-path",)})
    assert written.status != "proved"
    assert "it speaks of no call" not in status_words(written)


# -- depth, and trees ------------------------------------------------------------------------------


def test_what_is_nested_too_deeply_does_not_hide_what_stands_beside_it() -> None:
    deep: dict[str, Any] = TEXT
    value: object = "x"
    for _ in range(10):
        deep, value = {"type": "array", "items": deep, "minItems": 1}, [value]
    schema = {"type": "object", "properties": {"mode": TEXT, "filter": deep}, "required": ["filter", "mode"]}
    bundle = bundle_of([on("q", "allow", equals("/q/mode", "a"))], {"q": schema})
    assert verdict(bundle, {"q": {"mode": "a", "filter": value}}) == "allow"
    nothing_hides_that_it_is_allowed(bundle)


@pytest.mark.parametrize("then", ["deny", "escalate"])
def test_a_directory_that_only_one_policy_names_changes_what_holds_it(then: str) -> None:
    allowed = rule("a", "allow", paths={"roles": ["delete-path"], "within": ["~/a"]})
    inner = rule("no", then, paths={"roles": ["delete-path"], "within": ["~/a/b"]})
    args = {"tree": {"roles": ["delete-path"], "recursive": True}}
    schema = {"tree": {"enum": ["/home/user/a"]}}
    old, new = (bundle_of(rules, schema, args) for rules in ([allowed], [inner, allowed]))
    assert [verdict(each, {"tree": "/home/user/a"}) for each in (old, new)] == ["allow", then]
    opa = OpaCommand(find_opa())
    assert [c.direction for c in difference(old, new, WORLD, opa).changes] == ["tightened"]
    assert [c.direction for c in difference(new, old, WORLD, opa).changes] == ["loosened"]
    assert difference(old, old, WORLD, opa).changes == ()


# -- paths that are relative to another argument ----------------------------------------------------


def test_a_relative_default_is_read_beside_the_base_of_the_call_that_is_shown() -> None:
    """The short default lies wherever its base does, and `/srv` nowhere else."""
    properties = {"it": {"type": "string", "maxLength": 8, "default": "hard"}, "base": TEXT}
    schema = {"type": "object", "properties": properties, "required": ["base"]}
    args = [
        {"name": "it", "roles": ["delete-path"], "relative_to": "base", "recursive": True},
        {"name": "base", "roles": ["write-path"]},
    ]
    tool = {"tool": "t", "side_effects": True, "input_schema": schema, "args": args, "contained": True}
    rules = [
        rule("srv", "allow", tool=["t"], paths=[{"roles": ["delete-path"], "within": ["/srv"]}]),
        rule("ask", "escalate", server=["s"], paths=[{"roles": ["write-path"], "within": ["~/a/b", "~"]}]),
    ]
    annotated = annotations_of({"s": [tool]})
    release = Release(engine_version="test")
    bundle = assemble(compiled(rules), annotated, registry=Registry(annotated.roles), release=release)
    result = guaranteed(bundle, never="escalate")
    assert result.status == "broken"
