"""Policies for tests: from plain dictionaries through the real assembler to a real engine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.decision.reserved_tools import RESERVED, with_listed, with_reserved, without_reserved
from ironcurtain.decision.roles import Registry
from ironcurtain.model.annotations import Annotations
from ironcurtain.model.lists import Lists
from ironcurtain.model.policy import CompiledPolicy
from ironcurtain.policy import Policy
from ironcurtain.system.files import parse_document


def tool(name: str, *, contained: bool = True, side_effects: bool = True, **args: Any) -> dict[str, Any]:
    """Annotate a tool: `path=["read-path"]`, or a whole argument object without its name."""
    annotated = [
        {"name": arg, **(value if isinstance(value, dict) else {"roles": value})}
        for arg, value in args.items()
    ]
    return {"tool": name, "side_effects": side_effects, "contained": contained, "args": annotated}


def rule(name: str, then: str, **conditions: Any) -> dict[str, Any]:
    """Write a rule without its clause and reason."""
    return {"name": name, "clause": "C1", "reason": f"{name} says {then}.", "then": then, "if": conditions}


def annotations_of(
    servers: Mapping[str, list[dict[str, Any]]], roles: list[dict[str, Any]] | None = None
) -> Annotations:
    document = {
        "format": "ironcurtain/annotations/v1",
        "roles": roles or [],
        "servers": {server: {"tools": tools} for server, tools in servers.items()},
    }
    return parse_document(json.dumps(document), "tool-annotations.json", Annotations)


def of_caller(type_: str, example: object) -> dict[str, Any]:
    """Declare a fact about the caller."""
    return {"type": type_, "meaning": "What tests know of the caller.", "example": example, "from": "a test"}


CALLER = {
    "sub": of_caller("string", "u17"),
    "user": of_caller("string", "ada"),
    "age": of_caller("number", 41),
    "limit": of_caller("number", 100),
    "groups": of_caller("strings", ["staff"]),
    "labels": of_caller("strings", ["a"]),
    "kind": of_caller("string", "guest"),
    "team": of_caller("string", "it"),
    "it": of_caller("object", {"id": "x"}),
}
"""What policies of tests may ask of the caller, unless a test declares its own."""


def compiled(rules: list[dict[str, Any]], **more: Any) -> CompiledPolicy:
    """Make a policy of rules, and of clauses, claims, approvers or caller facts where a test has its own."""
    document = {
        "format": "ironcurtain/policy/v1",
        "clauses": [{"id": "C1", "text": "As said."}],
        "caller": CALLER,
        "rules": rules,
        **more,
    }
    return parse_document(json.dumps(document), "compiled-policy.json", CompiledPolicy)


def named_lists(lists: Mapping[str, Any]) -> Lists:
    document = {"format": "ironcurtain/lists/v1", "lists": lists}
    return parse_document(json.dumps(document), "dynamic-lists.json", Lists)


def write_bundle(
    directory: Path,
    servers: Mapping[str, list[dict[str, Any]]],
    rules: list[dict[str, Any]],
    *,
    roles: list[dict[str, Any]] | None = None,
    lists: Mapping[str, Any] | None = None,
    policy: Mapping[str, Any] | None = None,
    requests: bool = False,
) -> Path:
    """Assemble a bundle and write it as an archive below a directory; return its path.

    Args:
        requests: Whether to list requests beside tool calls where rules could apply to them, or none.
    """
    annotated, made = annotations_of(servers, roles), compiled(rules, **(policy or {}))
    listed = [place for place, each in annotated.tools().items() if each == RESERVED.get(each.tool)]
    annotated = (
        with_reserved(annotated, made) if requests else with_listed(without_reserved(annotated), listed)
    )
    bundle = assemble(
        made,
        annotated,
        named_lists(lists) if lists is not None else None,
        registry=Registry(annotated.roles),
        release=Release(engine_version="test"),
    )
    path = directory / "bundle.tar.gz"
    path.write_bytes(bundle.archive())
    return path


def write_servers(directory: Path, servers: Mapping[str, Any]) -> Path:
    """Write an `mcp-servers.json` below a directory; return its path."""
    path = directory / "mcp-servers.json"
    path.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    return path


def load(bundle: Path, **options: Any) -> Policy:
    """Load a policy; enter it to decide."""
    return Policy.load(bundle, **options)
