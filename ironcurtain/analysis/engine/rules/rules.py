"""A bundle's rules as one tool sees them: which resources they justify, and what else they ask."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from ironcurtain.analysis.engine.rules.predicates import Predicate, rule_predicates
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.errors import EvidenceError
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.conditions import If, RoleCondition
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.structs import Struct


class GuardKey(Struct):
    """What a guard asks about, by content: equal guards of two policies are one variable.

    Attributes:
        roles: The roles of the resources that it looks at.
        patterns: The patterns that it looks for; `@lists` carry their members' digest. Empty for a guard
            that only asks whether there is such a resource.
        anywhere: Whether it looks at workspace-exempt resources, too.
    """

    roles: frozenset[str]
    patterns: frozenset[str]
    anywhere: bool


class RuleGuard(Struct):
    """A condition over resources of other roles than the one that is decided.

    Attributes:
        every: Whether all of them must be covered, as in an allow rule; otherwise one is enough.
        or_none: Whether it holds when there are none.
    """

    key: GuardKey
    every: bool
    or_none: bool = False

    def holds(self, *, good: bool, bad: bool) -> bool:
        """Tell whether it holds where there is a covered (`good`) or an uncovered (`bad`) resource."""
        if not self.key.patterns:
            return good or bad
        if not self.every:
            return good
        return not bad and (good or self.or_none)


class RuleOfTool(Struct):
    """One rule that concerns a tool.

    Attributes:
        order: 1-based position in the policy.
        predicates: Its tests of arguments and caller facts.
        approver: Whose approval it asks for; None for anybody's.
    """

    order: int
    name: str
    clause: str
    then: Verdict
    condition: If
    predicates: tuple[Predicate, ...]
    tokens: Mapping[str, str]
    approver: str | None = None

    @cached_property
    def named_roles(self) -> frozenset[str]:
        """Every role that a role-bearing condition names."""
        return frozenset(self.condition.named_roles)

    @cached_property
    def patterns(self) -> frozenset[str]:
        """The tokens of every pattern that it names."""
        return frozenset(p for one in self.condition.role_conditions for p in self._patterns(one))

    def own_patterns(self, role: str) -> frozenset[str] | None:
        """Return the patterns that must cover a resource of a role, None if the rule asks for none."""
        return self._own.get(role)

    @cached_property
    def _own(self) -> Mapping[str, frozenset[str]]:
        return {role: self._patterns(one) for one in self.condition.role_conditions for role in one.roles}

    def guards_for(
        self, role: str, covering: frozenset[str], *, discharged: bool
    ) -> frozenset[RuleGuard] | None:
        """Return the guards under which the rule decides a resource, None if it never does.

        Args:
            role: The resource's role.
            covering: The patterns that cover it.
            discharged: Whether it is workspace-exempt.
        """
        if discharged and not self.condition.in_sandbox:
            return None
        if self.named_roles and role not in self.named_roles:
            return None
        own = self._own.get(role)
        if own is not None and not own & covering:
            return None
        return self.guards_of(role)

    def guards_of(self, role: str) -> frozenset[RuleGuard]:
        """Return the conditions that are guards for resources of a role."""
        anywhere = self.condition.in_sandbox
        found = {
            RuleGuard(
                GuardKey(frozenset(one.roles), self._patterns(one), anywhere),
                every=self.then is Verdict.ALLOW,
                or_none=one.or_none,
            )
            for one in self.condition.role_conditions
            if role not in one.roles
        }
        roles = self.condition.roles
        if self.named_roles and roles is not None and role not in roles:
            found.add(RuleGuard(GuardKey(frozenset(roles), frozenset(), anywhere), every=False))
        return frozenset(found)

    def _patterns(self, condition: RoleCondition) -> frozenset[str]:
        return frozenset(self.tokens.get(pattern, pattern) for pattern in condition.patterns)


class ToolPredicates:
    """All that a bundle's rules test of the calls of each tool, worked out once."""

    def __init__(self, content: PolicyContent) -> None:
        self._content = content
        self._found: dict[tuple[str, str], tuple[Predicate, ...]] = {}

    def of(self, server: str, tool: ToolAnnotation) -> tuple[Predicate, ...]:
        """Return the predicates of a tool, each once."""
        place = (server, tool.tool)
        if place not in self._found:
            rules = rules_of_tool(self._content, server, tool, {})
            self._found[place] = tuple(
                {each.key: each for rule in rules for each in rule.predicates}.values()
            )
        return self._found[place]


def rules_of_tool(
    content: PolicyContent, server: str, tool: ToolAnnotation, tokens: Mapping[str, str]
) -> tuple[RuleOfTool, ...]:
    """Return the rules that can decide about calls of a tool, in their order.

    Args:
        content: The bundle's content.
        server: The tool's server.
        tool: The tool's annotation.
        tokens: By `@list`, the name that tells lists of equal names and different members apart.

    Raises:
        EvidenceError: If the bundle does not hold its rules' conditions.
    """
    found = []
    for name, rule in sorted(content.rules.items(), key=lambda item: item[1].order):
        condition = rule.if_
        if condition is None:
            raise EvidenceError(
                "the bundle does not hold the conditions of its rules",
                hint="It was built by an older version: build it again.",
            )
        if not condition.is_about(server, tool.tool, side_effects=tool.side_effects):
            continue
        predicates = rule_predicates(condition, rule.then)
        found.append(
            RuleOfTool(rule.order, name, rule.clause, rule.then, condition, predicates, tokens, rule.approver)
        )
    return tuple(found)
