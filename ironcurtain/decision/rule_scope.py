"""Which tools a rule can decide calls of, as far as that follows from the rule and the tool's annotation."""

from __future__ import annotations

from collections.abc import Iterator

from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.roles import NONE
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.conditions import ArgCondition, If
from ironcurtain.model.verdict import Verdict


def can_apply(condition: If, then: Verdict, server: str, tool: ToolAnnotation) -> bool:
    """Tell whether a rule can decide a resource of some call of a tool; a doubt means yes.

    What it tests of facts and of values that the tool takes is taken to hold.
    """
    if not condition.is_about(server, tool.tool, side_effects=tool.side_effects):
        return False
    roles = {role for argument in tool.args for role in argument.possible_roles} - {NONE}
    roles = (roles | {composite.role for composite in tool.composites}) or {NONE}
    named = condition.named_roles
    if named and (roles.isdisjoint(named) or not all(_guards(condition, then, roles))):
        return False
    return all(_can_hold(test, tool) for test in condition.args or ())


def _guards(condition: If, then: Verdict, roles: set[str]) -> Iterator[bool]:
    """Yield for each condition about resources whether one that it needs can be there (specification 3.2)."""
    if condition.roles is not None:
        yield not roles.isdisjoint(condition.roles)
    for each in condition.role_conditions:
        yield (each.or_none and then is Verdict.ALLOW) or not roles.isdisjoint(each.roles)


def _can_hold(test: ArgCondition, tool: ToolAnnotation) -> bool:
    """Tell whether a test can hold: one of an argument that the tool does not take finds it absent."""
    if any(pointers.steps_of(name)[0] in tool.argument_names for name in test.names):
        return True
    return test.or_absent or (test.op == "present" and test.value is False)
