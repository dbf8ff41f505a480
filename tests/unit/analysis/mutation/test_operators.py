"""The mutants of small policies: which changes are made, and that each is made once."""

from __future__ import annotations

from typing import Any

import pytest
from support.projects.policies import annotations_of, compiled, named_lists, rule, tool

from ironcurtain.analysis.mutation.operators import Mutant, mutants
from ironcurtain.analysis.mutation.source import PolicySource
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.decision.roles import Registry
from ironcurtain.model.policy import Rule

TEXT = {"type": "string"}
TOOLS = {
    "files": [
        tool("copy", source=["read-path"], target=["write-path", "read-path"], limit=["none"])
        | {
            "input_schema": {
                "type": "object",
                "properties": {"source": TEXT, "target": TEXT, "limit": {"type": "number"}},
            }
        }
    ],
    "web": [
        tool("fetch", contained=False, url=["fetch-url"]),
        tool("send", contained=False, to=["recipient"]),
    ],
}
FRIENDS = {"friends": {"type": "recipient", "resolved": ["ann@example.com"]}}


def made(*rules: dict[str, Any], **more: Any) -> tuple[PolicySource, list[Mutant]]:
    annotated = annotations_of(TOOLS)
    bundle = assemble(
        compiled(list(rules), **more),
        annotated,
        named_lists(FRIENDS),
        registry=Registry(annotated.roles),
        release=Release(engine_version="test"),
    )
    source = PolicySource.of(bundle)
    return source, mutants(source)


def changes(kind: str, *rules: dict[str, Any], **more: Any) -> list[str]:
    return [each.change for each in made(*rules, **more)[1] if each.kind == kind]


def test_every_rule_is_dropped_and_gets_the_other_verdicts() -> None:
    one = rule("r", "escalate", tool=["fetch"], roles=["fetch-url"])
    assert changes("rule dropped", one) == ["without r"]
    assert changes("verdict changed", one) == ["r: escalate becomes allow", "r: escalate becomes deny"]


def test_somebody_else_than_the_named_approver_is_asked() -> None:
    people = {name: {"meaning": "Somebody."} for name in ("auditor", "boss", "customer")}
    one = {**rule("r", "escalate", tool=["fetch"]), "approver": "boss"}
    anybody = rule("s", "escalate", tool=["send"])
    assert changes("approver changed", one, anybody, approvers=people) == [
        "r: asks anybody, not boss",
        "r: asks auditor, not boss",
        "r: asks customer, not boss",
    ]


PATTERNS: list[tuple[str, dict[str, Any], list[str], list[str]]] = [
    ("directory", {"paths": {"roles": ["read-path"], "within": ["~/a/b"]}}, ["~/a"], ["~/a/b/other"]),
    ("home", {"paths": {"roles": ["read-path"], "within": ["~"]}}, [], ["~/other"]),
    ("top", {"paths": {"roles": ["read-path"], "within": ["/srv"]}}, [], ["/srv/other"]),
    (
        "host",
        {"domains": {"roles": ["fetch-url"], "allowed": ["www.example.com"]}},
        ["*.example.com"],
        ["www.example.com/other"],
    ),
    (
        "subdomains",
        {"domains": {"roles": ["fetch-url"], "allowed": ["*.example.com"]}},
        ["*"],
        ["other.example.com"],
    ),
    (
        "segments",
        {"domains": {"roles": ["fetch-url"], "allowed": ["example.com/a/b"]}},
        ["example.com/a"],
        ["example.com/a/b/other"],
    ),
    (
        "person",
        {"lists": {"roles": ["recipient"], "allowed": ["bob@example.com"]}},
        ["*@example.com"],
        [],
    ),
    (
        "domain of people",
        {"lists": {"roles": ["recipient"], "allowed": ["*@example.com"]}},
        [],
        ["other@example.com"],
    ),
    ("list", {"lists": {"roles": ["recipient"], "allowed": ["@friends"]}}, [], []),
]


@pytest.mark.parametrize(
    ("condition", "wider", "narrower"), [p[1:] for p in PATTERNS], ids=[p[0] for p in PATTERNS]
)
def test_patterns_become_their_parent_and_a_child(
    condition: dict[str, Any], wider: list[str], narrower: list[str]
) -> None:
    one = rule("r", "allow", **condition)
    assert [text.partition(" becomes ")[2] for text in changes("pattern widened", one)] == wider
    assert [text.partition(" becomes ")[2] for text in changes("pattern narrowed", one)] == narrower


def test_a_child_that_the_policy_names_comes_before_a_new_one() -> None:
    outer = rule("outer", "allow", paths={"roles": ["read-path"], "within": ["~/a"]})
    inner = rule("inner", "deny", paths={"roles": ["read-path"], "within": ["~/a/b/c"]})
    assert "outer: ~/a becomes ~/a/b/c" in changes("pattern narrowed", outer, inner)


def test_bounds_move_by_one_in_both_directions() -> None:
    one = rule(
        "r", "deny", server=["files"], tool=["copy"], args=[{"name": "limit", "op": "le", "value": 50}]
    )
    assert changes("bound moved", one) == ["r: limit le 50 becomes 49", "r: limit le 50 becomes 51"]


def test_roles_are_removed_one_by_one_where_others_are_left() -> None:
    one = rule(
        "r",
        "deny",
        roles=["write-path", "read-path"],
        paths={"roles": ["write-path", "read-path"], "within": ["~/a"]},
    )
    assert changes("role removed", one) == [
        "r: without the role write-path",
        "r: without the role read-path",
        "r: ~/a without the role write-path",
        "r: ~/a without the role read-path",
    ]


def test_neighbours_are_swapped_if_they_can_concern_one_call() -> None:
    copy = rule("copy", "allow", server=["files"], tool=["copy"], roles=["read-path"])
    fetch = rule("fetch", "allow", tool=["fetch"], roles=["fetch-url"])
    every = rule("every", "deny", side_effects=True)
    assert changes("order swapped", copy, fetch, every) == ["fetch after every"]
    source, found = made(copy, fetch, every)
    swapped = next(each for each in found if each.kind == "order swapped")
    assert [r.name for r in swapped.rules(source.policy.rules)] == ["copy", "every", "fetch"]


def test_a_list_is_emptied_in_every_rule_that_names_it() -> None:
    rules = [
        rule("one", "allow", lists={"roles": ["recipient"], "allowed": ["@friends"]}),
        rule("two", "escalate", lists={"roles": ["recipient"], "allowed": ["@friends", "bob@example.com"]}),
    ]
    source, found = made(*rules)
    emptied = next(each for each in found if each.kind == "list emptied")
    changed: tuple[Rule, ...] = emptied.rules(source.policy.rules)
    assert [r.if_.lists[0].allowed for r in changed if r.if_.lists] == [
        ("@friends-other",),
        ("@friends-other", "bob@example.com"),
    ]


def test_ids_are_stable_and_distinct() -> None:
    rules = [
        rule("one", "allow", paths={"roles": ["read-path"], "within": ["~/a", "~/b"]}),
        rule("two", "deny", paths={"roles": ["read-path"], "within": ["~/a"]}),
    ]
    first, second = made(*rules)[1], made(*rules)[1]
    assert [m.id for m in first] == [m.id for m in second]
    assert len({m.id for m in first}) == len(first)


def test_a_change_that_the_compiler_refuses_is_no_mutant() -> None:
    guard = {"roles": ["read-path"], "within": ["~/a"], "or_none": True}
    one = rule("r", "allow", server=["files"], tool=["copy"], roles=["write-path"], paths=guard)
    source, found = made(one)
    for mutant in found:
        source.bundle_of(mutant.rules(source.policy.rules), mutant.lists)
    assert changes("verdict changed", one) == ["r: allow becomes escalate", "r: allow becomes deny"]
