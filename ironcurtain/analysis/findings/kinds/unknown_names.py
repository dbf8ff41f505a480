"""Rules that name servers, tools, roles, arguments or values which no tool has."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator
from typing import Literal, TypeAlias

from ironcurtain.analysis.engine.guarantee_scope import possible_roles
from ironcurtain.analysis.engine.opa_queries import Examined
from ironcurtain.analysis.engine.rules.predicates import Predicate, rule_predicate
from ironcurtain.analysis.engine.space.variables import variables_of
from ironcurtain.analysis.findings.context import FindingContext, FindingDraft, rule_content
from ironcurtain.analysis.findings.finder import FinderInputs, UnknownName
from ironcurtain.bundle.content import RuleText
from ironcurtain.decision.canonical import pointers
from ironcurtain.model.annotations import Annotations, ToolAnnotation
from ironcurtain.model.conditions import ArgCondition, If
from ironcurtain.model.verdict import Verdict
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import did_you_mean, quoted, visible

_COMPARING = ("in", "not_in", "equals", "not_equals")
_NotKnown: TypeAlias = tuple[str, str, tuple[str, ...]]
"""What it is that no tool has, its name, and the names that there are."""


def find_unknown_names(context: FindingContext) -> Iterator[UnknownName]:
    """Yield what rules name that no tool of theirs has."""
    annotations = context.analysis.content.annotations
    for name, rule in context.rules:
        condition = rule.if_
        if condition is None:
            continue
        concerned = [examined for examined, _ in context.concerned(rule.order)]
        unknown = [*_tools(condition, annotations), *_roles(condition, concerned)]
        for test in condition.args or ():
            unknown += _arguments(test, concerned)
        yield from (UnknownName(name, rule.order, *misnamed) for misnamed in unknown)


def unknown_names(inputs: FinderInputs) -> Iterator[FindingDraft]:
    """Yield what rules name that no tool of theirs has, with what may have been meant."""
    rules = inputs.context.analysis.content.rules
    yield from (_draft(unknown, rules[unknown.rule]) for unknown in inputs.unknown_names)


def _draft(unknown: UnknownName, rule: RuleText) -> FindingDraft:
    otherwise = "Correct the name, or delete it from the rule."
    suggestion = did_you_mean(unknown.name, unknown.known, otherwise)
    return FindingDraft(
        kind="unknown-name",
        severity="error",
        about=[rule_content(rule), unknown.what, unknown.name],
        where=f"rule {visible(unknown.rule)}",
        message=f"the rule {visible(unknown.rule)} names the {unknown.what} {quoted(unknown.name)}, "
        "which no tool that it is about has",
        suggestion=suggestion,
        clause=rule.clause,
    )


def _tools(condition: If, annotations: Annotations) -> Iterator[_NotKnown]:
    servers = annotations.servers
    for server in condition.server or ():
        if server not in servers:
            yield ("server", server, tuple(sorted(servers)))
    named = [servers[name] for name in condition.server or servers if name in servers]
    tools = {tool.tool for server in named for tool in server.tools}
    for tool in condition.tool or ():
        if tool not in tools:
            yield ("tool", tool, tuple(sorted(tools)))


def _roles(condition: If, concerned: Iterable[Examined]) -> Iterator[_NotKnown]:
    known = {role for examined in concerned for role in possible_roles(examined.space.annotation)}
    for role in condition.named_roles:
        if known and role not in known:
            yield ("role", role, tuple(sorted(known)))


def _arguments(test: ArgCondition, concerned: Collection[Examined]) -> Iterator[_NotKnown]:
    top = pointers.steps_of(test.name)[0]
    having = [examined for examined in concerned if top in _names(examined.space.annotation)]
    if not having:
        if concerned:
            names = {name for examined in concerned for name in _names(examined.space.annotation)}
            yield ("argument", test.name, tuple(sorted(names)))
        return
    if (
        test.op not in _COMPARING
        or test.measure is not None
        or test.ignore_case
        or test.part is not None
        or test.of is not None  # keys, of which an object may have any
        or isinstance(test.value, dict)
    ):
        return
    for value in test.operands:
        if not any(_can_be(examined, test, value) for examined in having):
            known = {
                str(other) for examined in having for other in _known_values(examined.space.annotation, top)
            }
            yield (f"value of {visible(test.name)}", _text(value), tuple(sorted(known)))


def _names(tool: ToolAnnotation) -> set[str]:
    return {*tool.properties, *tool.argument_names}


def _can_be(examined: Examined, test: ArgCondition, value: JsonValue) -> bool:
    """Tell whether an argument of a tool can be, or have an element that is, a value."""
    over: Literal["some", "every"] = "some" if pointers.EVERY in pointers.steps_of(test.name) else "every"
    equals = ArgCondition(name=test.name, op="equals", value=value, over=over)
    predicate: Predicate = rule_predicate("args", equals, Verdict.ALLOW)
    policies = examined.space.policies
    validated = policies[0].policy.tool(examined.space.server, examined.space.tool)
    if validated is None:
        return True
    variables = variables_of([predicate], validated, policies.registry, policies.fresh)
    if not any(predicate.key in class_.true for variable in variables.values for class_ in variable.classes):
        return not variables.is_complete
    return not _is_misspelt(value, _known_values(examined.space.annotation, predicate.path[0]))


def _known_values(tool: ToolAnnotation, argument: str) -> list[JsonValue]:
    """Return the values that the schema or the annotation of a tool names for an argument."""
    schema = tool.properties.get(argument)
    items = schema.get("items") if isinstance(schema, dict) else None
    enums = [part.get("enum") for part in (schema, items) if isinstance(part, dict)]
    named = [value for enum in enums if isinstance(enum, list) for value in enum]
    branches = [w for a in tool.args if a.conditional for w in a.conditional.when if w.arg == argument]
    return [*named, *(value for w in branches if w.present is None for value in w.in_ or (w.equals,))]


def _is_misspelt(value: JsonValue, known: Collection[JsonValue]) -> bool:
    """Tell whether a value that the schema takes is like, but not, one that the tool is known to take."""
    texts = [name for name in known if isinstance(name, str)]
    return (
        isinstance(value, str)
        and value not in texts
        and bool(difflib.get_close_matches(value, texts, n=1, cutoff=0.8))
    )


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json_text.canonical(value).decode()
