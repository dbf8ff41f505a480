"""Generated calls: each tool in each place and mode that its annotation and a policy's rules tell apart.

They are derived from annotations and patterns alone, so they need no model and are the same on every
machine. What a policy makes of them is *recorded* (`origin: generated`): a record shows what changed
since, and says nothing about whether the policy is right. Stability compares policies over them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final, TypeAlias

from ironcurtain.analysis.engine.rules.predicates import Predicate, role_predicate, rule_predicates
from ironcurtain.analysis.engine.space.variables import PRESENT, Variable, VariableClass, variables_of
from ironcurtain.analysis.engine.values.possible_facts import possible_facts
from ironcurtain.analysis.engine.values.witnesses import (
    PatternWitness,
    fresh_words,
    list_witnesses,
    outside_witnesses,
    pattern_witnesses,
)
from ironcurtain.compiler.rules.checks.arguments import concerned_tools
from ironcurtain.compiler.rules.checks.patterns import members
from ironcurtain.compiler.scenarios.values import Filler
from ironcurtain.decision.canonical.validate import ValidatedTool
from ironcurtain.decision.roles import GIT_REMOTE, Registry
from ironcurtain.model.annotations import Annotations, Argument, ToolAnnotation
from ironcurtain.model.decision import Decision
from ironcurtain.model.lists import Lists
from ironcurtain.model.policy import CompiledPolicy
from ironcurtain.model.reserved_rules import ReservedRule
from ironcurtain.model.scenarios import DescribedWorld, Scenario, ScenarioCall
from ironcurtain.model.unknown_facts import Root, values_by_root
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct

MAX_OF_TOOL = 100
MAX_CALLS = 5_000
_USUALGIT_REMOTE = "origin"
_REPOSITORIES = "git repositories"
_UNUSABLE = (ReservedRule.INVALID_ARGUMENTS, ReservedRule.UNREPRESENTABLE_ARGUMENT)

_Places: TypeAlias = Mapping[str, tuple[str, ...]]
"""By kind of pattern: a value in each place, the first one a harmless place."""


class GenerationContext(Struct):
    """What calls are generated over: all that tells two calls apart.

    Attributes:
        policies: The policies whose patterns and tests count; several where policies are compared.
    """

    annotations: Annotations
    policies: tuple[CompiledPolicy, ...]
    lists: Lists
    world: DescribedWorld


class Generated(Struct):
    """Calls in a fixed order.

    Attributes:
        left_out: How many were not made because a tool, or all together, would have had too many.
    """

    calls: tuple[ScenarioCall, ...]
    left_out: int


def generate_calls(context: GenerationContext) -> Generated:
    """Return calls of every tool: at least one where its schema can be met, each only once."""
    registry = Registry(context.annotations.roles)
    words = _words(context)
    places = _places(context, registry, words[0])
    repositories = {_REPOSITORIES: tuple(sorted(context.world.repositories))}
    calls: list[ScenarioCall] = []
    left_out = 0
    for server, annotated in sorted(context.annotations.servers.items()):
        for tool in annotated.tools:
            fitted = ValidatedTool(tool)
            if fitted.unusable:
                continue  # every call of it is invalid
            filler = Filler(fitted, registry, words)
            predicates = _predicates(tool, server, context)
            declared = possible_facts([policy.facts for policy in context.policies], server, tool.tool)
            variables = variables_of(predicates, fitted, registry, words, declared).values
            found = list(_Calls(server, filler, registry, {**places, **repositories}, variables).all())
            room = min(MAX_OF_TOOL, MAX_CALLS - len(calls))
            calls += found[:room]
            left_out += max(0, len(found) - room)
    return Generated(tuple(calls), left_out)


def record(
    calls: Sequence[ScenarioCall], decide: Callable[[Sequence[ScenarioCall]], list[Decision]]
) -> tuple[Scenario, ...]:
    """Record what comes of calls on the real engine, as scenarios of origin `generated`.

    Calls that turn out to be none are left out.
    """
    return tuple(
        Scenario(
            id=call_id(call), call=call, expect=decision.verdict, clause=decision.clause, origin="generated"
        )
        for call, decision in zip(calls, decide(calls), strict=True)
        if decision.rule not in _UNUSABLE
    )


def call_id(call: ScenarioCall) -> str:
    """Return the id of a generated scenario: tool and digest, so that it stays when others come and go."""
    name = re.sub(r"[^a-z0-9]+", "-", f"{call.server}.{call.tool}".lower()).strip("-")[:80]
    return f"call.{name or 'tool'}.{hashlib.sha256(call_key(call)).hexdigest()[:12]}"


def call_key(call: ScenarioCall) -> bytes:
    """Return what makes two calls equal: their content as canonical JSON."""
    without = {key for key in ("facts", "at") if getattr(call, key) is None}
    return json_text.canonical(call.model_dump(mode="json", exclude=without))


def _words(context: GenerationContext) -> tuple[str, str]:
    texts = [
        # What is claimed of clauses makes no difference to any call.
        json_text.canonical(policy.model_dump(mode="json", by_alias=True, exclude={"claims"})).decode()
        for policy in context.policies
    ]
    lists = json_text.canonical(context.lists.model_dump(mode="json")).decode()
    return fresh_words([*texts, lists, json_text.canonical(context.world.model_dump(mode="json")).decode()])


def _places(context: GenerationContext, registry: Registry, fresh: str) -> _Places:
    """Return the values to try for each kind: sandbox, every place that a rule names, outside them all."""
    named: dict[str, set[str]] = {kind: set() for kind in registry.pattern_kinds}
    used: dict[str, set[str]] = {kind: set() for kind in registry.pattern_kinds}
    for condition in (
        c for policy in context.policies for rule in policy.rules for c in rule.if_.role_conditions
    ):
        for kind in {registry[role].pattern_kind for role in condition.roles}:
            named[kind] |= {p for p in condition.patterns if not p.startswith("@")}
            used[kind] |= {p.removeprefix("@") for p in condition.patterns if p.startswith("@")}
    home = context.world.home
    directories = {p: home + p[1:] if p.startswith("~") else p for p in named["path"]}
    found: dict[str, tuple[str, ...]] = {}
    for kind in registry.pattern_kinds:
        witnesses = pattern_witnesses(kind, named[kind], registry, fresh, directories)
        witnesses += _of_lists(kind, used[kind], context.lists, registry, fresh)
        values = [witness.values[0] for witness in [*witnesses, *outside_witnesses(kind, registry, fresh)]]
        sandbox = [f"{context.world.sandbox}/{fresh}"] if kind == "path" and context.world.sandbox else []
        found[kind] = tuple(dict.fromkeys([*sandbox, *values]))
    return found


def _of_lists(
    kind: str, names: set[str], lists: Lists, registry: Registry, fresh: str
) -> list[PatternWitness]:
    witnesses = []
    for name in sorted(names & lists.lists.keys()):
        values = members(lists.lists[name], registry)
        witnesses += list_witnesses(name, kind, values[:1], registry, fresh)
    return witnesses


def _predicates(tool: ToolAnnotation, server: str, context: GenerationContext) -> tuple[Predicate, ...]:
    """Return every test that tells modes of the tool apart: of its conditional roles, and of rules."""
    predicates = [role_predicate(when) for a in tool.args if a.conditional for when in a.conditional.when]
    own = Annotations(
        format="ironcurtain/annotations/v1",
        roles=context.annotations.roles,
        servers={server: context.annotations.servers[server].model_copy(update={"tools": (tool,)})},
    )
    for rule in (rule for policy in context.policies for rule in policy.rules):
        if concerned_tools(rule.if_, own):
            predicates += rule_predicates(rule.if_, rule.then)
    return tuple({predicate.key: predicate for predicate in predicates}.values())


_Known: TypeAlias = Mapping[Root, dict[str, JsonValue]]
"""What is known beside the arguments: caller facts and declared facts."""

_NOTHING_KNOWN: Final[_Known] = values_by_root()


class _Calls:
    """Makes the calls of one tool."""

    def __init__(
        self,
        server: str,
        filler: Filler,
        registry: Registry,
        places: _Places,
        variables: Sequence[Variable],
    ) -> None:
        self._server = server
        self._filler = filler
        self._registry = registry
        self._places = places
        self._variables = variables
        self._seen: set[bytes] = set()

    def all(self) -> Iterator[ScenarioCall]:
        """Yield the calls: first each place, then mixtures of places, then each mode in each place."""
        base = self._filler.base({a.name: of[0] for a in self._filler.resources() if (of := self._of(a))})
        yield from self._made(base, _NOTHING_KNOWN)
        yield from self._placed(base, _NOTHING_KNOWN)
        yield from self._mixed(base)
        yield from self._composed(base)
        for chosen in (each for variable in self._variables for each in variable.classes):
            arguments, known = self._with(base, chosen)
            yield from self._made(arguments, known)
            yield from self._placed(arguments, known)

    def _placed(self, base: dict[str, JsonValue], known: _Known) -> Iterator[ScenarioCall]:
        for argument in self._filler.resources():
            for value in self._of(argument):
                yield from self._made(self._filler.placed(base, argument, [value]), known)

    def _mixed(self, base: dict[str, JsonValue]) -> Iterator[ScenarioCall]:
        for argument in self._filler.resources():
            places = self._of(argument)
            if self._filler.takes_several(argument):
                for value in places[1:]:
                    yield from self._made(
                        self._filler.placed(base, argument, [places[0], value]), _NOTHING_KNOWN
                    )

    def _composed(self, base: dict[str, JsonValue]) -> Iterator[ScenarioCall]:
        for composite in self._filler.annotation.composites:
            for value in self._places[self._registry[composite.role].pattern_kind]:
                parts = value.split(composite.with_)
                if len(parts) == len(composite.join):
                    yield from self._made(self._filler.joined(base, composite.join, parts), _NOTHING_KNOWN)

    def _with(self, base: dict[str, JsonValue], chosen: VariableClass) -> tuple[dict[str, JsonValue], _Known]:
        """Return arguments, and what is known beside them, in one mode."""
        arguments, known = dict(base), values_by_root()
        for (root, name), value in chosen.raw:
            if root != "args":
                known[root][name] = value
            elif value != PRESENT or name not in self._resource_names():
                arguments[name] = value
            elif name not in arguments:
                argument = next(a for a in self._filler.resources() if a.top_level == name)
                arguments = self._filler.placed(arguments, argument, list(self._of(argument)[:1]) or [""])
        return arguments, known

    def _resource_names(self) -> set[str]:
        return {argument.top_level for argument in self._filler.resources()}

    def _of(self, argument: Argument) -> tuple[str, ...]:
        """Return the places of an argument, of all kinds that its roles have, which its schema takes."""
        roles = [self._registry[role] for role in argument.possible_roles if self._registry[role].resource]
        values = [value for role in roles for value in self._places[role.pattern_kind]]
        if any(role.name == GIT_REMOTE for role in roles):
            values.append(_USUALGIT_REMOTE)
        elif argument.repository and self._contacts_remotes:
            values += self._places[_REPOSITORIES]
        return tuple(value for value in dict.fromkeys(values) if self._filler.accepts(argument, value))

    @cached_property
    def _contacts_remotes(self) -> bool:
        return any(GIT_REMOTE in argument.possible_roles for argument in self._filler.resources())

    def _made(self, arguments: dict[str, JsonValue], known: _Known) -> Iterator[ScenarioCall]:
        fitted = self._filler.fitted(arguments)
        if fitted is None:
            return
        # Two calls that differ only in whether a default is written out are one.
        key = json_text.canonical([fitted, known["caller"], known["facts"]])
        if key not in self._seen:
            self._seen.add(key)
            call = ScenarioCall(
                server=self._server,
                tool=self._filler.annotation.tool,
                arguments=arguments,
                caller=known["caller"] or None,
            )
            yield call.model_copy(update={"facts": known["facts"]}) if known["facts"] else call
