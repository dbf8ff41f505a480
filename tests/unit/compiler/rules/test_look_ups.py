"""What a look-up tool answers: read from an output schema, or from a sample of its results."""

from __future__ import annotations

from typing import Any

from ironcurtain.compiler.rules.look_ups import record_fields

SAMPLE: dict[str, Any] = {
    "id": "W1",
    "total": 61.5,
    "paid": True,
    "created_at": "2026-11-22T11:30:00+01:00",
    "day": "2026-11-22",
    "nothing": None,
    "items": [{"id": "lamp", "price": 1}],
    "tags": ["a/b"],
    "a/b": "x",
}


def test_the_fields_of_a_sample() -> None:
    assert record_fields(None, SAMPLE) == {
        "/id": "string",
        "/total": "number",
        "/paid": "boolean",
        "/created_at": "instant",
        "/day": "string",
        "/items/*/id": "strings",
        "/items/*/price": "numbers",
        "/tags/*": "strings",
        "/a~1b": "string",
    }


def test_the_fields_of_an_output_schema_come_before_those_of_a_sample() -> None:
    text = {"type": "string"}
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            "status": {"$ref": "#/$defs/status"},
            "created_at": {"type": "string", "format": "date-time"},
            "count": {"type": "integer"},
            "maybe": {"type": ["string", "null"]},
            "items": {"type": "array", "items": {"type": "object", "properties": {"id": text}}},
            "matrix": {"type": "array", "items": {"type": "array", "items": text}},
        },
        "$defs": {"status": {"type": "string", "enum": ["pending"]}},
    }
    assert record_fields(schema, SAMPLE) == {
        "/status": "string",
        "/created_at": "instant",
        "/count": "number",
        "/items/*/id": "strings",
    }


def test_a_sample_shows_which_texts_of_an_output_schema_are_times() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in ("created_at", "day", "total")},
    }
    assert record_fields(schema, SAMPLE) == {"/created_at": "instant", "/day": "string", "/total": "string"}


def test_an_output_schema_that_cannot_be_used_counts_as_none() -> None:
    assert record_fields({"type": "array"}, {"id": "W1"}) == {"/id": "string"}
