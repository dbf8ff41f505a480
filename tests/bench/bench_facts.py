"""What declared facts cost: at the proxy, for calls that need them and others, and when a policy is examined.

The policy without facts that the shop is held against has the same rules and tools: each fact is one more
argument of the tools whose rules test it.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from bench.figures import Figures, Times, measure, measure_async
from mcp import Client
from support.deployments.proxied import until
from support.deployments.remembered import FACTS, ORDER, Shop, fact
from support.documentation.transcript import ROOT
from support.projects.policies import rule

from ironcurtain.analysis.diff.difference import difference
from ironcurtain.analysis.guarantees.guarantees import check_guarantees
from ironcurtain.analysis.matrix.matrix import decision_matrix
from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.decision.roles import Registry
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.model.annotations import Annotations
from ironcurtain.model.guarantees import Guarantees
from ironcurtain.model.policy import CompiledPolicy
from ironcurtain.model.scenarios import Scenarios
from ironcurtain.system.files import load, parse_document

pytestmark = [pytest.mark.bench, pytest.mark.timeout(1800)]
SHOP = ROOT / "examples" / "shop"
REPETITIONS, WARM_UP = 120, 20
UNTESTED = [
    rule("few", "allow", tool=["refund"], args=[{"name": "amount", "op": "le", "value": 1_000_000}]),
    rule("look", "allow", tool=["get_order", "send_mail"]),
    rule(
        "pending",
        "allow",
        tool=["cancel_order"],
        args=[{"name": "order_id", "op": "not_equals", "value": "x"}],
    ),
    rule("kept", "deny", tool=["pay", "refund"], args=[{"name": "amount", "op": "equals", "value": -1}]),
    rule("budget", "allow", tool=["pay"], args=[{"name": "amount", "op": "le", "value": 1_000_000}]),
]
TESTED = [
    rule("few", "allow", tool=["refund"], facts=[fact("refunds", "le", 1_000_000)]),
    rule("look", "allow", tool=["get_order", "send_mail"]),
    rule("pending", "allow", tool=["cancel_order"], facts=[fact("order/status", "equals", "pending")]),
    rule("kept", "deny", tool=["pay", "refund"], facts=[fact("private", "equals", True)]),
    rule("budget", "allow", tool=["pay"], facts=[fact("paid", "le", 1_000_000)]),
]
_numbers = itertools.count(1)


async def _called(client: Client, tool: str, **arguments: Any) -> None:
    result = await client.call_tool(f"shop__{tool}", arguments)
    assert not result.is_error, result


def _order(number: int) -> dict[str, str]:
    return {"order_id": f"o{number}"}


def test_facts_at_the_proxy(tmp_path: Path, figures: Figures) -> None:
    places = {
        "plain": Shop(tmp_path / "plain", UNTESTED, {}),
        "facts": Shop(tmp_path / "facts", TESTED, FACTS),
    }
    for place in places.values():
        # Equal calls are stopped after twenty a minute.
        place.answer(*({**ORDER, **_order(number)} for number in range(1, 10 * (REPETITIONS + WARM_UP))))

    async def run() -> None:
        async with AsyncExitStack() as stack:
            plain, facts = [await stack.enter_async_context(place.client()) for place in places.values()]
            await until(lambda: all(place.is_up("shop") for place in places.values()))
            bare, other, free_here, here, free, counted, looked, cancelled, checked = await measure_async(
                lambda: _called(plain, "send_mail", to=str(next(_numbers))),
                lambda: _called(facts, "send_mail", to=str(next(_numbers))),
                lambda: _called(plain, "refund", amount=next(_numbers) / 100),
                lambda: _called(facts, "refund", amount=next(_numbers) / 100),
                lambda: _called(plain, "pay", amount=next(_numbers) / 100),
                lambda: _called(facts, "pay", amount=next(_numbers) / 100),
                lambda: _called(plain, "get_order", **_order(next(_numbers))),
                lambda: _called(plain, "cancel_order", **_order(next(_numbers))),
                lambda: _called(facts, "cancel_order", **_order(next(_numbers))),
                repetitions=REPETITIONS,
                warm_up=WARM_UP,
            )
        figures.add(
            "facts: a call that none concern / a policy without",
            other.per(bare),
            1.02,
            f"{other}; {bare}",
        )
        figures.add(
            "facts: one counter per session and one label / none",
            here.per(free_here),
            1.3,
            f"{here}; {free_here}",
        )
        figures.add(
            "facts: one counter per caller and one label / none", counted.per(free), 1.3, f"{counted}; {free}"
        )
        both = Times(tuple(map(sum, zip(looked.seconds, cancelled.seconds, strict=True))))
        figures.add("facts: one look-up / look-up and call", checked.per(both), 1.2, f"{checked}; {both}")

    anyio.run(run)


# -- the shop against a policy of its size ------------------------------------------------------

TYPES = {"placed": "number", "refunded": "number", "now": "number", "private": "boolean"}
OPERATORS = {"older_than": ("gt", 86_400), "within": ("le", 1_020)}


def _argument(test: dict[str, Any]) -> dict[str, Any]:
    """Return the test of an argument in place of that of a fact."""
    name, value = OPERATORS.get(test["op"], (test["op"].replace("contains", "equals"), test["value"]))
    return {"name": _name(test["fact"]), "op": name, "value": value}


def _name(fact_name: str) -> str:
    return "f_" + fact_name.replace("/", "_")


def _moved(condition: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in condition.items() if key != "facts"}
    tests = [*condition.get("args", ()), *map(_argument, condition.get("facts", ()))]
    return {**kept, **({"args": tests} if tests else {})}


def _documents(*, with_facts: bool) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return the shop's policy, annotations and guarantees, or those where arguments stand for its facts."""
    policy = json.loads((SHOP / "generated" / "compiled-policy.json").read_text())
    annotations = json.loads((SHOP / "generated" / "tool-annotations.json").read_text())
    guarantees = load(SHOP / "guarantees.yaml", Guarantees).model_dump(
        mode="json", by_alias=True, exclude_unset=True
    )
    # A policy without facts knows no sequences of calls.
    guarantees["guarantees"] = [each for each in guarantees["guarantees"] if "when" in each]
    if with_facts:
        return policy, annotations, guarantees
    tested: dict[str, set[str]] = {}
    for one in policy["rules"]:
        for tool in one["if"]["tool"]:
            tested.setdefault(tool, set()).update(each["fact"] for each in one["if"].get("facts", ()))
        one["if"] = _moved(one["if"])
    for one in guarantees["guarantees"]:
        one["when"] = _moved(one["when"])
    del policy["facts"]
    for annotated in annotations["servers"]["shop"]["tools"]:
        for name in sorted(tested.get(annotated["tool"], ())):
            type_ = TYPES.get(name.rpartition("/")[2], "string")
            annotated["input_schema"]["properties"][_name(name)] = {"type": type_}
            annotated["args"].append({"name": _name(name), "roles": ["none"]})
    return policy, annotations, guarantees


def _bundle(policy: dict[str, Any], annotations: dict[str, Any]) -> Bundle:
    annotated = parse_document(json.dumps(annotations), "tool-annotations.json", Annotations)
    return assemble(
        parse_document(json.dumps(policy), "compiled-policy.json", CompiledPolicy),
        annotated,
        registry=Registry(annotated.roles),
        release=Release(engine_version="bench"),
    )


def test_the_shop_and_a_policy_of_its_size_without_facts(figures: Figures) -> None:
    opa, world = OpaCommand(find()), load(SHOP / "scenarios.yaml", Scenarios).world
    operations: list[Callable[[], object]] = []
    for with_facts in (True, False):
        policy, annotations, said = _documents(with_facts=with_facts)
        old = _bundle(policy, annotations)
        new = _bundle({**policy, "rules": [*policy["rules"][:8], *policy["rules"][9:]]}, annotations)
        guarantees = parse_document(json.dumps(said), "guarantees.yaml", Guarantees)
        operations += [
            partial(decision_matrix, old, world, opa),
            partial(check_guarantees, old, guarantees, world, opa),
            partial(difference, old, new, world, opa),
        ]
    times = measure(*operations, repetitions=5)
    for what, mine, theirs in zip(("matrix", "guarantees", "difference"), times[:3], times[3:], strict=True):
        figures.add(f"facts: {what} of the shop / without facts", mine.per(theirs), 2, f"{mine}; {theirs}")


# -- exactness ----------------------------------------------------------------------------------

FIVE: list[tuple[str, str, list[Any]]] = [
    ("order/status", "equals", ["pending", "delivered", "cancelled", "held"]),
    ("paid", "gt", [10, 100, 1_000]),
    ("private", "equals", [True]),
    ("order/items", "contains", ["a", "b"]),
    ("order/placed", "older_than", ["1h", "24h"]),
]


def test_twenty_rules_on_five_facts_stay_exact(tmp_path: Path, figures: Figures) -> None:
    made = []
    for number in range(20):
        tests = [
            fact(name, op, values[number // (place + 1) % len(values)])
            for place, (name, op, values) in enumerate(FIVE)
            if (number >> place) % 2 or place == number % len(FIVE)
        ]
        verdict = ("allow", "escalate", "deny")[number % 3]
        made.append(rule(f"r{number}", verdict, tool=["cancel_order"], facts=tests))
    place = Shop(tmp_path / "five", made, FACTS)
    opa, world = OpaCommand(find()), load(SHOP / "scenarios.yaml", Scenarios).world
    bundle = Bundle.read(place.bundle)
    (matrix,) = measure(lambda: decision_matrix(bundle, world, opa), repetitions=1)
    tables = [each for found in decision_matrix(bundle, world, opa).servers.values() for each in found]
    sampled = [table for table in tables if table.exactness != "exact"]
    figures.add("facts: tables of 20 rules on 5 facts that are not exact", len(sampled), 0, str(matrix))
