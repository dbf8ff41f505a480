"""What stands out when an output policy is held against an output schema."""

from __future__ import annotations

from typing import Any

import pytest

from ironcurtain.gateway.outcome_table import outcome_table
from ironcurtain.gateway.output import OutputPolicy

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
