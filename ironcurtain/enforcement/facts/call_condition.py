"""Whether a call is one that a counter counts, or that gives its session a label.

The condition is one of a rule's, and is read as a rule that denies: what is not known counts as matching.
It speaks of the call as a whole and of every resource that the call names, also of those that containment
discharges: a label says what a session has taken in, not what it may do.
"""

from __future__ import annotations

from ironcurtain.analysis.engine.rules.predicates import Predicate, Values, rule_predicate
from ironcurtain.decision.decide import Prepared
from ironcurtain.decision.policy_input import DerivedInput
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.conditions import If, RoleCondition
from ironcurtain.model.verdict import Verdict


class CallCondition:
    """The condition of a counter or label, ready to be held against calls."""

    def __init__(self, condition: If) -> None:
        self._condition = condition
        self._predicates: tuple[Predicate, ...] = (
            *(rule_predicate("args", test, Verdict.DENY) for test in condition.args or ()),
            *(rule_predicate("caller", test, Verdict.DENY) for test in condition.caller or ()),
        )

    def concerns(self, server: str, tool: ToolAnnotation) -> bool:
        """Tell whether any call of a tool could match."""
        return self._condition.is_about(server, tool.tool, side_effects=tool.side_effects)

    def matches(self, prepared: Prepared) -> bool:
        """Tell whether a call of such a tool matches."""
        question = prepared.input
        seen: tuple[DerivedInput, ...] = (question, question["sandboxed"])
        values: Values = {"args": question["args"], "caller": question["caller"]}
        unresolved = frozenset(
            each.role.name for each in prepared.call.resources if each.unresolved is not None
        )
        return (
            all(_is_met(each, seen, unresolved) for each in self._condition.role_conditions)
            and self._names_a_role(seen)
            and all(predicate.holds(values) for predicate in self._predicates)
        )

    def _names_a_role(self, seen: tuple[DerivedInput, ...]) -> bool:
        roles = self._condition.roles
        return roles is None or any(part["roles"].get(role) for part in seen for role in roles)


def _is_met(condition: RoleCondition, seen: tuple[DerivedInput, ...], unresolved: frozenset[str]) -> bool:
    """Tell whether a pattern covers some resource of the condition's roles; one not known may be covered."""
    if unresolved & {*condition.roles}:
        return True
    patterns = {*condition.patterns}
    return any(patterns & {*part["patterns"].get(role, ())} for part in seen for role in condition.roles)
