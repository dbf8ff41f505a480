"""Comparisons of identifiers with the caller's: arguments of a role with facts that are declared to have it.

Both stand in their canonical form where a policy reads them, so they are compared with each other and with
nothing else: a constant could be spelt otherwise, and what names nothing has no canonical form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ironcurtain.compiler.rules.checks.caller import declared_fact
from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.roles import Registry
from ironcurtain.model.annotations import Argument, ToolAnnotation
from ironcurtain.model.caller_facts import CallerFact
from ironcurtain.model.conditions import ArgCondition
from ironcurtain.model.unknown_facts import Root, reference
from ironcurtain.system.text import quoted, visible

_COMPARED = ("equals", "not_equals")


def compared_role(root: Root, test: ArgCondition, declared: Mapping[str, CallerFact]) -> str | None:
    """Return the role of the identifiers that a test compares; None if it compares none.

    Args:
        root: Where the tested value stands: `args` or `caller`.
        test: The test.
        declared: What is declared about the caller.
    """
    referred = reference(test.value)
    if referred is None or test.op not in _COMPARED or {root, referred[0]} != {"args", "caller"}:
        return None
    fact = declared_fact(test.name if root == "caller" else referred[1], declared)
    return None if fact is None else fact.role


def lone_fact_problem(name: str, declared: Mapping[str, CallerFact]) -> str:
    """Return why a fact about the caller cannot be tested by itself: it is an identifier. Else empty."""
    fact = declared_fact(name, declared)
    if fact is None or fact.role is None:
        return ""
    return (
        f"{quoted(name)} is declared as an identifier ({fact.role})\n"
        "Compare it by equals or not_equals with an argument of this role, or declare it without one."
    )


def role_problem(path: tuple[str, ...], role: str, tools: Sequence[ToolAnnotation]) -> str:
    """Return why an argument cannot be compared with an identifier of a role; empty if it can."""
    for tool in tools:
        for argument in _around(path, tool):
            if pointers.steps_of(argument.name) != path or argument.possible_roles != (role,):
                has = ", ".join(argument.possible_roles)
                return f"the caller's fact is of the role {role}, and this of {visible(tool.tool)} of {has}"
    return ""


def declaration_problems(declared: Mapping[str, CallerFact], registry: Registry) -> Iterator[str]:
    """Yield what is wrong with the roles of declared facts about the caller."""
    for name, fact in declared.items():
        if fact.role is None:
            continue
        said = f"the caller's fact {quoted(name)}"
        known = {role.name: role for role in registry.all if role.category == "identifier"}
        if fact.role not in known:
            yield f"{said}: {quoted(fact.role)} is no role of identifiers\nRoles: {', '.join(known)}."
            continue
        declaration = known[fact.role].identifier
        if declaration is not None and declaration.numbers:
            yield f"{said}: the role {fact.role} takes numbers, too, which are not compared\nDeclare none."


def _around(path: tuple[str, ...], tool: ToolAnnotation) -> Iterator[Argument]:
    """Yield the arguments of a tool that are a place, lie above it or below it."""
    for argument in tool.args:
        steps = pointers.steps_of(argument.name)
        if pointers.covers(path, steps) or pointers.covers(steps, path):
            yield argument
