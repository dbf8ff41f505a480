"""What an approval of a change binds to: all that the change means under both policies, free of names.

The words of a change ("everything else", "@friends") can stay the same while what they stand for does
not. So a change carries a digest of the cells behind the words and of everything that cuts those cells.
"""

from __future__ import annotations

from ironcurtain.analysis.engine.policies_under_test import PoliciesUnderTest, PolicyUnderTest
from ironcurtain.analysis.engine.rules.rules import RuleOfTool, rules_of_tool
from ironcurtain.analysis.engine.space.call_space import CallSpace
from ironcurtain.analysis.engine.space.elements import ResourceKey
from ironcurtain.analysis.engine.space.equivalence_classes import EquivalenceClass
from ironcurtain.model.annotations import SAID_ABOUT_TOOLS, ToolAnnotation
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue


def cell_content(cell: EquivalenceClass) -> JsonValue:
    """Return what each policy knows of a cell's resources; lists are named with their members' digest."""
    return {"role": cell.role, "known": [None if key is None else _known(key) for key in cell.keys]}


def _known(key: ResourceKey) -> JsonValue:
    return {"in": [*sorted(key.patterns)], "free": key.discharged, "floor": key.minimum}


def space_content(space: CallSpace) -> JsonValue:
    """Return what a tool's cells are cut by: its annotation, patterns, tests, guards and custom modules."""
    guards = sorted((sorted(g.roles), sorted(g.patterns), g.anywhere) for g in space.guards)
    return {
        "tool": [space.server, space.tool],
        "annotation": _annotation(space.annotation),
        "patterns": [*sorted(space.reader.patterns)],
        "tests": [*sorted(space.used_predicates)],
        "guards": [[[*roles], [*patterns], anywhere] for roles, patterns, anywhere in guards],
        "custom": [_custom(side) for side in space.policies],
    }


def tool_content(policies: PoliciesUnderTest, server: str, tool: str) -> JsonValue:
    """Return all that both policies say about a tool whose cells cannot be compared."""
    return [_tool_of(side, server, tool) for side in policies]


def _tool_of(side: PolicyUnderTest, server: str, tool: str) -> JsonValue:
    annotation = side.content.annotations.find(server, tool)
    if annotation is None:
        return None
    rules = rules_of_tool(side.content, server, annotation, side.tokens)
    return {
        "annotation": _annotation(annotation),
        "rules": [_rule(rule) for rule in rules],
        "custom": _custom(side),
    }


def _rule(rule: RuleOfTool) -> JsonValue:
    condition = rule.condition.model_dump(mode="json", exclude_defaults=True)
    return {"if": condition, "patterns": [*sorted(rule.patterns)], "then": rule.then.value}


def _annotation(annotation: ToolAnnotation) -> JsonValue:
    return annotation.model_dump(mode="json", exclude=SAID_ABOUT_TOOLS)


def _custom(side: PolicyUnderTest) -> JsonValue:
    """Return a digest of the modules that a project wrote itself: they may read anything."""
    modules = dict[str, JsonValue](side.bundle.custom_modules)
    return json_text.digest(modules) if modules else None
