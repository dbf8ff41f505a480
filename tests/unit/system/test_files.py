"""What a document's mistakes are told as: each once, where the writer made it."""

from __future__ import annotations

import json

import pytest

from ironcurtain.errors import FormatError
from ironcurtain.model.policy import CompiledPolicy
from ironcurtain.system.files import parse_document


def policy(*tests: dict[str, object]) -> str:
    rule = {"name": "r", "clause": "C1", "reason": "r", "then": "allow", "if": {"args": tests}}
    return json.dumps({"format": "ironcurtain/policy/v1", "clauses": [], "rules": [rule]})


def test_a_mistake_inside_an_array_is_not_told_as_an_empty_array_too() -> None:
    test = {"name": "/v/*", "op": "gt", "value": 5, "over": "all"}
    with pytest.raises(FormatError, match="'every' or 'some'"):
        parse_document(policy(test), "p.json", CompiledPolicy)


def test_an_empty_array_is_still_told() -> None:
    with pytest.raises(FormatError, match="at least 1 item"):
        parse_document(policy(), "p.json", CompiledPolicy)
