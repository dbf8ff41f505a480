"""Adding a role is one entry: schemas, prompts, OPA's input, patterns and documents follow from it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.called import ROOT, one_tool, prepared
from support.documents import at, object_at
from support.projects.policies import rule, tool

from ironcurtain.compiler.annotate import questions
from ironcurtain.compiler.annotate.questions import annotation_schema
from ironcurtain.compiler.render.input_schema import policy_input_schema
from ironcurtain.decision.canonical.arguments import BRANCH_NAME
from ironcurtain.decision.roles import BUILT_IN, GIT_REMOTE, Registry
from ironcurtain.errors import AnnotationError
from ironcurtain.model.annotations import IdentifierRole

ADDED = {
    "name": "channel",
    "description": "A chat channel that is written to.",
    "guidance": "Called room elsewhere.",
    "case": "fold",
}
REGISTRY = Registry([IdentifierRole.model_validate(ADDED)])


@pytest.mark.parametrize("role", REGISTRY.all, ids=lambda role: role.name)
def test_the_annotator_is_told_of_it(role: Any) -> None:
    text = questions._roles_text(REGISTRY)
    assert f"`{role.name}`" in text
    assert role.description in text
    assert role.guidance in text


@pytest.mark.parametrize("role", REGISTRY.all, ids=lambda role: role.name)
def test_an_annotators_answer_may_carry_it(role: Any) -> None:
    assert f'"{role.name}"' in json.dumps(annotation_schema([], REGISTRY, servers=["s"]))


@pytest.mark.parametrize("role", REGISTRY.resources, ids=lambda role: role.name)
def test_the_input_schema_of_opa_lists_it(role: Any) -> None:
    schema = policy_input_schema(REGISTRY)
    for place in (
        object_at(schema, "properties"),
        object_at(schema, "properties", "sandboxed", "properties"),
    ):
        for derived in ("roles", "patterns", "within"):
            assert role.name in object_at(place, derived, "properties")
            assert at(place, derived, "additionalProperties") is False


@pytest.mark.parametrize("role", [r for r in REGISTRY.all if not r.resource and r.name != "none"], ids=str)
def test_the_input_schema_lists_no_other_role(role: Any) -> None:
    listed = object_at(policy_input_schema(REGISTRY), "properties", "roles", "properties")
    assert role.name not in listed


@pytest.mark.parametrize("role", BUILT_IN, ids=lambda role: role.name)
def test_the_documentation_names_it(role: Any) -> None:
    assert f"| `{role.name}` |" in (ROOT / "docs" / "annotations.md").read_text(encoding="utf-8")


VALUES = {"path": "/srv/x", "url": "https://github.com/u/r", "recipient": "a@b.org", "repository": "a/b"}
PATTERNS = {"path": "/srv", "url": "github.com", "recipient": "*@b.org", "repository": "a/*"}
CONDITIONS = {"path": "paths", "url": "domains", "identifier": "lists"}


@pytest.mark.parametrize("role", REGISTRY.resources, ids=lambda role: role.name)
def test_it_is_canonicalised_covered_and_asked_about(role: Any) -> None:
    value = VALUES.get(role.pattern_kind, "x")
    pattern = PATTERNS.get(role.pattern_kind, "x")
    key = "within" if role.category == "path" else "allowed"
    rules = [rule("r", "allow", **{CONDITIONS[role.category]: {"roles": [role.name], key: [pattern]}})]
    policy = one_tool(tool("t", contained=False, x=[role.name]), rules, roles=[ADDED], sandbox=None)
    question = prepared(policy, "t", {"x": value}).input
    assert question["roles"] == {role.name: {"0000": True}}
    assert question["within"] == {role.name: {pattern: {"0000": True}}}
    assert question["patterns"] == {role.name: [pattern]}


def test_flags_are_those_of_the_specification() -> None:
    paths = {"read-path", "write-path", "delete-path", "write-history", "delete-history"}
    assert {r.name for r in BUILT_IN if r.category == "path"} == paths
    assert {r.name for r in BUILT_IN if r.containable} == {"read-path", "write-path", "delete-path"}
    assert {r.name for r in BUILT_IN if not r.resource} == {"branch-name", "commit-message", "none"}
    assert {GIT_REMOTE, BRANCH_NAME} <= {r.name for r in BUILT_IN}


@pytest.mark.parametrize("name", ["read-path", "none", "channel"])
def test_a_name_is_declared_once(name: str) -> None:
    with pytest.raises(AnnotationError, match="declared twice"):
        Registry(
            [IdentifierRole.model_validate(ADDED), IdentifierRole.model_validate(ADDED | {"name": name})]
        )
