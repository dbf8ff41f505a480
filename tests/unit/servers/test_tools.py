"""What counts as an input schema."""

from __future__ import annotations

from typing import Any

import pytest

from ironcurtain.servers.tools import schema_problem


def nested(levels: int) -> dict[str, object]:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"x": schema}}
    return schema


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object", "properties": {"$ref": {"type": "string"}}},
        {"type": "object", "properties": {"x": {"const": {"$ref": "https://x"}}}},
        {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"},
        {"type": "object", "properties": {"x": {"$ref": "#/$defs/y"}}, "$defs": {"y": {"type": "string"}}},
    ],
)
def test_a_schema_that_can_be_used(schema: dict[str, Any]) -> None:
    assert schema_problem(schema) is None


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "string"}, "not object"),
        ({"type": "object", "properties": []}, "[] is not of type"),
        ({"type": "object", "properties": {"x": {"type": "strnig"}}}, "strnig"),
        ({"type": "object", "required": "x"}, "not of type"),
        ({"$schema": "https://example.com/mine", "type": "object"}, "dialect is unknown"),
        ({"$schema": 7, "type": "object"}, "dialect is unknown"),
        ({"type": "object", "properties": {"x": {"$ref": "https://example.com/s"}}}, "outside the document"),
        ({"type": "object", "properties": {"x": {"$ref": "file:///etc/passwd"}}}, "outside the document"),
        ({"type": "object", "properties": {"x": {"$ref": "#/nowhere"}}}, "does not exist"),
        ({"type": "object", "properties": {"x": {"maximum": float("inf")}}}, "finite"),
        (nested(40), "levels"),
        ({"type": "object", "description": "x" * 300_000}, "longer than 256 KiB"),
    ],
)
def test_a_schema_that_cannot_be_used(schema: dict[str, Any], said: str) -> None:
    problem = schema_problem(schema)
    assert problem is not None
    assert said in problem
