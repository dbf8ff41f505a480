"""Compile errors of rules: each is refused, named, and told together with the others."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import pytest
from support.projects.policies import CALLER

from ironcurtain.compiler.rules.checks.policy import check_policy
from ironcurtain.decision.roles import Registry
from ironcurtain.errors import IronCurtainError, ListError, PatternError, RuleError, SeveralErrors
from ironcurtain.model.annotations import Annotations
from ironcurtain.model.lists import Lists
from ironcurtain.model.policy import CompiledPolicy

SCHEMA = {
    "type": "object",
    "properties": {
        "amount": {"type": "number"},
        "to": {"type": "string"},
        "note": {"type": "string"},
        "options": {"type": "object"},
        "steps": {"type": "array", "items": {"type": "number"}},
        "pair": {"type": "array", "prefixItems": [{"type": "number"}, {"type": "string"}]},
        "list": {"type": "array"},
        "any": {},
        "files": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"path": {"type": "string"}, "mode": {"type": "string"}},
            },
        },
    },
}
SERVERS = {
    "fs": {
        "tools": [
            {"tool": "read_file", "side_effects": True, "args": [{"name": "path", "roles": ["read-path"]}]}
        ]
    },
    "pay": {
        "tools": [
            {
                "tool": "pay",
                "side_effects": True,
                "input_schema": SCHEMA,
                "args": [
                    {"name": "to", "roles": ["recipient"]},
                    *(
                        {"name": name, "roles": ["none"]}
                        for name in ("amount", "note", "options", "steps", "pair", "list", "any")
                    ),
                    {"name": "/files/*/path", "roles": ["read-path"]},
                    {"name": "/files/*/mode", "roles": ["none"]},
                ],
            }
        ]
    },
}
LISTS: dict[str, Any] = {
    "friends": {"type": "recipient", "resolved": ["Alice@Example.com"]},
    "hosts": {"type": "domain", "resolved": ["example.com"]},
    "open": {"type": "recipient"},
}
Condition: TypeAlias = dict[str, Any]
PAY: Condition = {"tool": ["pay"]}


def check(
    *conditions: Condition,
    then: str = "allow",
    lists: Mapping[str, Any] = LISTS,
    names: Sequence[str] = (),
    clauses: Sequence[str] = (),
) -> CompiledPolicy:
    """Check rules of these conditions over two servers; return them with their patterns canonical."""
    annotations = Annotations.model_validate_json(
        json.dumps({"format": "ironcurtain/annotations/v1", "servers": SERVERS})
    )
    rules = [
        {"name": names[i] if names else f"r{i}", "clause": "C1", "reason": "r", "then": then, "if": condition}
        for i, condition in enumerate(conditions)
    ]
    listed = [{"id": clause, "text": clause} for clause in clauses]
    policy = CompiledPolicy.model_validate_json(
        json.dumps({"format": "ironcurtain/policy/v1", "clauses": listed, "caller": CALLER, "rules": rules})
    )
    named = Lists.model_validate_json(json.dumps({"format": "ironcurtain/lists/v1", "lists": lists}))
    return check_policy(policy, annotations, named, Registry())


def arg(name: str, op: str, value: Any, **flags: Any) -> Condition:
    return {**PAY, "args": [{"name": name, "op": op, "value": value, **flags}]}


def paths(*within: str, roles: Sequence[str] = ("read-path",)) -> Condition:
    return {"paths": {"roles": list(roles), "within": list(within)}}


def lists(*allowed: str, roles: Sequence[str] = ("recipient",)) -> Condition:
    return {"lists": {"roles": list(roles), "allowed": list(allowed)}}


def domains(*allowed: str, roles: Sequence[str] = ("fetch-url",)) -> Condition:
    return {"domains": {"roles": list(roles), "allowed": list(allowed)}}


GOOD: dict[str, Condition] = {
    "a tool": PAY,
    "roles alone": {"roles": ["delete-path", "none"]},
    "a directory with a slash": paths("~/Documents/"),
    "several conditions of one key": {
        "paths": [paths("/a")["paths"], paths("/b", roles=["write-path"])["paths"]]
    },
    "a list": lists("@friends", "bob@example.com"),
    "a list of hosts": domains("@hosts", "*.example.com"),
    "a number": arg("amount", "le", 50),
    "an element": arg("/files/*/mode", "equals", "r", over="some"),
    "what an open object holds": arg("/options/anything", "present", True),
    "an element of numbers": arg("/steps/*", "gt", 5, over="some"),
    "an element of an array that is open": arg("/list/*", "gt", 5, over="some"),
    "a name of digits in an open object": arg("/options/0", "present", True),
    "a count": arg("note", "le", 100, measure="length", or_absent=True),
    "another value": arg("note", "equals", {"caller": "/sub"}),
    "a pattern": arg("note", "matches", "a|b"),
}
BAD = {
    "no condition": ({}, RuleError, "no condition"),
    "in_sandbox alone": ({"in_sandbox": True}, RuleError, "no condition"),
    "an unknown server": ({"server": ["fz"]}, RuleError, 'no server "fz"'),
    "an unknown tool": ({"tool": ["paid"]}, RuleError, 'no tool "paid"'),
    "a tool of another server": ({"server": ["fs"], "tool": ["pay"]}, RuleError, 'no tool "pay" on fs'),
    "an unknown role": ({"roles": ["read-pth"]}, RuleError, 'no role "read-pth"'),
    "a role without resources": ({"roles": ["branch-name"]}, RuleError, "identifies no resource"),
    "a role of another category": (paths("/a", roles=["fetch-url"]), RuleError, "`paths` speaks of"),
    "a role twice": ({"paths": [paths("/a")["paths"], paths("/b")["paths"]]}, RuleError, "twice"),
    "a relative directory": (paths("src"), PatternError, "src"),
    "dots": (paths("/a/../b"), PatternError, r"/a/\.\./b"),
    "a glob": (paths("/a/*"), PatternError, r"/a/\*"),
    "a public suffix": (domains("*.com"), PatternError, r"\*\.com"),
    "a host in capitals": (domains("GitHub.com"), PatternError, "GitHub.com"),
    "an undefined list": (lists("@freinds"), ListError, "no list"),
    "an unresolved list": (lists("@open"), ListError, "not resolved"),
    "a list of another type": (lists("@hosts"), ListError, "type"),
    "a list among directories": (paths("@friends"), ListError, "directories"),
    "a control character in a pattern": (paths("/a\u0007"), PatternError, "character"),
    "an invisible character in a pattern": (paths("/a\u202e"), PatternError, "character"),
    "an unknown argument": (arg("amuont", "le", 5), RuleError, "no tool of this rule has"),
    "an unknown pointer": (arg("/files/*/mod", "equals", "r"), RuleError, "no tool of this rule has"),
    "an index into items": (arg("/steps/0", "gt", 5), RuleError, "no tool of this rule has"),
    "an index into prefixed items": (arg("/pair/0", "gt", 5), RuleError, "no tool of this rule has"),
    "an index into an open array": (arg("/list/0", "gt", 5), RuleError, "no tool of this rule has"),
    "an index into anything": (arg("/any/0", "gt", 5), RuleError, "no tool of this rule has"),
    "an index further inside": (arg("/options/x/0", "gt", 5), RuleError, "no tool of this rule has"),
    "an index as a value": (arg("note", "equals", {"arg": "/pair/1"}), RuleError, "no tool of this rule"),
    "a name in an array": (arg("/list/x", "gt", 5), RuleError, "no tool of this rule has"),
    "an argument without schema": (
        {"tool": ["read_file"], "args": [{"name": "path", "op": "present", "value": True}]},
        RuleError,
        "input_schema",
    ),
    "a resource": (arg("to", "equals", "x"), RuleError, "takes a resource"),
    "a resource below": (arg("files", "present", True), RuleError, "takes a resource"),
    "a resource by pointer": (arg("/files/*/path", "equals", "x"), RuleError, "takes a resource"),
    "a resource as a value": (arg("note", "equals", {"arg": "to"}), RuleError, "takes a resource"),
    "two stars": (arg("/files/*/*", "equals", "x"), RuleError, "at most one"),
    "a bound that is no number": (arg("amount", "le", "50"), RuleError, "a number"),
    "a bound that is true": (arg("amount", "ge", True), RuleError, "a number"),
    "an empty list of values": (arg("note", "in", []), RuleError, "not empty"),
    "values of two types": (arg("note", "in", ["1", 1]), RuleError, "several types"),
    "true among numbers": (arg("amount", "not_in", [1, True]), RuleError, "several types"),
    "null": (arg("note", "equals", None), RuleError, "absent"),
    "present with a text": (arg("note", "present", "true"), RuleError, "true or false"),
    "present or absent": (arg("note", "present", True, or_absent=True), RuleError, "or_absent"),
    "a broken regular expression": (arg("note", "matches", "a("), RuleError, "regular expression"),
    "a group that is escaped from": (arg("note", "matches", "a)|(b"), RuleError, "regular expression"),
    "an open quotation": (arg("note", "matches", r"\Qa"), RuleError, "anchored"),
    "a look-ahead": (arg("note", "matches", "(?=a)"), RuleError, "regular expression"),
    "a byte": (arg("note", "matches", r"\C"), RuleError, "regular expression"),
    "a list of references": (arg("amount", "in", {"caller": "/age"}), RuleError, "equals"),
    "a measure of a pattern": (arg("note", "matches", "a", measure="length"), RuleError, "measure"),
    "a measure and a text": (arg("note", "equals", "a", measure="length"), RuleError, "number"),
    "over without a star": (arg("note", "equals", "a", over="some"), RuleError, "over"),
    "an absent caller fact": (
        {"caller": [{"name": "/sub", "op": "present", "value": False}]},
        RuleError,
        "caller fact",
    ),
    "a caller fact or none": (
        {"caller": [{"name": "/sub", "op": "equals", "value": "a", "or_absent": True}]},
        RuleError,
        "caller fact",
    ),
}


@pytest.mark.parametrize("condition", GOOD.values(), ids=GOOD)
def test_a_valid_rule_passes(condition: dict[str, Any]) -> None:
    assert len(check(condition).rules) == 1


@pytest.mark.parametrize(("condition", "error", "text"), BAD.values(), ids=BAD)
def test_a_mistake_is_refused_and_names_its_rule(
    condition: dict[str, Any], error: type[IronCurtainError], text: str
) -> None:
    with pytest.raises(error, match=text) as caught:
        check(condition)
    assert 'rule "r0"' in caught.value.what


@pytest.mark.parametrize("then", ["deny", "escalate"])
def test_a_rule_on_a_missing_caller_fact_may_deny_or_ask(then: str) -> None:
    missing = {"caller": [{"name": "/sub", "op": "present", "value": False}]}
    assert len(check(missing, then=then).rules) == 1


def test_patterns_become_canonical() -> None:
    checked = check(paths("~/Documents/", "/srv", "/srv/"))
    (condition,) = checked.rules[0].if_.paths or ()
    assert condition.within == ("~/Documents", "/srv")


def test_all_mistakes_are_told_together() -> None:
    with pytest.raises(SeveralErrors) as caught:
        check({}, {"tool": ["paid"]}, paths("x"), names=["a", "a", "c"])
    assert len(caught.value.errors) == 4


def test_an_index_into_an_array_is_answered_with_the_star() -> None:
    # OPA finds nothing at /steps/0, so a rule that denies by it would let every call through.
    with pytest.raises(RuleError) as caught:
        check(arg("/steps/0", "gt", 5), then="deny")
    assert "`*`" in caught.value.hint


def test_a_near_name_is_suggested() -> None:
    with pytest.raises(RuleError) as caught:
        check({"roles": ["read-pth"]})
    assert caught.value.hint == 'Did you mean "read-path"?'


def test_a_clause_that_does_not_exist_is_refused_where_clauses_are_listed() -> None:
    with pytest.raises(RuleError, match='no clause "C1"'):
        check(PAY, clauses=["C2"])
    check(PAY, clauses=["C1"])


@pytest.mark.parametrize("then", ["deny", "escalate"])
def test_or_none_outside_allow_rules_is_refused(then: str) -> None:
    guard = {"paths": {"roles": ["read-path"], "within": ["/a"], "or_none": True}}
    check(guard)
    with pytest.raises(RuleError, match="or_none"):
        check(guard, then=then)


@pytest.mark.parametrize("value", ["", " ", "https://example.com", "x/path", "*.", "com", "*.com"])
def test_a_list_value_that_is_no_domain_is_refused(value: str) -> None:
    with pytest.raises(IronCurtainError):
        check(PAY, lists={"hosts": {"type": "domain", "resolved": [value]}})
