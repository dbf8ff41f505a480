"""Random rules and calls, and one `opa eval` for many calls against many policies.

Every policy stands under a server of its own in one data tree, so that thousands of (policy, call)
pairs cost one run of OPA.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

from ironcurtain.compiler.render.render import render_policy
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.model.annotations import Annotations
from ironcurtain.model.policy import CompiledPolicy
from ironcurtain.system import assets
from support.documents import object_at

PATTERNS = {
    "read-path": ["~/Documents", "~/Documents/work", "/srv"],
    "delete-path": ["~/Documents", "/srv"],
    "fetch-url": ["example.com", "*.example.com", "@hosts"],
    "recipient": ["alice@example.com", "*@example.com", "@friends"],
}
KEYS = {
    "paths": ("within", ["read-path", "delete-path"]),
    "domains": ("allowed", ["fetch-url"]),
    "lists": ("allowed", ["recipient"]),
}
TOOLS = ["read", "send it", "move"]
Rule: TypeAlias = dict[str, Any]
Input: TypeAlias = dict[str, Any]
Result: TypeAlias = dict[str, Any]
VALUES: list[Any] = [
    None, True, False, 0, 1, 1.0, 1.5, -3, 50, 1e22, "", "a", "ab", "a\nb", "1", "true", "päth 😀",
    [], [1], ["a"], [True], [1, 2, "a"], {}, {"a": 1}, {"a": {"b": "a"}},
]  # fmt: skip
RELATED: list[dict[str, Any]] = [
    {"arg": "/a", "times": 3, "plus": -2},
    {"arg": "/list", "measure": "count"},
    {"caller": "/age", "plus": 1},
    {"arg": "/b"},
]
"""Operands that refer to another number; elements of arrays are not compared with them."""
OPERANDS: dict[str, list[Any]] = {
    "equals": [
        {"caller": "/a/b"},
        True,
        False,
        1,
        1.5,
        "a",
        "a\nb",
        [1],
        [True],
        {"a": 1},
        {"b": 2},
        [],
        {"caller": "/sub"},
        {"arg": "b"},
    ],
    "not_equals": [True, 1, "a", [1], {"a": 1}, {"caller": "/sub"}, {"arg": "/b/a"}],
    "in": [[True], [1], [1, 50], ["a", "1"], [[1], ["a"]], [{"a": 1}]],
    "not_in": [[True], [1], [1, 50], ["a", "1"], [[1], ["a"]], [{"a": 1}]],
    **{op: [1, 1.5, 0, -3, 1e22, *RELATED] for op in ("lt", "le", "gt", "ge")},
    "matches": ["a", "a|b", "a.b", "", ".*", "(?i)A", "p\u00e4th .", "`"],
    "contains_any": [["a"], ["b\n", "x.", "th 😀"]],
    "present": [True, False],
}
COUNTED = {"equals", "in", "matches", "lt", "le", "gt", "ge"}


def document(rules: list[dict[str, Any]]) -> CompiledPolicy:
    """Return rules as a policy, as if they had been checked."""
    return CompiledPolicy.model_validate_json(json.dumps({"format": "ironcurtain/policy/v1", "rules": rules}))


def rule(name: str, then: str, condition: dict[str, Any]) -> dict[str, Any]:
    """Return a rule as JSON."""
    return {"name": name, "clause": "C1", "reason": f"because of {name}", "then": then, "if": condition}


def annotations_of(servers: list[str]) -> Annotations:
    """Return annotations in which every server has the same tools."""
    tools = [{"tool": tool, "side_effects": True} for tool in TOOLS]
    value = {
        "format": "ironcurtain/annotations/v1",
        "servers": {server: {"tools": tools} for server in servers},
    }
    return Annotations.model_validate_json(json.dumps(value))


def evaluate(directory: Path, policies: list[list[Rule]], calls: dict[str, Input]) -> dict[str, Result]:
    """Return OPA's decision for every call by id; a call's `server` is `s<index of its policy>`."""
    annotated = annotations_of([f"s{index}" for index in range(len(policies))])
    texts = {}
    for index, rules in enumerate(policies):
        (directory / f"s{index}.rego").write_text(render_policy(document(rules), f"s{index}", annotated))
        texts.update({r["name"]: {"reason": r["reason"], "clause": r["clause"]} for r in rules})
    documents = {"ironcurtain": {"rules": {"rules": texts}}, "ironcurtain_inputs": calls}
    (directory / "data.json").write_text(json.dumps(documents))
    command = OpaCommand(find())
    sources = [
        assets.REGO / "ironcurtain" / name / f"{name}.rego" for name in ("decision", "matching", "operators")
    ]
    rego = [*directory.glob("*.rego"), *sources, assets.REGO / "ironcurtain_verify" / "verify.rego"]
    command.check(*rego)
    for module in directory.glob("*.rego"):
        assert command.format(module.read_text()) == module.read_text()
    told = command.eval("data.ironcurtain_verify.results", data=[*rego, directory / "data.json"])
    result = {id_: object_at(decision) for id_, decision in object_at(told).items()}
    assert result.keys() == calls.keys(), "a decision was undefined"
    return result


def call(server: str, tool: str, subjects: list[dict[str, Any]], **extra: Any) -> Input:
    """Return a policy input; a subject is {role, patterns, discharged}."""
    value = {"side_effects": True, "args": {}, "caller": {}, **extra}
    places: list[dict[str, dict[str, Any]]]
    places = [{"roles": {}, "patterns": {}, "within": {}} for _ in range(2)]
    open_, sandboxed = places
    listed = {}
    for index, subject in enumerate(subjects or [{"role": "none", "patterns": [], "discharged": False}]):
        id_ = f"{index:04d}" if subjects else "call"
        listed[id_] = {"role": subject["role"], "at": "/x", "value": id_, "discharged": subject["discharged"]}
        place = sandboxed if subject["discharged"] else open_
        place["roles"].setdefault(subject["role"], {})[id_] = True
        for pattern in subject["patterns"]:
            within = place["within"].setdefault(subject["role"], {})
            within.setdefault(pattern, {})[id_] = True
            place["patterns"][subject["role"]] = sorted(within)
    return {"server": server, "tool": tool, **value, "subjects": listed, **open_, "sandboxed": sandboxed}


def random_call(random: Random, server: str) -> dict[str, Any]:
    """Return a random policy input."""
    subjects = []
    for _ in range(random.choice([0, 1, 1, 2, 3, 4])):
        role = random.choice(list(PATTERNS))
        covering = [p for p in PATTERNS[role] if random.random() < 0.45]
        subjects.append(
            {"role": role, "patterns": covering, "discharged": "path" in role and random.random() < 0.3}
        )
    return call(
        server,
        random.choice(TOOLS),
        subjects,
        side_effects=random.random() < 0.8,
        args=_random_object(random, ["a", "b", "list", "not"]),
        caller=_random_object(random, ["sub", "age", "a", "list"]) if random.random() < 0.8 else {},
    )


def random_rule(random: Random, name: str) -> dict[str, Any]:
    """Return a random valid rule as JSON."""
    then = random.choice(["allow", "allow", "escalate", "deny"])
    condition: dict[str, Any] = {}
    if random.random() < 0.5:
        condition["tool"] = random.sample(TOOLS, random.choice([1, 1, 2]))
    if random.random() < 0.1:
        condition["side_effects"] = random.random() < 0.7
    if random.random() < 0.25:
        condition["roles"] = random.sample([*PATTERNS, "none"], random.choice([1, 1, 2]))
    for key in KEYS:
        if random.random() < 0.4:
            condition[key] = _random_conditions(random, key, then)
    if random.random() < 0.4:
        names = ["a", "b", "/a/b", "/list/*", "/list/*/a", "not", "/not"]
        condition["args"] = [
            random_test(random, random.choice(names)) for _ in range(random.choice([1, 1, 2]))
        ]
    if random.random() < 0.2:
        names = ["/sub", "age", "/a/b", "/list/*", "/list/*/a"]
        tests = [
            random_test(random, random.choice(names), caller=then) for _ in range(random.choice([1, 1, 2]))
        ]
        condition["caller"] = tests
    condition = condition or {"side_effects": True}
    if random.random() < 0.2:
        condition["in_sandbox"] = True
    return rule(name, then, condition)


def alike_rules(random: Random, count: int) -> list[Rule]:
    """Return rules of a few kinds in random order; those of a kind differ in their patterns only."""
    kinds = [_patterned_rule(random) for _ in range(3)]
    rules = []
    for number in range(count):
        key, alike = random.choice(kinds)
        made = rule(f"r{number}", alike["then"], copy.deepcopy(alike["if"]))
        given = made["if"][key]
        varied = random.choice(given) if isinstance(given, list) else given
        varied[KEYS[key][0]] = random.sample(PATTERNS[varied["roles"][0]], random.choice([1, 1, 2]))
        rules.append(made)
    return rules


def _patterned_rule(random: Random) -> tuple[str, Rule]:
    """Return a random rule with patterns, and the key of the condition that has them."""
    while True:
        made = random_rule(random, "any")
        keys = [key for key in KEYS if key in made["if"]]
        if keys:
            return random.choice(keys), made


def random_test(random: Random, name: str, *, caller: str | None = None) -> dict[str, Any]:
    """Return a random valid test of an argument, or of a caller fact in a rule that says `caller`."""
    op = random.choice(list(OPERANDS))
    related = RELATED if "*" in name else []
    value = random.choice([operand for operand in OPERANDS[op] if operand not in related])
    test: dict[str, Any] = {"name": name, "op": op, "value": value}
    if caller == "allow" and op == "present":
        test["value"] = True
    if op in ("matches", "contains_any") and random.random() < 0.4:
        test["ignore_case"] = True
    if op == "contains_any" and "*" not in name and random.random() < 0.5:
        test["also_in"] = ["/b/a", "list"]
    if "*" in name and random.random() < 0.5:
        test["over"] = "some"
    can_count = caller is None and "*" in name and op in COUNTED and not isinstance(test["value"], dict)
    if can_count and random.random() < 0.4:
        test.pop("over", None)
        test["count"] = {random.choice(["le", "ge", "equals"]): random.randint(0, 3)}
    if caller != "allow" and op != "present" and random.random() < 0.3:
        test["or_absent"] = True
    if "count" not in test and op in ("lt", "le", "gt", "ge") and random.random() < 0.4:
        test["measure"] = "count" if isinstance(value, dict) else random.choice(["count", "length"])
    return test


def _random_conditions(random: Random, key: str, then: str) -> Any:
    field, roles = KEYS[key]
    groups = [[role] for role in roles] if random.random() < 0.4 else [random.sample(roles, len(roles))]
    conditions = []
    for group in groups:
        pool = PATTERNS[group[0]]
        one: dict[str, Any] = {"roles": group, field: random.sample(pool, random.choice([1, 1, 2]))}
        if then == "allow" and random.random() < 0.3:
            one["or_none"] = True
        conditions.append(one)
    return conditions if len(conditions) > 1 or random.random() < 0.5 else conditions[0]


def _random_object(random: Random, names: list[str]) -> dict[str, Any]:
    value = {name: random.choice(VALUES) for name in names if random.random() < 0.7}
    if "list" in value and random.random() < 0.7:
        items = [1, "a", None, {"a": 1}, {"a": "a"}, {"a": None}, [1]]
        value["list"] = [random.choice(items) for _ in range(random.choice([0, 1, 2, 3]))]
    return value
