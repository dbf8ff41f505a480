"""Identifiers compared with the caller's: OPA, the cells and an evaluator apart decide random calls alike.

The evaluator is plain Python over specification 3.6: identifiers are compared by what they are, however they
are spelt, and what is not known holds in rules that ask or deny.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support.documents import at, object_at
from support.projects.policies import annotations_of, compiled, of_caller, rule, tool

from ironcurtain.analysis.engine.evaluate import evaluate
from ironcurtain.analysis.engine.lookup import locate
from ironcurtain.analysis.engine.opa_queries import examine
from ironcurtain.analysis.engine.policies_under_test import load_policies
from ironcurtain.analysis.engine.space.call_space import CallSpace
from ironcurtain.analysis.guarantees.guarantees import check_guarantees
from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.compiler.rules.checks.policy import check_policy
from ironcurtain.decision.decide import Call, Prepared, prepare
from ironcurtain.decision.roles import Registry
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.model.guarantees import Guarantees
from ironcurtain.model.scenarios import DescribedWorld
from ironcurtain.system.files import parse_document

POLICIES, CALLS = (6, 300) if settings.get_current_profile_name() == "repeatable" else (15, 3_000)
SEEDS = st.integers(min_value=0, max_value=10**9)
QUIET: Any = {"deadline": None, "suppress_health_check": list(HealthCheck), "phases": [Phase.generate]}
WORLD = DescribedWorld.model_validate({"home": "/home/user"})
ROLES = [{"name": "user-id", "description": "A customer.", "case": "fold"}]


def _tool(name: str, **roles: str) -> dict[str, Any]:
    properties = {arg: {"type": "string"} for arg in roles}
    schema = {"type": "object", "properties": properties, "required": [*roles]}
    args: dict[str, Any] = {arg: [role] for arg, role in roles.items()}
    return {**tool(name, contained=False, **args), "input_schema": schema}


ARGUMENTS = {
    "look": {"user": "user-id"},
    "move": {"source": "user-id", "target": "user-id"},
    "mail": {"to": "recipient", "body": "none"},
}
TOOLS = [_tool(name, **roles) for name, roles in ARGUMENTS.items()]
CALLER = {
    "sub": {**of_caller("string", "ada"), "role": "user-id"},
    "family": {**of_caller("strings", ["ada"]), "role": "user-id"},
    "mail": {**of_caller("string", "ada@example.com"), "role": "recipient"},
    "age": of_caller("number", 41),
}
SPELLINGS = {
    "user-id": {"ada": ["ada", "ADA"], "bob": ["bob", "Bob"], "eve": ["eve"]},
    "recipient": {
        "ada@example.com": ["ada@example.com", "Ada <ada@EXAMPLE.com>"],
        "bob@example.org": ["bob@example.org"],
    },
    "none": {"text": ["text"]},
}
NO_IDENTIFIERS: list[Any] = [7, "", None, ["ada"]]


def random_rule(random: Random, name: str) -> dict[str, Any]:
    called = random.choice([*ARGUMENTS])
    condition: dict[str, Any] = {"server": ["shop"], "tool": [called]}
    of_role = {arg: role for arg, role in ARGUMENTS[called].items() if role != "none"}
    op = random.choice(["equals", "not_equals"])
    for arg in random.sample([*of_role], random.randint(1, len(of_role))):
        fact = "mail" if of_role[arg] == "recipient" else "sub"
        if fact == "sub" and random.random() < 0.3:
            over = random.choice(["some", "every"])
            test = {"name": "/family/*", "op": op, "over": over, "value": {"arg": f"/{arg}"}}
            condition.setdefault("caller", []).append(test)
        elif random.random() < 0.3:
            condition.setdefault("caller", []).append({"name": fact, "op": op, "value": {"arg": f"/{arg}"}})
        else:
            condition.setdefault("args", []).append({"name": arg, "op": op, "value": {"caller": f"/{fact}"}})
    if random.random() < 0.3:
        role = random.choice([*of_role.values()])
        allowed = [random.choice([*SPELLINGS[role]])]
        condition["lists"] = {"roles": [role], "allowed": allowed}
    if random.random() < 0.2:
        condition.setdefault("caller", []).append({"name": "age", "op": "lt", "value": 18})
    return rule(name, random.choice(["allow", "allow", "escalate", "deny"]), **condition)


def random_call(random: Random) -> Call:
    called = random.choice([*ARGUMENTS])
    given = {arg: _spelt(random, role) for arg, role in ARGUMENTS[called].items()}
    caller = {
        "sub": random.choice([_spelt(random, "user-id"), *NO_IDENTIFIERS[:3]]),
        "family": random.choice(
            [[_spelt(random, "user-id") for _ in range(random.randint(0, 2))], ["bob", ""], "ada"]
        ),
        "mail": random.choice([_spelt(random, "recipient"), "no address", *NO_IDENTIFIERS]),
        "age": random.choice([17, 18, "17"]),
    }
    return Call("shop", called, given, {key: caller[key] for key in caller if random.random() < 0.8})


def _spelt(random: Random, role: str) -> str:
    return random.choice(random.choice([*SPELLINGS[role].values()]))


# -- the evaluator ------------------------------------------------------------------------------


def identity(role: str, value: object) -> str | None:
    """Return whom a value names, None if nobody: the spellings that this test knows."""
    found = [name for name, ways in SPELLINGS[role].items() if value in ways]
    return found[0] if found else None


def decided(rules: list[dict[str, Any]], call: Call, argument: str) -> str:
    """Return the rule that decides what an argument names, as specified."""
    return next((r["name"] for r in rules if _holds(r, call, argument)), "default-deny")


def _holds(made: dict[str, Any], call: Call, argument: str) -> bool:
    condition, roles = made["if"], ARGUMENTS[call.tool]
    if condition["tool"] != [call.tool] or not isinstance(call.arguments, dict):
        return False
    listed = condition.get("lists")
    if listed is not None and identity(roles[argument], call.arguments[argument]) not in listed["allowed"]:
        return False
    return all(_outcomes(condition, call, unknown=made["then"] != "allow"))


def _outcomes(condition: dict[str, Any], call: Call, *, unknown: bool) -> Iterator[bool]:
    caller = call.caller or {}
    for test in condition.get("args", ()):
        yield _same(call, test["name"], caller.get(test["value"]["caller"][1:]), test["op"], unknown=unknown)
    for test in condition.get("caller", ()):
        value = caller.get(test["name"].removeprefix("/").removesuffix("/*"))
        if test["name"] == "age":
            yield unknown if not isinstance(value, int) else value < test["value"]
        elif test["name"] == "/family/*":
            yield _some_or_every(call, test, value, unknown=unknown)
        else:
            yield _same(call, test["value"]["arg"][1:], value, test["op"], unknown=unknown)


def _same(call: Call, name: str, value: object, op: str, *, unknown: bool) -> bool:
    assert isinstance(call.arguments, dict)
    role = ARGUMENTS[call.tool][name]
    other = identity(role, value)
    if other is None:
        return unknown
    return (identity(role, call.arguments[name]) == other) == (op == "equals")


def _some_or_every(call: Call, test: dict[str, Any], value: object, *, unknown: bool) -> bool:
    if isinstance(value, str) and identity("user-id", value) is not None:
        return unknown  # no list
    if not isinstance(value, list) or any(identity("user-id", each) is None for each in value):
        return unknown
    outcomes = [_same(call, test["value"]["arg"][1:], each, test["op"], unknown=unknown) for each in value]
    return bool(outcomes) and (any(outcomes) if test["over"] == "some" else all(outcomes))


# -- the properties -----------------------------------------------------------------------------


def bundle_of(rules: list[dict[str, Any]]) -> Bundle:
    annotated = annotations_of({"shop": TOOLS}, ROLES)
    registry = Registry(annotated.roles)
    policy = check_policy(compiled(rules, caller=CALLER), annotated, None, registry)
    return assemble(policy, annotated, registry=registry, release=Release(engine_version="test"))


@settings(max_examples=POLICIES, **QUIET)
@given(SEEDS)
def test_calls_by_callers_are_decided_as_specified_and_as_the_cells_say(seed: int) -> None:
    random = Random(seed)
    rules = [random_rule(random, f"r{number}") for number in range(random.randint(2, 6))]
    opa = OpaCommand(find())
    policies = load_policies([bundle_of(rules)], WORLD)
    spaces = [CallSpace("shop", name, policies) for name in ARGUMENTS]
    examined = {one.space.tool: one for one in examine(spaces, opa)}
    calls = {f"c{number}": random_call(random) for number in range(CALLS)}
    prepared = {id_: prepare(call, policies[0].policy) for id_, call in calls.items()}
    inputs = {id_: each.input for id_, each in prepared.items() if isinstance(each, Prepared)}
    assert len(inputs) == len(calls)
    answers = evaluate(inputs, policies[0].bundle, opa)
    for id_, call in calls.items():
        each = prepared[id_]
        assert isinstance(each, Prepared)
        subjects = object_at(answers[id_], "subjects")
        expected = {s: decided(rules, call, each.input["subjects"][s]["at"][1:]) for s in subjects}
        assert {s: at(found, "rule") for s, found in subjects.items()} == expected, (call, rules)
        one = examined[call.tool]
        if any("elements" in gap for gap in one.gaps):
            continue
        said = {found.resource: found.answered.outcomes[0] for found in locate(one, each)}
        assert {s: out.rule for s, out in said.items() if out is not None} == expected, (call, rules)


GUARANTEES: dict[str, Any] = {
    "format": "ironcurtain/guarantees/v1",
    "guarantees": [
        {
            "id": f"{called}-{arg}-{op}".replace("_", "-"),
            "never": "allow",
            "when": {
                "server": ["shop"],
                "tool": [called],
                "args": [
                    {"name": arg, "op": op, "value": {"caller": "/mail" if called == "mail" else "/sub"}}
                ],
            },
        }
        for called, arg in (("look", "user"), ("move", "source"), ("move", "target"), ("mail", "to"))
        for op in ("equals", "not_equals")
    ],
}


@settings(max_examples=POLICIES, **QUIET)
@given(SEEDS)
def test_what_is_proved_of_callers_no_call_contradicts(seed: int) -> None:
    random = Random(seed)
    rules = [random_rule(random, f"r{number}") for number in range(random.randint(2, 6))]
    made = parse_document(json.dumps(GUARANTEES), "guarantees.yaml", Guarantees)
    report = check_guarantees(bundle_of(rules), made, WORLD, OpaCommand(find()))
    proved = {each.id for each in report.results if each.status == "proved"}
    calls = [random_call(random) for _ in range(CALLS * 5)]
    for guarantee in GUARANTEES["guarantees"]:
        for call in calls if guarantee["id"] in proved else ():
            if _is_in(guarantee["when"], call):
                assert _verdicts(rules, call) != {"allow"}, (guarantee["id"], call, rules)


def _is_in(when: dict[str, Any], call: Call) -> bool:
    (test,) = when["args"]
    fact = (call.caller or {}).get(test["value"]["caller"][1:])
    return [call.tool] == when["tool"] and _same(call, test["name"], fact, test["op"], unknown=False)


def _verdicts(rules: list[dict[str, Any]], call: Call) -> set[str]:
    then = {made["name"]: made["then"] for made in rules}
    resources = [arg for arg, role in ARGUMENTS[call.tool].items() if role != "none"]
    return {then.get(decided(rules, call, arg), "deny") for arg in resources}
