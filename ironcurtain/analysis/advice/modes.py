"""Modes: what a call does beside what it is about, which a sentence has to name or else it opens all of them.

Every argument that is no resource and no free text is one: flags, numbers, enumerations, commands, and that
an argument is left out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import TypeAlias

from ironcurtain.analysis.advice.amounts import upwards
from ironcurtain.analysis.advice.sentences import is_plain
from ironcurtain.analysis.mutation.source import PolicySource
from ironcurtain.compiler.annotate.schema_leaves import SchemaLeaf, leaves
from ironcurtain.decision.canonical.pointers import EVERY, join, steps_of
from ironcurtain.decision.roles import NONE
from ironcurtain.enforcement.audit.record_types import DecisionRecord
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.policy import Rule
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue, is_number

Modes: TypeAlias = dict[str, JsonValue]
"""By argument its value; None where it is left out."""
_Steps: TypeAlias = tuple[str, ...]

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_COMMANDS = frozenset(
    {"args", "cmd", "cmdline", "code", "command", "eval", "expression", "program", "query", "script", "shell"}
    | {"sql", "statement"}
)
_TEXT = frozenset({"string", "null"})
_LISTED = ('"enum"', '"const"', '"$ref"')


class _UnnameableError(Exception):
    """A sentence cannot say how a call is made."""


class ModesOfCalls:
    """Reads the modes of recorded calls.

    Args:
        source: The policy.
    """

    def __init__(self, source: PolicySource) -> None:
        self._source = source
        self._tools: dict[tuple[str, str], _Tool] = {}

    def of(self, record: DecisionRecord, asking: Sequence[Rule]) -> Modes | None:
        """Return the modes of a call, amounts that rules bound aside; None where one cannot be named."""
        place = (record.server, record.tool)
        annotation = self._source.content.tools.get(place)
        given = record.arguments if record.abstract is None else record.abstract.args
        if annotation is None or given is None:
            return None
        if place not in self._tools:
            self._tools[place] = _Tool(annotation, self._source)
        tests = {steps_of(test.name) for rule in asking for test in rule.if_.args or ()}
        bounded = {name for rule in asking for root, name in upwards(rule.if_) if root == "args"}
        try:
            found = dict(self._tools[place].modes((), given, tests, {*map(steps_of, bounded)}))
        except _UnnameableError:
            return None
        is_known = record.abstract is None
        return found if is_known or all(v is None or isinstance(v, bool) for v in found.values()) else None


class _Tool:
    """The arguments of one tool: resources, free texts, and the rest."""

    def __init__(self, annotation: ToolAnnotation, source: PolicySource) -> None:
        free = {"commit-message", *(role.name for role in source.registry.resources)}
        self._resources = {
            steps_of(name)
            for names, roles in (
                *(((each.name,), each.possible_roles) for each in annotation.args),
                *((each.join, (each.role,)) for each in annotation.composites),
            )
            if free & {*roles}
            for name in names
        }
        self._leaves = {steps_of(leaf.name): leaf for leaf in leaves(annotation)}
        named = {steps_of(each.name) for each in annotation.args if {*each.possible_roles} != {NONE}}
        raw = {name: json_text.canonical(schema).decode() for name, schema in annotation.properties.items()}
        self._texts = {
            steps
            for steps, leaf in self._leaves.items()
            if _is_text(leaf)
            and steps not in named
            and not any(word in raw.get(steps[0], "") for word in _LISTED)
        }

    def modes(
        self, steps: _Steps, value: JsonValue, tested: Collection[_Steps], bounded: Collection[_Steps]
    ) -> Iterator[tuple[str, JsonValue]]:
        """Yield the modes at a place and below it.

        Raises:
            _UnnameableError: If there is one that a sentence cannot name.
        """
        if any(steps[: len(each)] == each for each in self._resources):
            return
        if steps and not any(self._is_mode(each, tested) for each in self._leaves if _is_in(each, steps)):
            if steps in self._leaves:
                return
            raise _UnnameableError
        if isinstance(value, dict):
            children = {each[len(steps)] for each in self._leaves if _is_in(each, steps) and each != steps}
            for child in sorted({*children, *value}):
                yield from self.modes((*steps, child), value.get(child), tested, bounded)
        elif steps in bounded and is_number(value):
            return
        elif value is None or isinstance(value, bool) or is_number(value) or _is_nameable(value):
            yield (steps[0] if len(steps) == 1 else join(steps)), value
        else:
            raise _UnnameableError

    def _is_mode(self, steps: _Steps, tested: Collection[_Steps]) -> bool:
        """Tell whether what stands at a place itself has to be named."""
        if any(steps[: len(each)] == each for each in self._resources):
            return False
        leaf = self._leaves[steps]
        # What is inside stands for it, in an array of texts as in an object whose members are listed.
        is_more = (leaf.inner and not leaf.is_open_object) or (*steps, EVERY) in self._leaves
        return not is_more and (steps not in self._texts or steps in tested)


def _is_in(steps: _Steps, outer: _Steps) -> bool:
    return steps[: len(outer)] == outer


def _is_text(leaf: SchemaLeaf) -> bool:
    types = leaf.schema.get("type")
    words = {word.lower() for word in _WORD.findall(leaf.last_name)}
    return {*(types if isinstance(types, list) else [types])} <= _TEXT and not words & _COMMANDS


def _is_nameable(value: JsonValue) -> bool:
    return isinstance(value, str) and is_plain(value, command=True)
