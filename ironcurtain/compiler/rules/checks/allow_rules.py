"""What a model's rules are held to beyond the checks of hand-written ones: mostly, what may be allowed.

A rule that allows is the only thing that opens anything, so it must say positively what it opens, and a
limit must stand in it. People who write rules by hand may do otherwise; a model may not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ironcurtain.analysis.engine.rules.predicates import rule_predicates
from ironcurtain.analysis.engine.rules.wording import predicate_words
from ironcurtain.analysis.findings.kinds.open_allows import is_limited
from ironcurtain.compiler.annotate.checks import states_absence
from ironcurtain.compiler.annotate.schema_leaves import SchemaLeaf, required_arguments, schema_leaves
from ironcurtain.compiler.rules.checks.arguments import concerned_tools
from ironcurtain.compiler.rules.checks.values import value_mistakes
from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.roles import GIT_REMOTE, NONE, Registry
from ironcurtain.model.annotations import Annotations, ToolAnnotation
from ironcurtain.model.conditions import ArgCondition, If
from ironcurtain.model.policy import Rule
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.configuration_directory import CONFIGURATION_DIRECTORY
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted, visible

_NEGATIVE = frozenset({"not_equals", "not_in", "not_contains"})
_UNIVERSAL = re.compile(r"/|~|(?:[a-z][a-z0-9+.-]*://)?\*(?::\d+)?(?:/.*)?")
"""Patterns that are no limit: every path, all of home, every public host."""


class Unlimited(Struct):
    """A tool, and the roles of it that a rule allows whatever they name."""

    tool: ToolAnnotation
    roles: tuple[str, ...]


def rule_mistakes(rule: Rule, rules: Sequence[Rule], annotations: Annotations) -> list[str]:
    """Return what is wrong with one rule of a model, each as a sentence about this rule.

    Args:
        rule: The rule.
        rules: All rules of its server, in their order.
        annotations: The tools.
    """
    tools = concerned_tools(rule.if_, annotations)
    found = [
        *_structural(rule, rules, annotations),
        *(mistake for test in rule.if_.args or () for mistake in _test_mistakes(rule, test, tools)),
        *(
            mistake
            for test in rule.if_.caller or ()
            for mistake in _negative(rule, "caller", test.name, test.op)
        ),
        *(
            mistake
            for test in rule.if_.facts or ()
            for mistake in _negative(rule, "facts", test.fact, test.op)
        ),
        *value_mistakes(rule.if_, tools),
    ]
    return [f"rule {quoted(rule.name)}: {mistake}" for mistake in found]


def unlimited(rule: Rule, annotations: Annotations, registry: Registry) -> tuple[Unlimited, ...]:
    """Return what a rule allows without a limit and that writes, deletes, sends or contacts something."""
    if rule.then is not Verdict.ALLOW or is_limited(rule.if_):
        return ()
    found = []
    for tool in concerned_tools(rule.if_, annotations):
        if rule.if_.side_effects not in (None, tool.side_effects):
            continue
        roles = tuple(role for role in _reaching(tool, registry) if _is_open(rule.if_, role))
        if roles:
            found.append(Unlimited(tool, roles))
    return tuple(found)


def unlimited_text(found: Sequence[Unlimited]) -> str:
    """Say in words what is allowed without a limit."""
    return "it allows without a limit: " + ", ".join(
        f"{visible(one.tool.tool)} ({', '.join(_any(role) for role in one.roles)})" for one in found
    )


def _any(role: str) -> str:
    return "all that names no resource" if role == NONE else f"any {role}"


def resource_roles(tool: ToolAnnotation) -> tuple[str, ...]:
    """Return every role that a leaf of the tool can have, of a resource or not, each once."""
    named = [role for argument in tool.args for role in argument.possible_roles]
    named += [composite.role for composite in tool.composites]
    if GIT_REMOTE in named:
        named += ["read-path", "write-path"]  # a remote may be a local directory
    return tuple(dict.fromkeys(named))


def _reaching(tool: ToolAnnotation, registry: Registry) -> list[str]:
    """Return the roles by which a tool changes or contacts something; `none` for what no role names."""
    resources = [registry[name] for name in resource_roles(tool) if registry[name].resource]
    reaching = [role.name for role in resources if role.writes or role.category != "path"]
    if tool.side_effects and (reaching or not resources):
        reaching.append(NONE)
    return reaching


def _is_open(condition: If, role: str) -> bool:
    """Tell whether a condition justifies every resource of a role."""
    if condition.named_roles and role not in condition.named_roles:
        return False
    if role == NONE and not condition.named_roles:
        return True
    return not any(
        role in one.roles and not any(_UNIVERSAL.fullmatch(pattern) for pattern in one.patterns)
        for one in condition.role_conditions
    )


def _structural(rule: Rule, rules: Sequence[Rule], annotations: Annotations) -> Iterator[str]:
    for condition in rule.if_.paths or ():
        for pattern in condition.within:
            if _is_protected(pattern, condition.roles):
                yield f"{quoted(pattern)} is protected before any rule is asked; write no rule about it"
    if rule.then is Verdict.ALLOW and rule.if_.in_sandbox and not _is_exception(rule, rules, annotations):
        yield (
            "it allows what the sandbox already excuses; leave `in_sandbox` out, or the rule "
            "(it is only for exceptions from a later rule with `in_sandbox`)"
        )


def _is_exception(rule: Rule, rules: Sequence[Rule], annotations: Annotations) -> bool:
    """Tell whether a later, stricter rule about the sandbox concerns one of this rule's tools."""
    own = {tool.tool for tool in concerned_tools(rule.if_, annotations)}
    later = rules[rules.index(rule) + 1 :]
    return any(
        other.if_.in_sandbox
        and other.then is not Verdict.ALLOW
        and own & {tool.tool for tool in concerned_tools(other.if_, annotations)}
        for other in later
    )


_OWN_PARENTS = frozenset({".config", ".cache", "share", "state", "Application Support"})


def _is_protected(pattern: str, roles: Sequence[str]) -> bool:
    parts = pattern.split("/")
    own = any(
        part == CONFIGURATION_DIRECTORY or (part == "ironcurtain" and parent in _OWN_PARENTS)
        for parent, part in zip(["", *parts], parts, strict=False)
    )
    changes = bool({"write-path", "delete-path"} & set(roles))
    return own or (changes and any(part.lower() == ".git" for part in parts))


def _test_mistakes(rule: Rule, test: ArgCondition, tools: Sequence[ToolAnnotation]) -> Iterator[str]:
    yield from _negative(rule, "args", test.name, test.op)
    shown = f"`args` {quoted(test.name)}"
    allows = rule.then is Verdict.ALLOW
    if pointers.EVERY in pointers.steps_of(test.name):
        if allows and test.over == "some":
            yield f'{shown}: an allow rule must hold for every element, so `over` is "every"'
        if not allows and test.count is None and "over" not in test.model_fields_set:
            yield f'{shown}: say what a mixed list means: give `over`, "every" or "some"'
        return
    absent = _may_be_absent(test.name, tools)
    takes_absent = test.or_absent or (test.op == "present" and test.value is False)
    if allows and takes_absent and any(not states_absence(leaf) for leaf in absent):
        yield (
            f"{shown}: an allow rule may rest on a missing argument only where the schema says what "
            "leaving it out means; let an earlier rule escalate the values that are not allowed"
        )
    if absent and test.op != "present" and "or_absent" not in test.model_fields_set:
        yield f"{shown}: the argument may be missing and has no default; give `or_absent`, true or false"


def _negative(rule: Rule, key: str, name: str, op: str) -> Iterator[str]:
    if rule.then is Verdict.ALLOW and op in _NEGATIVE:
        yield (
            f"`{key}` {quoted(name)}: an allow rule may not rest on {op}; say what is allowed "
            "(equals, in), or let an earlier rule escalate or deny the exceptions"
        )


def _may_be_absent(name: str, tools: Sequence[ToolAnnotation]) -> list[SchemaLeaf]:
    """Return the place of an argument in each tool that neither demands it nor has a default for it."""
    steps = pointers.steps_of(name)
    return [
        leaf
        for tool in tools
        for leaf in schema_leaves(tool.input_schema or {})
        if pointers.steps_of(leaf.name) == steps
        and leaf.schema.get("default") is None
        and leaf.name not in _demanded(tool)
    ]


def _demanded(tool: ToolAnnotation) -> set[str]:
    return {
        *required_arguments(tool.input_schema or {}),
        *(argument.name for argument in tool.args if argument.required),
    }


def condition_words(rule: Rule) -> str:
    """Return all conditions of a rule but its server, in one line."""
    return "; ".join(_conditions(rule.if_, rule.then)) or "none"


def _conditions(condition: If, then: Verdict) -> Iterator[str]:
    if condition.tool:
        yield f"tool {_any_of(condition.tool)}"
    if condition.side_effects is not None:
        yield "the tool has side effects" if condition.side_effects else "the tool has no side effects"
    if condition.roles:
        yield f"role {_any_of(condition.roles)}"
    for one in condition.role_conditions:
        none = " or none" if one.or_none else ""
        yield f"{_any_of(one.roles)} in {_any_of(one.patterns)}{none}"
    yield from map(predicate_words, rule_predicates(condition, then))
    if condition.in_sandbox:
        yield "in the sandbox, too"


def _any_of(names: Iterable[str]) -> str:
    return " or ".join(visible(name) for name in names)
