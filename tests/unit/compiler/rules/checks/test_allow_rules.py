"""What a model's rules are held to beyond those of people."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ironcurtain.compiler.rules.checks.allow_rules import rule_mistakes, unlimited
from ironcurtain.compiler.rules.checks.policy import check_policy
from ironcurtain.decision.roles import Registry
from ironcurtain.model.annotations import Annotations
from ironcurtain.model.lists import Lists
from ironcurtain.model.policy import CompiledPolicy, Rule

SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "url": {"type": "string"},
        "n": {"type": "number"},
        "mode": {"type": "string", "default": "list"},
        "stated": {"type": "string", "description": "Omit to list everything."},
        "kind": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["kind"],
}
PLAIN = ["n", "mode", "stated", "kind", "tags"]


def tool(name: str, path: list[str], *, side_effects: bool = True) -> dict[str, Any]:
    args = [{"name": "path", "roles": path}, {"name": "url", "roles": ["none"]}]
    args += [{"name": argument, "roles": ["none"]} for argument in PLAIN]
    return {
        "tool": name,
        "side_effects": side_effects,
        "contained": True,
        "input_schema": SCHEMA,
        "args": args,
    }


ANNOTATIONS = Annotations.model_validate_json(
    json.dumps(
        {
            "format": "ironcurtain/annotations/v1",
            "servers": {
                "s": {
                    "tools": [
                        tool("read", ["read-path"]),
                        tool("write", ["write-path"]),
                        tool("touch", ["none"]),
                        tool("look", ["none"], side_effects=False),
                        tool("push", ["git-remote-url"]),
                    ]
                }
            },
        }
    )
)
REGISTRY = Registry()


def rule(then: str = "allow", name: str = "s-a", **conditions: Any) -> Rule:
    document = {
        "name": name,
        "clause": "C1",
        "if": {"server": ["s"], **conditions},
        "then": then,
        "reason": "r",
    }
    return Rule.model_validate_json(json.dumps(document))


def compared(name: str, op: str, value: Any = None, **more: Any) -> dict[str, Any]:
    return {"tool": ["read"], "args": [{"name": name, "op": op, "value": value, **more}]}


def within(*paths: str, roles: tuple[str, ...] = ("write-path",), **more: Any) -> dict[str, Any]:
    return {"paths": [{"roles": list(roles), "within": list(paths)}], **more}


def mistakes(*rules: Rule) -> list[str]:
    return rule_mistakes(rules[0], rules, ANNOTATIONS)


ON_TESTS: list[tuple[str, dict[str, Any], str | None]] = [
    ("allow", compared("kind", "equals", "x"), None),
    ("allow", compared("kind", "in", ["x", "y"]), None),
    ("allow", compared("kind", "not_equals", "x"), "may not rest on not_equals"),
    ("allow", compared("kind", "not_in", ["x"]), "may not rest on not_in"),
    ("deny", compared("kind", "not_equals", "x"), None),
    ("escalate", compared("kind", "not_in", ["x"]), None),
    ("allow", compared("n", "le", 50, or_absent=True), "may rest on a missing argument only where"),
    ("allow", compared("n", "le", 50, or_absent=False), None),
    ("allow", compared("n", "le", 50), "give `or_absent`"),
    ("escalate", compared("n", "gt", 50), "give `or_absent`"),
    ("escalate", compared("n", "gt", 50, or_absent=True), None),
    ("allow", compared("n", "present", value=False), "may rest on a missing argument only where"),
    ("allow", compared("n", "present", value=True), None),
    ("deny", compared("n", "present", value=False), None),
    ("allow", compared("stated", "equals", "x", or_absent=True), None),
    ("allow", compared("stated", "present", value=False), None),
    ("allow", compared("mode", "equals", "list"), None),
    ("allow", compared("/tags/*", "in", ["a"], over="some"), "must hold for every element"),
    ("allow", compared("/tags/*", "in", ["a"]), None),
    ("escalate", compared("/tags/*", "in", ["a"]), "say what a mixed list means"),
    ("escalate", compared("/tags/*", "in", ["a"], over="some"), None),
]


@pytest.mark.parametrize(("then", "conditions", "said"), ON_TESTS)
def test_absent_mixed_and_negative_values_are_decided_deliberately(
    then: str, conditions: dict[str, Any], said: str | None
) -> None:
    found = mistakes(rule(then, **conditions))
    assert len(found) == (said is not None)
    assert all(str(said) in mistake for mistake in found)


def test_a_caller_fact_is_no_negative_limit_either() -> None:
    caller = [{"name": "/team", "op": "not_equals", "value": "guests"}]
    assert len(mistakes(rule(tool=["read"], caller=caller))) == 1
    assert mistakes(rule("deny", tool=["read"], caller=caller)) == []


@pytest.mark.parametrize(
    ("conditions", "protected"),
    [
        (within("~/.ironcurtain"), True),
        (within("~/.config/ironcurtain/keys"), True),
        (within("/home/kim/.local/state/ironcurtain"), True),
        (within("~/Library/Application Support/ironcurtain", roles=("read-path",)), True),
        (within("~/work/.git"), True),
        (within("~/work/.GIT/hooks"), True),
        (within("~/work/.git", roles=("read-path",)), False),
        (within("~/code/ironcurtain"), False),
        (within("~/.github"), False),
    ],
)
def test_rules_about_protected_places_are_refused(conditions: dict[str, Any], protected: bool) -> None:
    for then in ("allow", "escalate", "deny"):
        assert (
            any("protected before any rule" in said for said in mistakes(rule(then, **conditions)))
            is protected
        )


def test_a_rule_that_restates_containment_is_refused() -> None:
    inside = rule(tool=["write"], in_sandbox=True)
    assert "already excuses" in mistakes(inside)[0]
    later = rule("escalate", "s-b", tool=["write"], in_sandbox=True)
    assert mistakes(inside, later) == []
    of_another = rule("escalate", "s-b", tool=["read"], in_sandbox=True)
    assert len(mistakes(inside, of_another)) == 1
    assert mistakes(later) == []


def bounded(op: str, value: Any, **more: Any) -> dict[str, Any]:
    return {"args": [{"name": "n", "op": op, "value": value, **more}]}


OPEN: list[tuple[dict[str, Any], dict[str, tuple[str, ...]]]] = [
    ({"tool": ["read"]}, {}),
    ({"tool": ["look"]}, {}),
    ({"tool": ["write"]}, {"write": ("write-path", "none")}),
    ({"tool": ["touch"]}, {"touch": ("none",)}),
    ({"roles": ["none"], "tool": ["touch", "read"]}, {"touch": ("none",)}),
    ({"roles": ["read-path"], "tool": ["read", "write", "push"]}, {}),
    ({"roles": ["write-path"], "tool": ["write"]}, {"write": ("write-path",)}),
    (within("~/notes"), {}),
    (within("~/notes", "~"), {"write": ("write-path",), "push": ("write-path",)}),
    (within("/"), {"write": ("write-path",), "push": ("write-path",)}),
    ({"tool": ["push"]}, {"push": ("git-remote-url", "write-path", "none")}),
    ({"domains": [{"roles": ["git-remote-url"], "allowed": ["github.com/kim"]}]}, {}),
    ({"domains": [{"roles": ["git-remote-url"], "allowed": ["*"]}]}, {"push": ("git-remote-url",)}),
    ({"side_effects": False}, {}),
    ({"tool": ["touch"], **bounded("le", 50)}, {}),
    ({"tool": ["touch"], **bounded("ge", 10)}, {}),
    ({"tool": ["touch"], **bounded("ge", 0)}, {"touch": ("none",)}),
    ({"tool": ["touch"], **bounded("le", 50, or_absent=True)}, {"touch": ("none",)}),
    ({"tool": ["touch"], **bounded("le", 50, measure="length")}, {"touch": ("none",)}),
    ({"tool": ["touch"], **bounded("le", {"arg": "/m"})}, {"touch": ("none",)}),
    ({"tool": ["touch"], **bounded("le", {"caller": "/limit"})}, {}),
    ({"tool": ["touch"], **bounded("equals", {"caller": "/sub"})}, {}),
    ({"tool": ["touch"], **bounded("equals", 7)}, {"touch": ("none",)}),
    ({"tool": ["write"], "caller": [{"name": "/team", "op": "in", "value": ["it"]}]}, {}),
    (
        {"tool": ["touch"], "caller": [{"name": "/team", "op": "equals", "value": "it", "or_absent": True}]},
        {"touch": ("none",)},
    ),
    ({"tool": ["touch"], "caller": [{"name": "/sub", "op": "present", "value": True}]}, {"touch": ("none",)}),
    (within("~/notes", side_effects=True), {}),
]


@pytest.mark.parametrize(("conditions", "expected"), OPEN)
def test_what_is_allowed_without_a_limit(
    conditions: dict[str, Any], expected: dict[str, tuple[str, ...]]
) -> None:
    found = {one.tool.tool: set(one.roles) for one in unlimited(rule(**conditions), ANNOTATIONS, REGISTRY)}
    assert found == {name: set(roles) for name, roles in expected.items()}
    for then in ("escalate", "deny"):
        assert unlimited(rule(then, **conditions), ANNOTATIONS, REGISTRY) == ()


def test_people_may_write_what_a_model_may_not() -> None:
    rules = (
        rule(name="everything", tool=["write"]),
        rule(name="negative", **compared("kind", "not_equals", "x")),
        rule(name="inside", tool=["write"], in_sandbox=True),
    )
    policy = CompiledPolicy(format="ironcurtain/policy/v1", rules=rules)
    lists = Lists(format="ironcurtain/lists/v1", lists={})
    assert len(check_policy(policy, ANNOTATIONS, lists, REGISTRY).rules) == 3
    assert all(
        unlimited(one, ANNOTATIONS, REGISTRY) or rule_mistakes(one, rules, ANNOTATIONS) for one in rules
    )
