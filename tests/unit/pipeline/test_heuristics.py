"""Arguments that look like resources but carry no such role."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ironcurtain.errors import UnconfirmedArgumentError
from ironcurtain.model.annotations import Annotations
from ironcurtain.pipeline.heuristics import check_heuristics
from ironcurtain.roles.registry import Registry


def check(name: str, schema: dict[str, Any], roles: list[str] | None = None, **more: Any) -> list[str]:
    tool = {
        "tool": "t",
        "side_effects": True,
        "input_schema": {"type": "object", "properties": {name: schema}},
        "args": [{"name": name, "roles": roles or ["none"]}],
        **more,
    }
    document = {"format": "ironcurtain/annotations/v1", "servers": {"s": {"tools": [tool]}}}
    errors = check_heuristics(Annotations.model_validate_json(json.dumps(document)), Registry())
    assert all(isinstance(error, UnconfirmedArgumentError) for error in errors)
    return [error.what for error in errors]


TEXT = {"type": "string"}


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("path", TEXT),
        ("filePath", TEXT),
        ("worktreePath", TEXT),
        ("output_dir", TEXT),
        ("files", {"type": "array", "items": TEXT}),
        ("targetURL", TEXT),
        ("webhook", {"type": ["string", "null"]}),
        ("cc", {"type": "array", "items": TEXT}),
        ("x", {"type": "string", "default": "/etc/hosts"}),
        ("x", {"type": "string", "default": "."}),
        ("x", {"type": "string", "examples": ["https://example.com/a"]}),
        ("x", {"type": "string", "examples": ["git@example.com:a/b.git"]}),
        ("x", {"type": "string", "examples": ["bob@example.com"]}),
        ("x", {"type": "string", "description": "The file path to open"}),
        ("x", {"type": "string", "description": "Comma-separated list of e-mail addresses"}),
        ("x", {"type": "array", "items": {"type": "string", "description": "Path to the file."}}),
        ("path", {}),
        ("path", {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        ("path", {"anyOf": [{"enum": ["a"]}, {"type": "string"}]}),
    ],
)
def test_what_looks_like_a_resource(name: str, schema: dict[str, Any]) -> None:
    assert len(check(name, schema)) == 1
    assert check(name, schema, ["read-path"]) == []


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("content", TEXT),
        ("pattern", TEXT),
        ("profile", TEXT),
        ("path", {"type": "boolean"}),
        ("head", {"type": "number"}),
        ("file", {"type": "string", "enum": ["a", "b"]}),
        ("message", {"type": "string", "description": "Commit message."}),
    ],
)
def test_what_does_not(name: str, schema: dict[str, Any]) -> None:
    assert check(name, schema) == []


def test_a_person_can_confirm_with_a_reason() -> None:
    confirmed = [{"arg": "path", "by": "kim", "reason": "It is a path in a diagram."}]
    assert check("path", TEXT, confirmed=confirmed) == []


def test_places_inside_objects_are_looked_at() -> None:
    schema = {"type": "array", "items": {"type": "object", "properties": {"path": TEXT, "text": TEXT}}}
    (said,) = check("changes", schema)
    assert "/changes/*/path" in said
