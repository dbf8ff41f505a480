"""Declarations of facts about the caller: what may be declared, and what is refused with its reason."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from ironcurtain.model.policy import CompiledPolicy

AGE: dict[str, Any] = {"type": "number", "meaning": "How old they are.", "example": 41, "from": "the token"}


def declared(**caller: object) -> CompiledPolicy:
    document = {"format": "ironcurtain/policy/v1", "caller": caller, "rules": []}
    return CompiledPolicy.model_validate_json(json.dumps(document))


@pytest.mark.parametrize(
    ("type_", "example"),
    [("string", "u17"), ("strings", ["staff"]), ("strings", []), ("number", 4.5), ("boolean", False)],
)
def test_each_type_is_declared_and_read_back(type_: str, example: object) -> None:
    policy = declared(**{"https://example.com/role": {**AGE, "type": type_, "example": example}})
    text = policy.model_dump_json(by_alias=True, exclude_unset=True)
    assert CompiledPolicy.model_validate_json(text) == policy
    assert policy.caller["https://example.com/role"].from_ == "the token"


@pytest.mark.parametrize(
    ("fact", "said"),
    [
        ({**AGE, "type": "instant"}, "type"),
        ({**AGE, "example": "41"}, "the example is not of the type number"),
        ({**AGE, "example": True}, "the example is not of the type number"),
        ({**AGE, "type": "strings", "example": ["a", 1]}, "the example is not of the type strings"),
        ({key: AGE[key] for key in ("type", "meaning", "example")}, "from"),
        ({key: AGE[key] for key in ("type", "example", "from")}, "meaning"),
    ],
)
def test_what_is_no_declaration_is_refused(fact: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError) as raised:
        declared(age=fact)
    assert said in str(raised.value)


def test_a_policy_that_declares_nothing_is_written_as_before() -> None:
    assert "caller" not in declared().model_dump_json()
