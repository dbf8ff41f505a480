"""Rules that name servers, tools, roles, arguments or values which no tool has."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator
from typing import Literal, NamedTuple

from ironcurtain.analysis.engine.opa_queries import Examined
from ironcurtain.analysis.engine.policies_under_test import GIT_REMOTE
from ironcurtain.analysis.engine.rules.predicates import Predicate, rule_atom
from ironcurtain.analysis.engine.space.variables import variables_of
from ironcurtain.analysis.findings.draft import FindingContext, FindingDraft, rule_content
from ironcurtain.bundle.content import RuleText
from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.roles import NONE
from ironcurtain.model.annotations import Annotations, ToolAnnotation
from ironcurtain.model.policy import ArgCondition, If
from ironcurtain.model.verdict import Verdict
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import quoted, visible

_LISTED = ("in", "not_in")
_COMPARING = (*_LISTED, "equals", "not_equals")


class _Unknown(NamedTuple):
    """Something that no tool of a rule has.

    Attributes:
        what: What it is, and its name.
        known: Names that there are.
    """

    what: str
    name: str
    known: tuple[str, ...]


def name_drafts(looked: FindingContext) -> Iterator[tuple[int, FindingDraft]]:
    """Yield, with the order of its rule, what rules name that no tool has."""
    annotations = looked.examined.content.annotations
    for name, rule in looked.rules:
        condition = rule.if_
        if condition is None:
            continue
        concerned = [one for one, _ in looked.concerned(rule.order)]
        found = [*_tools(condition, annotations), *_roles(condition, concerned)]
        for test in condition.args or ():
            found += _arguments(test, concerned)
        for each in found:
            yield rule.order, _draft(name, rule, each)


def possible_roles(tool: ToolAnnotation) -> frozenset[str]:
    """Return every role that a subject of a tool can have."""
    named = {role for argument in tool.args for role in argument.possible_roles}
    named |= {composite.role for composite in tool.composites} | {NONE}
    # A remote may be a local directory.
    return frozenset(named | {"read-path", "write-path"} if GIT_REMOTE in named else named)


def _draft(name: str, rule: RuleText, unknown: _Unknown) -> FindingDraft:
    near = difflib.get_close_matches(unknown.name, unknown.known, n=1)
    suggestion = (
        f"Did you mean {quoted(near[0])}?" if near else "Correct the name, or delete it from the rule."
    )
    return FindingDraft(
        kind="unknown-name",
        severity="error",
        about=[rule_content(rule), unknown.what, unknown.name],
        where=f"rule {visible(name)}",
        message=f"the rule {visible(name)} names the {unknown.what} {quoted(unknown.name)}, which no tool "
        "that it is about has",
        suggestion=suggestion,
        clause=rule.clause,
    )


def _tools(condition: If, annotations: Annotations) -> Iterator[_Unknown]:
    servers = annotations.servers
    for server in condition.server or ():
        if server not in servers:
            yield _Unknown("server", server, tuple(sorted(servers)))
    own = [servers[name] for name in condition.server or servers if name in servers]
    tools = {tool.tool for each in own for tool in each.tools}
    for tool in condition.tool or ():
        if tool not in tools:
            yield _Unknown("tool", tool, tuple(sorted(tools)))


def _roles(condition: If, concerned: Iterable[Examined]) -> Iterator[_Unknown]:
    known = {role for one in concerned for role in possible_roles(one.space.annotation)}
    for role in condition.named_roles:
        if known and role not in known:
            yield _Unknown("role", role, tuple(sorted(known)))


def _arguments(test: ArgCondition, concerned: Collection[Examined]) -> Iterator[_Unknown]:
    top = pointers.steps_of(test.name)[0]
    having = [one for one in concerned if top in _names(one.space.annotation)]
    if not having:
        if concerned:
            names = {name for one in concerned for name in _names(one.space.annotation)}
            yield _Unknown("argument", test.name, tuple(sorted(names)))
        return
    if test.op not in _COMPARING or test.measure is not None or isinstance(test.value, dict):
        return
    for value in test.operands:
        if not any(_can_be(one, test, value) for one in having):
            known = {str(other) for one in having for other in _known_values(one.space.annotation, top)}
            yield _Unknown(f"value of {visible(test.name)}", _text(value), tuple(sorted(known)))


def _names(tool: ToolAnnotation) -> set[str]:
    return {*tool.properties, *tool.argument_names}


def _can_be(one: Examined, test: ArgCondition, value: JsonValue) -> bool:
    """Tell whether an argument of a tool can be, or have an element that is, a value."""
    over: Literal["some", "every"] = "some" if pointers.EVERY in pointers.steps_of(test.name) else "every"
    equals = ArgCondition(name=test.name, op="equals", value=value, over=over)
    atom: Predicate = rule_atom("args", equals, Verdict.ALLOW)
    sides = one.space.sides
    fitted = sides.sides[0].policy.tool(one.space.server, one.space.tool)
    if fitted is None:
        return True
    variables = variables_of([atom], fitted, sides.registry, sides.fresh)
    if not any(atom.key in each.true for variable in variables.values for each in variable.classes):
        return not variables.is_complete
    return not _is_misspelt(value, _known_values(one.space.annotation, atom.path[0]))


def _known_values(tool: ToolAnnotation, argument: str) -> list[JsonValue]:
    """Return the values that the schema or the annotation of a tool names for an argument."""
    schema = tool.properties.get(argument)
    items = schema.get("items") if isinstance(schema, dict) else None
    enums = [each.get("enum") for each in (schema, items) if isinstance(each, dict)]
    named = [value for enum in enums if isinstance(enum, list) for value in enum]
    branches = [w for a in tool.args if a.conditional for w in a.conditional.when if w.arg == argument]
    return [*named, *(value for w in branches if w.present is None for value in w.in_ or (w.equals,))]


def _is_misspelt(value: JsonValue, known: Collection[JsonValue]) -> bool:
    """Tell whether a value that the schema takes is like, but not, one that the tool is known to take."""
    texts = [each for each in known if isinstance(each, str)]
    return (
        isinstance(value, str)
        and value not in texts
        and bool(difflib.get_close_matches(value, texts, n=1, cutoff=0.8))
    )


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json_text.canonical(value).decode()
