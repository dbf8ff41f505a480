"""What stands out when an output policy is held against an output schema."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from ironcurtain.gateway.output.outcome_table import outcome_table
from ironcurtain.gateway.output.policy import OutputPolicy

PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "city": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
    "additionalProperties": False,
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"person": PERSON, "more": {"type": "object"}},
    "additionalProperties": False,
}
STANDING_OUT = [
    (
        {".person": "redact", ".person.id": "allow", ".more": "redact"},
        ["the rule .person.id allows a part of what .person redacts"],
    ),
    ({".person": "allow", ".more": "redact", "..name": "mask"}, []),
    (
        {".person": "allow", ".more": "redact", ".people": "allow"},
        ["the rule .people matches no place of the output"],
    ),
    ({".person.id": "allow", ".more": "redact"}, [".person.city is covered by no rule: it is stripped"]),
    ({".": "allow"}, [".more.* may hold anything, and . allows it"]),
]


@pytest.mark.parametrize(("rules", "said"), STANDING_OUT)
def test_what_stands_out_is_said_once(rules: dict[str, str], said: list[str]) -> None:
    assert list(outcome_table(OutputPolicy.parse(rules), SCHEMA).warnings()) == said


MEANT = [
    ("..ctiy", "..city"),
    (".persn", ".person"),
    (".person.ctiy", ".person.city"),
    (".lists.word", ".lists[].word"),
]


@pytest.mark.parametrize(("dead", "meant"), MEANT)
def test_a_rule_that_matches_nothing_comes_with_the_place_that_was_meant(dead: str, meant: str) -> None:
    words = {"type": "array", "items": {"type": "object", "properties": {"word": {"type": "string"}}}}
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"person": PERSON, "lists": words},
        "additionalProperties": False,
    }
    said = list(outcome_table(OutputPolicy.parse({".": "allow", dead: "redact"}), schema).warnings())
    assert f"the rule {dead} matches no place of the output; is {meant} meant?" in said


def test_a_place_that_holds_itself_is_named() -> None:
    class Part(BaseModel):
        name: str
        parts: list[Part] = []

    table = outcome_table(
        OutputPolicy.parse({"..name": "mask"}), Part.model_json_schema(mode="serialization")
    )
    assert [row.path for row in table.rows] == [".name"]
    assert list(table.warnings()) == [".parts[] holds what . holds: the same happens below it, at any depth"]


def test_places_are_written_as_paths_that_can_be_copied() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"straße": {"type": "string"}},
        "additionalProperties": False,
    }
    (row,) = outcome_table(OutputPolicy.parse({}), schema).rows
    assert row.path == '."straße"'
    assert OutputPolicy.parse({row.path: "allow"}).rules


def test_keys_that_only_rules_name_come_in_one_order() -> None:
    rules = {f"..{name}": "redact" for name in "hgfedcba"}
    rows = outcome_table(OutputPolicy.parse(rules), {"type": "object"}).rows
    assert [row.path for row in rows] == [*(f".{name}" for name in "abcdefgh"), ".*"]
