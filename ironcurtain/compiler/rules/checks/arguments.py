"""The `args` and `caller` tests of rules: pointers that exist, operands that mean something in OPA."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import re2

from ironcurtain.compiler.annotate.schema_leaves import schema_leaves
from ironcurtain.compiler.render.conditions import anchored
from ironcurtain.compiler.rules.checks.caller import (
    caller_problem,
    caller_test_problems,
)
from ironcurtain.compiler.rules.checks.identifiers import compared_role, lone_fact_problem, role_problem
from ironcurtain.compiler.rules.checks.operators import NUMERIC, form_problem, reference_problem
from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.roles import Registry
from ironcurtain.errors import RuleError
from ironcurtain.model.annotations import Annotations, ToolAnnotation
from ironcurtain.model.caller_facts import CallerFact
from ironcurtain.model.conditions import ArgCondition, If, ValueTest
from ironcurtain.model.unknown_facts import Root, reference
from ironcurtain.model.verdict import Verdict
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue, is_number
from ironcurtain.system.structs import Struct, field
from ironcurtain.system.text import cut, is_hidden, quoted, visible

_LISTED = {"in", "not_in"}
_EQUALITY = {"equals", "not_equals"}


class Testable(Struct):
    """What tests may speak of.

    Attributes:
        tools: The annotated tools that the rule concerns.
        registry: The roles.
        caller: The declared facts about the caller, by key.
    """

    tools: Sequence[ToolAnnotation]
    registry: Registry
    caller: Mapping[str, CallerFact] = field(default_factory=dict)


def concerned_tools(condition: If, annotations: Annotations) -> list[ToolAnnotation]:
    """Return the annotated tools that a condition's `server` and `tool` leave."""
    return [
        tool
        for server, annotated in annotations.servers.items()
        for tool in annotated.tools
        if condition.is_about(server, tool.tool)
    ]


def test_problems(condition: If, then: Verdict, known: Testable) -> Iterator[RuleError]:
    """Yield what is wrong with the tests of one rule.

    Args:
        condition: The rule's `if`.
        then: Its verdict.
        known: What its tests may speak of.
    """
    for test in condition.args or ():
        role = compared_role("args", test, known.caller)
        for name in test.names:
            yield from _in_place("args", test, _pointer_problem(name, known, role))
        yield from _in_place("args", test, *_problems("args", test, known))
    for test in condition.caller or ():
        problem = _name_problem(test.name)
        problems = [problem] if problem else [*caller_test_problems(test, then, known.caller)]
        if not problems and compared_role("caller", test, known.caller) is None:
            problems = [lone_fact_problem(test.name, known.caller)]
        yield from _in_place("caller", test, *problems, *_problems("caller", test, known))


def _in_place(key: str, test: ArgCondition, *problems: str) -> Iterator[RuleError]:
    for problem in problems:
        if problem:
            what, _, hint = problem.partition("\n")
            yield RuleError(f"`{key}` {quoted(test.name)}: {what}", hint=hint)


def _problems(tested: Root, test: ArgCondition, known: Testable) -> list[str]:
    """Return what is wrong with operator, operand and flags; an empty string is no problem."""
    if problem := form_problem(test):
        return [problem]
    referred = reference(test.value)
    if referred:
        return _reference_problems(tested, test, referred, known)
    if isinstance(test.value, dict) and {"caller", "arg"} & set(test.value):
        return [
            'a value is {"caller": POINTER} or {"arg": POINTER}, perhaps with "times", "plus" and "measure"'
        ]
    try:
        json_text.check(test.value, any_double=True)
    except json_text.MalformedJsonError as error:
        return [f"the value is no strict JSON: {error}"]
    if test.measure or test.part:
        return [_measure_problem(test) if test.measure else ""]
    checks: dict[str, Callable[[ArgCondition], str]] = {
        **dict.fromkeys(NUMERIC, _bound_problem),
        **dict.fromkeys(_LISTED, _list_problem),
        **dict.fromkeys(_EQUALITY, _equality_problem),
        "matches": pattern_problem,
        "contains_any": _texts_problem,
        "present": _present_problem,
    }
    return [checks[test.op](test)]


def _reference_problems(
    tested: Root, test: ArgCondition, referred: tuple[Root, str], known: Testable
) -> list[str]:
    root, pointer = referred
    if root == "facts":
        return ["a declared fact is compared in `facts`, where it stands on the left"]
    if test.part is None and (problem := reference_problem(test)):
        return [problem]
    return [operand_problem(root, pointer, known, compared_role(tested, test, known.caller))]


def operand_problem(root: Root, pointer: str, known: Testable, role: str | None = None) -> str:
    """Return what is wrong with the pointer of a value that is compared with; empty if nothing is.

    Args:
        root: Where the pointer begins.
        pointer: The pointer.
        known: What tests may speak of.
        role: The role of the identifiers that are compared; None where none are.
    """
    if pointers.EVERY in pointers.steps_of(pointer):
        return f"the value {quoted(pointer)} names one value, without `*`"
    if root == "args":
        return _pointer_problem(pointer, known, role)
    problem = _name_problem(pointer) or caller_problem(pointer, known.caller)
    return problem or ("" if role is not None else lone_fact_problem(pointer, known.caller))


def _measure_problem(test: ArgCondition) -> str:
    if test.op in NUMERIC | _EQUALITY:
        return (
            "" if is_number(test.value) else f"`measure` is compared with a number, not {_shown(test.value)}"
        )
    if test.op in _LISTED:
        return _list_problem(test) or (
            "" if is_number(test.operands[0]) else "`measure` is compared with numbers"
        )
    return f"`measure` cannot be combined with {test.op}"


def _bound_problem(test: ArgCondition) -> str:
    return "" if is_number(test.value) else f"{test.op} compares with a number, not {_shown(test.value)}"


def _list_problem(test: ArgCondition) -> str:
    if not isinstance(test.value, list | tuple) or not test.value:
        return f"{test.op} takes a list of values that is not empty"
    if any(value is None for value in test.value):
        return f"{test.op} cannot hold null, which counts as absent\nUse op present with value false."
    if len({_type(value) for value in test.value}) > 1:
        return f"the values of {test.op} are of several types"
    return ""


def _equality_problem(test: ArgCondition) -> str:
    if test.value is None:
        return "null counts as absent\nUse op present with value false."
    return ""


def _present_problem(test: ArgCondition) -> str:
    if not isinstance(test.value, bool):
        return f"present takes true or false, not {_shown(test.value)}"
    return "`or_absent` has no meaning with present" if test.or_absent else ""


def pattern_problem(test: ValueTest) -> str:
    """Return what is wrong with the regular expression of a test; empty if nothing is."""
    if not isinstance(test.value, str):
        return f"matches takes a regular expression, not {_shown(test.value)}"
    # \C (one byte) is known to RE2 and not to OPA.
    if not _compiles(test.value) or r"\C" in test.value.replace("\\\\", ""):
        return f"{quoted(test.value)} is no regular expression of RE2"
    if not _compiles(anchored(test.value)):
        return rf"{quoted(test.value)} means something else when it is anchored{chr(10)}End \Q with \E."
    return ""


def _texts_problem(test: ArgCondition) -> str:
    listed = test.value if isinstance(test.value, list | tuple) else []
    if not listed or not all(isinstance(text, str) and text for text in listed):
        return "contains_any takes a list of texts, none of them empty"
    return ""


def _compiles(pattern: str) -> bool:
    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(pattern, options)
    except re2.error:
        return False
    return True


def _pointer_problem(name: str, known: Testable, role: str | None = None) -> str:
    """Return what is wrong with the name or pointer of an argument, perhaps of an identifier of a role."""
    tools, registry = known.tools, known.registry
    problem = _name_problem(name)
    if problem:
        return problem
    path = pointers.steps_of(name)
    with_schema = [tool for tool in tools if tool.input_schema is not None]
    if tools and not with_schema:
        return "no tool of this rule has an input_schema, so its arguments cannot be tested"
    knowing = [tool for tool in with_schema if is_known(path, tool)]
    if tools and not knowing:
        names = ", ".join(visible(tool.tool) for tool in tools[:5])
        by_index = any(step.isdecimal() for step in path[1:])
        hint = "Rules reach into an array by `*`, not by an index." if by_index else f"Tools: {names}."
        return f"no tool of this rule has such an argument\n{hint}"
    if role is not None:
        return role_problem(path, role, tools)
    for tool in tools:
        for argument in tool.args:
            if any(registry[r].resource for r in argument.possible_roles if r in registry) and _overlap(
                path, pointers.steps_of(argument.name)
            ):
                return (
                    f"{visible(tool.tool)} takes a resource there ({argument.possible_roles[0]})\n"
                    "Use paths, domains or lists for it."
                )
    return ""


def _name_problem(name: str) -> str:
    if any(is_hidden(character) for character in name):
        return "the name has a control or invisible character"
    if pointers.steps_of(name).count(pointers.EVERY) > 1:
        return "a pointer has at most one `*`"
    return ""


def is_known(path: tuple[str, ...], tool: ToolAnnotation) -> bool:
    """Tell whether the tool's schema describes the place, or leaves open what stands there."""
    leaves = {pointers.steps_of(leaf.name): leaf for leaf in schema_leaves(tool.input_schema or {})}
    if path in leaves:
        return True
    above = [leaves[path[:length]] for length in range(len(path) - 1, 0, -1) if path[:length] in leaves]
    if not above:
        return False
    nearest, beyond = above[0], path[len(pointers.steps_of(above[0].name)) :]
    types = nearest.schema.get("type", ["object", "array"])
    kinds = {*types} if isinstance(types, list) else {types}
    # OPA looks a name up in objects only: an index below what may be an array would test nothing.
    if any(step.isdecimal() for step in (beyond if "array" in kinds else beyond[1:])):
        return False
    extra = nearest.schema.get("additionalProperties")
    holds_more = ("array" if beyond[0] == pointers.EVERY else "object") in kinds
    return holds_more and (extra not in (None, False) or (extra is None and not nearest.inner))


def _overlap(path: tuple[str, ...], resource: tuple[str, ...]) -> bool:
    """Tell whether one place is, or lies inside, the other."""
    return pointers.covers(path, resource) or pointers.covers(resource, path)


def _type(value: JsonValue) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return "array" if isinstance(value, list | tuple) else type(value).__name__


def _shown(value: JsonValue) -> str:
    return cut(json_text.shown(value))
