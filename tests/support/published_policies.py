"""Random rules, guarantees and calls over published tools, every operator included."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.canonical import pointers
from ironcurtain.errors import IronCurtainError
from ironcurtain.evidence.guarantee_scope import read_guarantees
from ironcurtain.files import parse_document
from ironcurtain.model import jsontext
from ironcurtain.model.annotations import Annotations
from ironcurtain.model.guarantees import Guarantees
from ironcurtain.model.lists import Lists
from ironcurtain.pipeline.assemble import Release, assemble
from ironcurtain.pipeline.rules import check_policy
from ironcurtain.pipeline.schema_leaves import Leaf, schema_leaves
from ironcurtain.roles.registry import Registry
from support.policies import annotations, compiled, named_lists
from support.published import PATHS, PATTERNS, RESOURCES, ROLES, WORLD, kind_of, possible_roles, random_server
from support.published_values import Values

LISTS = {"friends": {"type": "recipient", "resolved": ["alice@example.com", "carol@example.org"]}}
KEYS = {"path": ("paths", "within"), "fetch-url": ("domains", "allowed")}
FACTS: dict[str, list[Any]] = {
    "sub": ["alice", "u1", "x", "secret", 7, None, ["alice"]],
    "age": [17, 18, 18.5, "18", None, True],
    "groups": [[], ["staff"], ["a", "staff"], ["staff", None], "staff", [1]],
}
_FACT_TESTS: list[dict[str, Any]] = [
    {"name": "/sub", "op": "equals", "value": "alice"},
    {"name": "/sub", "op": "not_in", "value": ["alice", "u1"]},
    {"name": "/sub", "op": "matches", "value": "(?i)A.*"},
    {"name": "/sub", "op": "present", "value": True},
    {"name": "/age", "op": "lt", "value": 18},
    {"name": "/age", "op": "ge", "value": 18},
    {"name": "/groups/*", "op": "equals", "value": "staff", "over": "some"},
    {"name": "/groups/*", "op": "not_equals", "value": "staff"},
    {"name": "groups", "op": "ge", "value": 1, "measure": "count"},
]


@dataclass(frozen=True)
class Server:
    """A server under rules of its own: one policy.

    Attributes:
        tools: Its annotated tools.
        rules: Rules that name it.
        changed: The same rules with one change.
        guarantees: Statements about its tools.
    """

    name: str
    tools: tuple[dict[str, Any], ...]
    rules: tuple[dict[str, Any], ...]
    changed: tuple[dict[str, Any], ...]
    guarantees: tuple[dict[str, Any], ...]

    @cached_property
    def makers(self) -> dict[str, Values]:
        """What makes values of each tool's arguments, with what the rules compare with."""
        pool = list(_constants([*self.rules, *self.changed, *self.guarantees]))
        pool += [fact for fact in FACTS["sub"] if isinstance(fact, str)]
        return {tool["tool"]: Values(tool["input_schema"], pool) for tool in self.tools}

    def call(self, random: Random) -> tuple[str, dict[str, Any], dict[str, Any]] | None:
        """Return a random valid call: tool, arguments, caller facts; None if none was made."""
        tool = random.choice(self.tools)
        places = {a["name"]: _resources(a) for a in tool["args"] if _resources(a)}
        arguments = self.makers[tool["tool"]].arguments(random, places)
        facts = {name: random.choice(pool) for name, pool in FACTS.items() if random.random() < 0.6}
        return None if arguments is None else (tool["tool"], arguments, facts)


def random_policy(random: Random, name: str) -> Server:
    """Return a server with random tools, annotations, rules and guarantees, all of which compile."""
    tools = random_server(random)
    annotated = annotations({name: tools}, ROLES)
    maker = _Maker(random, name, tools)
    rules = _valid((maker.rule(f"{name}-r{n}") for n in range(random.randint(1, 8))), annotated)
    more = _valid([maker.rule(f"{name}-added")], annotated)
    changed = _valid(_changed(random, rules, more), annotated)
    bundle = bundle_of(annotated, rules)
    statements = [maker.guarantee(f"{name}-g{n}", rules) for n in range(3)]
    kept = [each for each in statements if _is_statement(each, bundle)]
    return Server(name, tuple(tools), tuple(rules), tuple(changed), tuple(kept))


def bundle_of(annotated: Annotations, rules: Sequence[dict[str, Any]]) -> Bundle:
    """Return the bundle of rules over annotated tools."""
    registry = Registry(annotated.roles)
    release = Release(engine_version="test")
    return assemble(compiled(list(rules)), annotated, named_lists(LISTS), registry=registry, release=release)


def guarantees_of(statements: Sequence[dict[str, Any]]) -> Guarantees:
    """Return statements as the file that holds them."""
    document = {"format": "ironcurtain/guarantees/v1", "guarantees": list(statements)}
    return parse_document(jsontext.pretty(document), "guarantees.yaml", Guarantees)


def _valid(rules: Any, annotated: Annotations) -> list[dict[str, Any]]:
    lists: Lists = named_lists(LISTS)
    return [rule for rule in rules if _compiles(rule, annotated, lists)]


def _compiles(rule: dict[str, Any], annotated: Annotations, lists: Lists) -> bool:
    try:
        check_policy(compiled([rule]), annotated, lists, Registry(annotated.roles))
    except IronCurtainError:
        return False
    return True


def _is_statement(statement: dict[str, Any], bundle: Bundle) -> bool:
    content = PolicyContent.of(bundle)
    try:
        read_guarantees(guarantees_of([statement]), content, Registry(content.annotations.roles), WORLD)
    except IronCurtainError:
        return False
    return True


def _changed(random: Random, rules: list[dict[str, Any]], more: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rules with one change of the kinds that people make, or with none."""
    new = copy.deepcopy(rules)
    kind = random.choice(["none", "drop", "verdict", "swap", "add", "value"])
    place = random.randrange(len(new)) if new else 0
    if kind == "add" or not new:
        new[place:place] = more
    elif kind == "drop":
        del new[place]
    elif kind == "swap":
        other = random.randrange(len(new))
        new[place], new[other] = new[other], new[place]
    elif kind == "verdict":
        new[place]["then"] = random.choice(["allow", "escalate", "deny"])
    elif kind == "value":
        for test in new[place]["if"].get("args", [])[:1]:
            if isinstance(test["value"], str):
                test["value"] = test["value"].replace("secret", "zzz") + random.choice(["", "z"])
            elif isinstance(test["value"], int | float) and not isinstance(test["value"], bool):
                test["value"] += random.choice([-1, 1, 0.5])
    return new


def _resources(argument: dict[str, Any]) -> list[Any]:
    texts = RESOURCES.get(kind_of(possible_roles(argument)[0]), [])
    if argument["name"].startswith("/"):
        return []
    return [*texts, f"{texts[0]},{texts[-1]}"] if argument.get("codec") and texts else list(texts)


def _constants(things: Sequence[dict[str, Any]]) -> Iterator[Any]:
    for thing in things:
        condition = thing.get("if") or thing.get("when") or {}
        for test in [*condition.get("args", []), *condition.get("caller", [])]:
            listed = test["value"] if isinstance(test["value"], list) else [test["value"]]
            for value in listed:
                if isinstance(value, str) and test["op"] == "matches":
                    yield re.sub(r"\(\?\w+\)|[.*+?^$|()\[\]\\]", "", value)
                elif not isinstance(value, dict):
                    yield value


class _Maker:
    """Makes the rules and guarantees of one server."""

    def __init__(self, random: Random, server: str, tools: Sequence[dict[str, Any]]) -> None:
        self._random = random
        self._server = server
        self._tools = tools
        self._values = {tool["tool"]: Values(tool["input_schema"], ["secret", "alice"]) for tool in tools}

    def rule(self, name: str) -> dict[str, Any]:
        random = self._random
        then = random.choice(["allow", "allow", "allow", "escalate", "deny"])
        tool = random.choice(self._tools)
        condition: dict[str, Any] = {"server": [self._server]}
        if random.random() < 0.85:
            condition["tool"] = [tool["tool"]]
        condition |= self._patterns(tool, then)
        condition |= self._tests(tool, then, 0.6)
        if random.random() < 0.15:
            condition["in_sandbox"] = True
        return {"name": name, "clause": "C1", "reason": "so", "then": then, "if": condition}

    def guarantee(self, id_: str, rules: Sequence[dict[str, Any]]) -> dict[str, Any]:
        random = self._random
        if rules and random.random() < 0.5:
            return self._kept(id_, random.choice(rules))
        tool = random.choice(self._tools)
        demand = random.choice(["never", "never", "always"])
        verdict = random.choice(["allow", "escalate"] if demand == "never" else ["allow", "escalate", "deny"])
        scope: dict[str, Any] = {"server": [self._server], "tool": [tool["tool"]]}
        roles = _roles(tool)
        if roles and random.random() < 0.5:
            role = random.choice(roles)
            scope["roles"] = [role]
            if random.random() < 0.6 and role in PATHS:
                scope[random.choice(["within", "outside"])] = random.sample([*PATTERNS["path"], "sandbox"], 1)
        scope |= self._tests(tool, "allow" if (demand, verdict) == ("always", "allow") else "deny", 0.5)
        return {"id": id_, demand: verdict, "when": scope}

    def _kept(self, id_: str, rule: dict[str, Any]) -> dict[str, Any]:
        """Return a statement that a rule was probably made for."""
        condition = rule["if"]
        scope = {key: condition[key] for key in ("server", "args", "caller") if key in condition}
        scope["tool"] = condition.get("tool") or [tool["tool"] for tool in self._tools]
        for one in condition.get("paths", [])[:1]:
            scope |= {"roles": one["roles"], "within": one["within"]}
        if "roles" in condition and "roles" not in scope:
            scope["roles"] = condition["roles"]
        if rule["then"] == "allow":
            return {"id": id_, "always": "allow", "when": scope}
        return {"id": id_, "never": "escalate" if rule["then"] == "deny" else "allow", "when": scope}

    def _patterns(self, tool: dict[str, Any], then: str) -> dict[str, Any]:
        random, found = self._random, dict[str, Any]()
        roles = _roles(tool)
        if roles and random.random() < 0.25:
            found["roles"] = random.sample(roles, 1)
        kinds = {kind_of(role) for role in roles}
        for kind in sorted(kinds):
            if random.random() < 0.45:
                continue
            key, field = KEYS.get(kind, ("lists", "allowed"))
            named = [role for role in roles if kind_of(role) == kind]
            pool = [*PATTERNS[kind], *(["@friends"] if kind == "recipient" else [])]
            one: dict[str, Any] = {
                "roles": random.sample(named, random.randint(1, len(named))),
                field: random.sample(pool, random.randint(1, 2)),
            }
            if then == "allow" and random.random() < 0.4:
                one["or_none"] = True
            found.setdefault(key, []).append(one)
        return found

    def _tests(self, tool: dict[str, Any], then: str, share: float) -> dict[str, Any]:
        random, found = self._random, dict[str, Any]()
        leaves = [leaf for leaf in schema_leaves(tool["input_schema"]) if _is_free(tool, leaf)]
        if leaves and random.random() < share:
            count = min(len(leaves), random.choice([1, 1, 2]))
            found["args"] = [self._test(tool, leaf, leaves) for leaf in random.sample(leaves, count)]
        if random.random() < 0.2:
            pool = [
                *_FACT_TESTS,
                *([{"name": "/sub", "op": "present", "value": False}] if then != "allow" else []),
            ]
            found["caller"] = [random.choice(pool)]
        return found

    def _test(self, tool: dict[str, Any], leaf: Leaf, leaves: Sequence[Leaf]) -> dict[str, Any]:
        random = self._random
        value = self._values[tool["tool"]].value(random, leaf.schema)
        test: dict[str, Any] = {"name": leaf.name, **self._compared(value, leaves)}
        if pointers.EVERY in pointers.steps_of(leaf.name) and random.random() < 0.5:
            test["over"] = "some"
        if test["op"] != "present" and random.random() < 0.4:
            test["or_absent"] = True
        return test

    def _compared(self, value: Any, leaves: Sequence[Leaf]) -> dict[str, Any]:
        random = self._random
        kinds: list[dict[str, Any]] = [{"op": "present", "value": random.random() < 0.5}]
        if value is not None:
            kinds += [{"op": op, "value": value} for op in ("equals", "equals", "not_equals")]
            kinds += [{"op": op, "value": [value]} for op in ("in", "not_in")]
        if isinstance(value, int | float) and not isinstance(value, bool):
            kinds += [{"op": op, "value": value} for op in ("lt", "le", "gt", "ge")] * 2
        if isinstance(value, str):
            kinds += [{"op": "matches", "value": _expression(random, value)}] * 4
            kinds.append({"op": "le", "value": random.choice([0, 1, 3, 10]), "measure": "length"})
            refer: list[dict[str, Any]] = [{"caller": "/sub"}, {"arg": random.choice(leaves).name}]
            if random.random() < 0.4:  # comparisons of two values are much dearer to examine than others
                kinds += [{"op": op, "value": random.choice(refer)} for op in ("equals", "not_equals")] * 2
        if isinstance(value, list):
            kinds += [{"op": "ge", "value": random.choice([1, 2]), "measure": "count"}] * 3
        return copy.deepcopy(random.choice(kinds))


def _expression(random: Random, text: str) -> str:
    plain = re.escape(text[:12] or "a").replace("\\\n", "\\n")
    return random.choice(
        [
            plain,
            f"(?i){plain}",
            f"(?s).*{plain}.*",
            ".*(?i:secret).*",
            "[a-z]+",
            f"{plain}|x1",
            "[^/]*",
            r"\d+",
        ]
    )


def _roles(tool: dict[str, Any]) -> list[str]:
    found = {role for argument in tool["args"] for role in possible_roles(argument)}
    found |= {each["role"] for each in tool.get("composites", [])}
    return sorted(found - {"none"})


def _is_free(tool: dict[str, Any], leaf: Leaf) -> bool:
    """Tell whether rules may test a place: nothing at, above or below it has a resource role."""
    return not any(
        argument.get("roles") != ["none"]
        and pointers.steps_of(argument["name"])[0] == pointers.steps_of(leaf.name)[0]
        for argument in tool["args"]
    )
