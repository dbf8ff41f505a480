"""Nothing that is told about a policy over real servers' tools is contradicted by a call.

The tools are those of `tests/fixtures/tool_lists`; annotations, rules, guarantees and calls are random.
`tests/fuzz/fuzz_evidence.py` looks at as many policies as one has time for.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from support.examples import examples
from support.generators.published import possible_roles, problems, published
from support.generators.published_policies import random_policy
from support.oracles.published_claims import Batch

from ironcurtain.decision.reserved_tools import RESERVED
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find

POLICIES = 6
SEEDS = range(1, examples(2) + 1)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_call_contradicts_what_is_told(seed: int) -> None:
    batch = Batch(seed, POLICIES, OpaCommand(find())).run()
    assert len(batch.calls) > POLICIES * 10
    assert batch.contradicted == []
    assert batch.counted["tool shown"] > 0


def test_nine_of_ten_guarantees_are_decided_for_all_calls() -> None:
    counted: Counter[str] = Counter()
    for seed in range(101, 104):
        batch = Batch(seed, POLICIES, OpaCommand(find()))
        batch.check_guarantees()
        counted += batch.counted
        assert batch.contradicted == []
    found = {key.removeprefix("guarantee "): n for key, n in counted.items() if key.startswith("guarantee ")}
    assert found["proved"] > 10
    assert found.get("not found", 0) <= sum(found.values()) / 10, counted


def test_there_are_tools_of_many_servers_and_every_annotation_fits() -> None:
    assert len({tool.list for tool in published()}) >= 8
    random = Random(0)
    servers = [random_policy(random, f"s{number}") for number in range(60)]
    tools = [tool for server in servers for tool in server.tools]
    assert all(problems(tool) == [] for tool in tools if tool["tool"] not in RESERVED)
    assert {tool["tool"] for tool in tools} > RESERVED.keys()
    roles = {role for tool in tools for argument in tool["args"] for role in possible_roles(argument)}
    assert {"read-path", "fetch-url", "recipient", "thing", "channel", "none"} <= roles
    operators = {
        test["op"]
        for server in servers
        for rule in server.rules
        for key in ("args", "caller")
        for test in rule["if"].get(key, [])
    }
    assert operators == {"equals", "not_equals", "in", "not_in", "lt", "le", "gt", "ge", "matches", "present"}
