"""What rendered Rego decides is what specification 3 says, by an evaluator that shares no code with it."""

from __future__ import annotations

import itertools
from pathlib import Path
from random import Random
from typing import Any

import pytest
from support.generators import rendered
from support.oracles import twin

POLICIES = 40
CALLS = 40


def _relevant(decision: dict[str, Any]) -> dict[str, Any]:
    return {key: decision[key] for key in ("verdict", "rule", "subject", "subjects")}


def _compare(directory: Path, policies: list[list[dict[str, Any]]], calls: dict[str, dict[str, Any]]) -> int:
    decisions = rendered.evaluate(directory, policies, calls)
    for id_, call in calls.items():
        rules = policies[int(call["server"].removeprefix("s"))]
        assert _relevant(decisions[id_]) == twin.decide(rules, call), (rules, call)
    return len(decisions)


@pytest.mark.parametrize("seed", range(2))
def test_random_rules_decide_random_calls_as_the_specification_says(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    policies = [
        [rendered.random_rule(random, f"r{index}-{number}") for number in range(random.choice([1, 2, 4, 8]))]
        for index in range(POLICIES)
    ]
    calls = {
        f"{index}-{number}": rendered.random_call(random, f"s{index}")
        for index in range(POLICIES)
        for number in range(CALLS)
    }
    assert _compare(tmp_path, policies, calls) == POLICIES * CALLS


@pytest.mark.parametrize("seed", range(2))
def test_tables_of_rules_that_are_alike_decide_as_the_rules_say(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    policies = [rendered.alike_rules(random, 250) for _ in range(4)]
    calls = {
        f"{index}-{number}": rendered.random_call(random, f"s{index}")
        for index in range(len(policies))
        for number in range(100)
    }
    assert _compare(tmp_path, policies, calls) == len(calls)
    for index in range(len(policies)):
        assert (
            "some [order, rule] in _rules_by_pattern_1[pattern]" in (tmp_path / f"s{index}.rego").read_text()
        )


def _operands(name: str, op: str) -> list[Any]:
    """Return every operand for a plain name; for others (whose value is found otherwise) some of each."""
    operands = rendered.OPERANDS[op]
    known = operands if name == "a" else [*operands[:-1:3], operands[-1]]
    return [operand for operand in known if "*" not in name or operand not in rendered.RELATED]


def _flag_sets(op: str) -> list[dict[str, Any]]:
    flags: list[dict[str, Any]] = [{}]
    if op != "present":
        flags.append({"or_absent": True})
    if op in ("lt", "le", "gt", "ge", "equals"):
        flags += [{"measure": "count"}, {"measure": "length"}, {"measure": "count", "or_absent": True}]
    return flags


def _overs(name: str, op: str, operand: Any, flags: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what a test can say of elements; a count only where the test could be counted."""
    if "*" not in name:
        return [{}]
    counts: list[dict[str, Any]] = [{"count": {"le": 0}}, {"count": {"ge": 1}}, {"count": {"equals": 2}}]
    refers = isinstance(operand, dict) and set(operand) in ({"arg"}, {"caller"})
    is_counted = op in rendered.COUNTED and "measure" not in flags and not refers
    return [{}, {"over": "some"}, *(counts if is_counted else [])]


@pytest.mark.parametrize("name", ["a", "/a/b", "/a/*", "/a/*/b"])
def test_every_operator_with_every_json_type_absent_and_null(tmp_path: Path, name: str) -> None:
    tests = [
        {"name": name, "op": op, "value": operand, **flags, **over}
        for op in rendered.OPERANDS
        for operand in _operands(name, op)
        for flags in _flag_sets(op)
        for over in _overs(name, op, operand, flags)
        if not ("measure" in flags and not isinstance(operand, int | float))
        and not (("measure" in flags and operand is True) or (operand is False and "measure" in flags))
    ]
    policies = [[rendered.rule(f"r{index}", "allow", {"args": [test]})] for index, test in enumerate(tests)]
    arguments = [
        {},
        *({"a": _placed(name, value)} for value in rendered.VALUES),
        {"a": 5},
        {"a": []},
        {"a": {}},
    ]
    arguments = [{**one, "b": other} for one in arguments for other in ("a", {"a": 1})]
    calls = {
        f"{index}-{number}": rendered.call(f"s{index}", "read", [], args=one, caller=caller)
        for index, test in enumerate(tests)
        for (number, one), caller in itertools.product(enumerate(arguments), [{"sub": "a"}])
        if number % 2 == 0 or isinstance(test["value"], dict)
    }
    assert _compare(tmp_path, policies, calls) > 1_000


FACTS: list[dict[str, Any]] = [
    {},
    *({"f": value} for value in rendered.VALUES[::2]),
    *({"f": {"g": value}} for value in (None, "a", 1, True)),
    *({"f": items} for items in (["a", None], [1, "a"], [{"g": "a"}, {}], [{"g": 1}])),
]


def _fact_tests(name: str, then: str) -> list[dict[str, Any]]:
    flags: list[dict[str, Any]] = [{}] if then == "allow" or "*" in name else [{}, {"or_absent": True}]
    return [
        {"name": name, "op": op, "value": operand, **more, **over}
        for op in rendered.OPERANDS
        for operand in _operands("f", op)
        if operand not in rendered.RELATED
        for more in [*flags, *([{"measure": "count"}, {"measure": "length"}] if op == "le" else [])]
        for over in ([{}, {"over": "some"}] if "*" in name else [{}])
        if not (op == "present" and (more or (then == "allow" and operand is False)))
    ]


@pytest.mark.parametrize("then", ["allow", "deny"])
def test_every_operator_with_facts_absent_null_and_of_every_type(tmp_path: Path, then: str) -> None:
    either: list[dict[str, Any]] = [{}, {"or_absent": True}]
    starred: list[dict[str, Any]] = [{"over": "some"}]
    conditions: list[dict[str, Any]] = [
        {"caller": [test]} for name in ("f", "/f/g", "/f/*", "/f/*/g") for test in _fact_tests(name, then)
    ] + [
        {"args": [{"name": name, "op": op, "value": {"caller": "/f"}, **flags}]}
        for name in ("a", "/a/*", "/a/*/b")
        for op in ("equals", "not_equals")
        for flags in (*either, *(starred if "*" in name else []))
    ]
    after = "deny" if then == "allow" else "allow"
    rest = rendered.rule("rest", after, {"side_effects": True})
    policies = [[rendered.rule(f"r{n}", then, each), rest] for n, each in enumerate(conditions)]
    arguments: list[dict[str, Any]] = [
        {},
        {"a": "a"},
        {"a": 1},
        {"a": []},
        {"a": ["a", 1]},
        {"a": [{"b": "a"}, {}]},
    ]
    calls = {}
    for index, condition in enumerate(conditions):
        given = arguments if "args" in condition or "arg" in str(condition) else [{"b": "a"}]
        for number, (facts, args) in enumerate(itertools.product(FACTS, given)):
            calls[f"{index}-{number}"] = rendered.call(f"s{index}", "read", [], args=args, caller=facts)
    assert _compare(tmp_path, policies, calls) > 5_000


@pytest.mark.parametrize("then", ["allow", "deny"])
def test_numbers_that_depend_on_others_absent_and_of_every_type(tmp_path: Path, then: str) -> None:
    operands: list[dict[str, Any]] = [
        {"arg": "/b", "times": 3, "plus": -2},
        {"arg": "/b", "measure": "count"},
        {"caller": "/b", "plus": 1},
        {"caller": "/b"},
    ]
    tests: list[tuple[str, dict[str, Any]]] = [
        (root, {"name": "a", "op": op, "value": operand, **flags})
        for root in ("args", "caller")
        for op in ("le", "gt")
        for operand in operands
        for flags in ({}, {"or_absent": True}, {"measure": "count"})
        if not (root == "caller" and (then == "allow" or flags.get("or_absent")) and "or_absent" in flags)
    ]
    rest = rendered.rule("rest", "deny" if then == "allow" else "allow", {"side_effects": True})
    policies = [[rendered.rule(f"r{n}", then, {root: [test]}), rest] for n, (root, test) in enumerate(tests)]
    values: list[Any] = [None, 1, 2.5, 10**9 + 1, "1", [], ["x", "y"]]
    calls = {}
    for (index, (root, test)), (number, (left, right)) in itertools.product(
        enumerate(tests), enumerate(itertools.product(values, repeat=2))
    ):
        given: dict[str, dict[str, Any]] = {"args": {}, "caller": {}}
        given[root]["a"] = left
        given["caller" if "caller" in test["value"] else "args"]["b"] = right
        calls[f"{index}-{number}"] = rendered.call(f"s{index}", "read", [], **given)
    assert _compare(tmp_path, policies, calls) == len(tests) * len(values) ** 2


def _placed(name: str, value: Any) -> Any:
    if name == "a":
        return value
    if name == "/a/b":
        return {"b": value}
    return [value, 1] if name == "/a/*" else [{"b": value}, {"b": "a"}]
