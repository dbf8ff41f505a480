"""Random rules, guarantees and calls over published tools, every operator included."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any

from ironcurtain.analysis.engine.guarantee_scope import read_guarantees
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.compiler.rules.checks.policy import check_policy
from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.reserved_tools import applicable, with_reserved
from ironcurtain.decision.roles import Registry
from ironcurtain.errors import IronCurtainError
from ironcurtain.model.annotations import Annotations
from ironcurtain.model.guarantees import Guarantees
from ironcurtain.model.lists import Lists
from ironcurtain.model.policy import CompiledPolicy
from ironcurtain.system import json_text
from ironcurtain.system.files import parse_document
from support.generators.published import (
    PATHS,
    PATTERNS,
    RESOURCES,
    ROLES,
    WORLD,
    kind_of,
    possible_roles,
    random_server,
)
from support.generators.published_requests import REQUESTS, random_request
from support.generators.published_tests import CALLER, FACTS, TestMaker
from support.generators.published_values import Values, around, boundaries, changed
from support.projects.policies import annotations_of, compiled, named_lists

LISTS = {"friends": {"type": "recipient", "resolved": ["alice@example.com", "carol@example.org"]}}
KEYS = {"path": ("paths", "within"), "fetch-url": ("domains", "allowed")}
REQUESTING = 0.5
"""The share of policies whose rules speak of requests beside tool calls by their names."""
REQUESTED = 0.25
"""The share of calls that such requests are decided as."""


@dataclass(frozen=True)
class Server:
    """A server under rules of its own: one policy.

    Attributes:
        tools: Its annotated tools, and requests beside tool calls that rules could apply to.
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
        near: dict[tuple[str, ...], list[Any]] = {}
        for test in self._tests("args"):
            near.setdefault(pointers.steps_of(test["name"]), []).extend(boundaries(test))
        return {tool["tool"]: Values(tool["input_schema"], pool, near) for tool in self.tools}

    def call(self, random: Random) -> tuple[str, dict[str, Any], dict[str, Any]] | None:
        """Return a random valid call: tool, arguments, caller facts; None if none was made.

        It may be what a request beside tool calls is decided as, whether or not the server has it listed.
        """
        if random.random() < REQUESTED:
            return *random_request(random, self.name), self._random_facts(random)
        tool = random.choice(self.tools)
        places = {pointers.steps_of(a["name"]): _resources(a) for a in tool["args"] if _resources(a)}
        places = {**places, **{(*steps, pointers.EVERY): found for steps, found in places.items()}}
        for composite in tool.get("composites", []):
            places |= _parts(random, composite)
        maker = self.makers[tool["tool"]]
        arguments = maker.arguments(random, places)
        if arguments is None:
            return None
        facts = self._random_facts(random)
        if random.random() < 0.5:
            arguments, facts = self._equalised(random, maker, arguments, facts)
        return tool["tool"], arguments, facts

    def _random_facts(self, random: Random) -> dict[str, Any]:
        return {name: random.choice(pool) for name, pool in self._facts.items() if random.random() < 0.6}

    def _tests(self, key: str) -> list[dict[str, Any]]:
        conditions = [rule["if"] for rule in (*self.rules, *self.changed)]
        conditions += [each["when"] for each in self.guarantees]
        return [test for condition in conditions for test in condition.get(key, [])]

    @cached_property
    def _facts(self) -> dict[str, list[Any]]:
        """What the caller's facts can be: also what stands at the boundaries of the tests."""
        found = {name: list(pool) for name, pool in FACTS.items()}
        for test in self._tests("caller"):
            name, *below = pointers.steps_of(test["name"])
            values = boundaries(test)
            for step in reversed(below):
                values = ([each] if step == pointers.EVERY else {step: each} for each in values)
            found[name] += values
        return found

    def _equalised(
        self, random: Random, maker: Values, arguments: dict[str, Any], facts: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return a call in which two values that a test compares are equal, or nearly so."""
        pairs = [(key, t, r) for key in ("args", "caller") for t in self._tests(key) if (r := _referred(t))]
        if not pairs:
            return arguments, facts
        key, test, (kind, pointer) = random.choice(pairs)
        own, other = (key, pointers.steps_of(test["name"])), (kind, pointers.steps_of(pointer))
        source, target = random.sample([own, other], 2)
        roots = {"args": arguments, "caller": facts}
        held = [value for _, value in pointers.matches(roots[source[0]], source[1])]
        held = held or (maker.defaults(source[1]) if source[0] == "args" else [])
        if not held:
            return arguments, facts
        value = random.choice([held[0], held[0], held[0], *changed(held[0])])
        changed_root = _with(roots[target[0]], target[1], value)
        if target[0] == "caller":
            return arguments, changed_root
        return (changed_root, facts) if maker.is_valid(changed_root) else (arguments, facts)


def random_policy(random: Random, name: str) -> Server:
    """Return a server with random tools, annotations, rules and guarantees, all of which compile."""
    tools = random_server(random)
    annotated = annotations_of({name: tools}, ROLES)
    maker = _Maker(random, name, tools, random.random() < REQUESTING)
    rules = _valid((maker.rule(f"{name}-r{n}") for n in range(random.randint(1, 8))), annotated)
    more = _valid([maker.rule(f"{name}-added")], annotated)
    changed = _valid(_changed(random, rules, more), annotated)
    bundle = bundle_of(annotated, rules)
    statements = [maker.guarantee(f"{name}-g{n}", rules) for n in range(3)]
    kept = [each for each in statements if _is_statement(each, bundle)]
    listed = applicable(annotated, policy_of([*rules, *changed]))
    tools += [REQUESTS[request] for _, request in listed]
    return Server(name, tuple(tools), tuple(rules), tuple(changed), tuple(kept))


def policy_of(rules: Sequence[dict[str, Any]]) -> CompiledPolicy:
    """Return rules as a policy, with what they test of the caller."""
    return compiled(list(rules), caller=CALLER)


def bundle_of(annotated: Annotations, rules: Sequence[dict[str, Any]]) -> Bundle:
    """Return the bundle of rules over annotated tools, and over the requests that they could apply to."""
    annotated = with_reserved(annotated, policy_of(rules))
    registry = Registry(annotated.roles)
    release = Release(engine_version="test")
    return assemble(policy_of(rules), annotated, named_lists(LISTS), registry=registry, release=release)


def guarantees_of(statements: Sequence[dict[str, Any]]) -> Guarantees:
    """Return statements as the file that holds them."""
    document: dict[str, Any] = {"format": "ironcurtain/guarantees/v1", "guarantees": list(statements)}
    return parse_document(json_text.pretty(document), "guarantees.yaml", Guarantees)


def _valid(rules: Any, annotated: Annotations) -> list[dict[str, Any]]:
    lists: Lists = named_lists(LISTS)
    return [rule for rule in rules if _compiles(rule, annotated, lists)]


def _compiles(rule: dict[str, Any], annotated: Annotations, lists: Lists) -> bool:
    policy = policy_of([rule])
    listed = with_reserved(annotated, policy)
    try:
        check_policy(policy, listed, lists, Registry(listed.roles))
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
    kind = random.choice(["none", "drop", "verdict", "swap", "add", "value", "value", "pattern", "flag"])
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
    elif kind == "pattern":
        for one in (one for key in ("paths", "domains", "lists") for one in new[place]["if"].get(key, [])):
            field = "within" if "within" in one else "allowed"
            one[field] = random.sample(PATTERNS[kind_of(one["roles"][0])], 1)
    else:
        tests = [test for key in ("args", "caller") for test in new[place]["if"].get(key, [])]
        for test in tests[:1]:
            test.update(
                _turned(random, test) if kind == "flag" else {"value": _nudged(random, test["value"])}
            )
    return new


def _turned(random: Random, test: dict[str, Any]) -> dict[str, Any]:
    """Return a test's flags, one of them turned."""
    if pointers.EVERY in pointers.steps_of(test["name"]) and random.random() < 0.5:
        return {"over": "every" if test.get("over") == "some" else "some"}
    return {} if test["op"] == "present" else {"or_absent": not test.get("or_absent", False)}


def _nudged(random: Random, value: Any) -> Any:
    """Return an operand that differs little."""
    if isinstance(value, str):
        return value.replace("secret", "zzz") + random.choice(["", "z"])
    if isinstance(value, int | float) and not isinstance(value, bool):
        return random.choice(around(value))
    if isinstance(value, list) or (isinstance(value, dict) and not {"arg", "caller"} & value.keys()):
        return random.choice(list(changed(value)))
    return value


def _referred(test: dict[str, Any]) -> tuple[str, str] | None:
    value = test["value"]
    if isinstance(value, dict) and set(value) in ({"arg"}, {"caller"}):
        ((kind, pointer),) = value.items()
        return ("args" if kind == "arg" else "caller"), pointer
    return None


def _with(root: Any, steps: Sequence[str], value: Any) -> Any:
    """Return a value with another one at a place, which is made where it is not there."""
    if not steps:
        return value
    if steps[0] == pointers.EVERY:
        elements = root if isinstance(root, list) else []
        return [_with(elements[0] if elements else None, steps[1:], value), *elements[1:]]
    members = root if isinstance(root, dict) else {}
    return {**members, steps[0]: _with(members.get(steps[0]), steps[1:], value)}


def _parts(random: Random, composite: dict[str, Any]) -> dict[tuple[str, ...], list[Any]]:
    """Return parts of a composite that make one of its resources, or nearly so."""
    kind, mark = composite["role"], composite["with"]
    whole = random.choice([*RESOURCES[kind], *(p.replace("*", "x") for p in PATTERNS[kind])])
    count = len(composite["join"])
    cut = whole.split(mark)
    first = max(1, len(cut) - count + 1)
    parts = [mark.join(cut[:first]), *cut[first:], "x", "y"][:count]
    if random.random() < 0.3:
        parts = [
            random.choice([part, f"{part}{mark[0]}", f"{mark[-1]}{part}", "", part.upper()]) for part in parts
        ]
    return {pointers.steps_of(name): [part] for name, part in zip(composite["join"], parts, strict=True)}


def _resources(argument: dict[str, Any]) -> list[Any]:
    kind = kind_of(possible_roles(argument)[0])
    texts = [*RESOURCES.get(kind, []), *(p.replace("*", "x") for p in PATTERNS.get(kind, []))]
    if not texts:
        return []
    codec = [f"{texts[0]},{texts[-1]}", f'["{texts[0]}", "{texts[1]}"]', ""] if argument.get("codec") else []
    return [*texts, *codec, f"{texts[-1]}x", *([7, 8] if kind == "thing" else [])]


def _constants(things: Sequence[dict[str, Any]]) -> Iterator[Any]:
    for thing in things:
        condition = thing.get("if") or thing.get("when") or {}
        for test in [*condition.get("args", []), *condition.get("caller", [])]:
            listed = test["value"] if isinstance(test["value"], list) else [test["value"]]
            for value in listed:
                if isinstance(value, str) and test["op"] == "matches":
                    yield re.sub(r"\(\?\w+\)|[.*+?^$|()\[\]\\]", "", value)
                elif not isinstance(value, dict) or not {*value} & {"arg", "caller"}:
                    yield value


class _Maker:
    """Makes the rules and guarantees of one server."""

    def __init__(
        self, random: Random, server: str, tools: Sequence[dict[str, Any]], is_requesting: bool
    ) -> None:
        self._random = random
        self._server = server
        self._tools = tools
        self._requests = list(REQUESTS.values()) if is_requesting else []
        self._tests = {tool["tool"]: TestMaker(random, tool) for tool in (*tools, *self._requests)}

    def _any_tool(self) -> dict[str, Any]:
        """Return one of the tools, or a request that may not be listed."""
        pool = self._requests if self._requests and self._random.random() < 0.4 else self._tools
        return self._random.choice(pool)

    def rule(self, name: str) -> dict[str, Any]:
        random = self._random
        then = random.choice(["allow", "allow", "allow", "escalate", "deny"])
        tool = self._any_tool()
        condition: dict[str, Any] = {"server": [self._server]}
        if random.random() < 0.85:
            condition["tool"] = [tool["tool"]]
        condition |= self._patterns(tool, then)
        condition |= self._tests[tool["tool"]].tests(then, 0.6)
        if random.random() < 0.15:
            condition["in_sandbox"] = True
        return {"name": name, "clause": "C1", "reason": "so", "then": then, "if": condition}

    def guarantee(self, id_: str, rules: Sequence[dict[str, Any]]) -> dict[str, Any]:
        random = self._random
        if rules and random.random() < 0.5:
            return self._kept(id_, random.choice(rules))
        tool = self._any_tool()
        demand = random.choice(["never", "never", "always"])
        verdict = random.choice(["allow", "escalate"] if demand == "never" else ["allow", "escalate", "deny"])
        scope: dict[str, Any] = {"server": [self._server], "tool": [tool["tool"]]}
        roles = _roles(tool)
        if roles and random.random() < 0.5:
            role = random.choice(roles)
            scope["roles"] = [role]
            pool = [*PATTERNS["path"], "sandbox"] if role in PATHS else PATTERNS[role]
            if random.random() < 0.6 and role != "fetch-url":
                scope[random.choice(["within", "outside"])] = random.sample(pool, 1)
        then = "allow" if (demand, verdict) == ("always", "allow") else "deny"
        if "roles" in scope and random.random() < 0.4:
            del scope["tool"]  # whatever has such a resource
        else:
            scope |= self._tests[tool["tool"]].tests(then, 0.5)
        return {"id": id_, demand: verdict, "when": scope}

    def _kept(self, id_: str, rule: dict[str, Any]) -> dict[str, Any]:
        """Return a statement that a rule was probably made for."""
        condition = rule["if"]
        scope = {key: condition[key] for key in ("server", "args", "caller") if key in condition}
        scope |= {"tool": condition["tool"]} if "tool" in condition else {}
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


def _roles(tool: dict[str, Any]) -> list[str]:
    found = {role for argument in tool["args"] for role in possible_roles(argument)}
    found |= {each["role"] for each in tool.get("composites", [])}
    return sorted(found - {"none"})
