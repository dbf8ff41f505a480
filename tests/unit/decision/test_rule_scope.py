"""Which tools a rule can decide calls of: what a server hears of, and which requests a bundle lists."""

from __future__ import annotations

import json

import pytest

from ironcurtain.decision.reserved_tools import READ_RESOURCE, RESERVED, SAMPLING
from ironcurtain.decision.rule_scope import can_apply
from ironcurtain.model.conditions import If
from ironcurtain.model.verdict import Verdict

READ = {"roles": ["read-path"], "within": ["~/a"]}
WRITE = {"roles": ["write-path"], "within": ["~/b"]}
CALLER = {"name": "sub", "op": "equals", "value": "ann"}
MODE = {"name": "mode", "op": "equals", "value": "list"}


@pytest.mark.parametrize(
    ("conditions", "sampling", "resources"),
    [
        ({"tool": ["mcp/sampling"]}, True, False),
        ({"server": ["s"], "side_effects": True}, True, True),
        ({"tool": ["other"]}, False, False),
        ({"server": ["t"], "tool": ["mcp/sampling"]}, False, False),
        ({"side_effects": False}, False, False),
        ({"caller": [CALLER]}, True, True),
        ({"roles": ["read-path"]}, False, True),
        ({"roles": ["resource-uri", "recipient"]}, False, True),
        ({"roles": ["none"]}, True, False),
        ({"paths": [READ]}, False, True),
        ({"paths": [WRITE]}, False, False),
        ({"paths": [READ, WRITE]}, False, False),
        ({"paths": [READ, {**WRITE, "or_none": True}]}, False, True),
        ({"roles": ["write-path"], "paths": [READ]}, False, False),
        ({"server": ["s"], "args": [MODE]}, False, False),
        ({"server": ["s"], "args": [{**MODE, "or_absent": True}]}, True, True),
        ({"server": ["s"], "args": [{"name": "mode", "op": "present", "value": False}]}, True, True),
        ({"server": ["s"], "args": [{**MODE, "also_in": ["/request/mode"]}]}, True, False),
        ({"server": ["s"], "args": [{**MODE, "name": "/request/model"}]}, True, False),
    ],
)
def test_a_rule_applies_where_what_it_names_can_be_in_a_call(
    conditions: dict[str, object], sampling: bool, resources: bool
) -> None:
    read = If.model_validate_json(json.dumps(conditions))
    assert can_apply(read, Verdict.ALLOW, "s", RESERVED[SAMPLING]) is sampling
    assert can_apply(read, Verdict.ALLOW, "s", RESERVED[READ_RESOURCE]) is resources


def test_another_resource_that_may_be_missing_is_a_matter_of_allow_rules() -> None:
    read = If.model_validate_json(json.dumps({"paths": [READ, {**WRITE, "or_none": True}]}))
    assert not can_apply(read, Verdict.ESCALATE, "s", RESERVED[READ_RESOURCE])
