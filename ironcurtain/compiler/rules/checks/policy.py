"""Checking compiled rules before they are rendered: every error of specification 3.5, all in one run.

What passes is a policy whose names exist, whose patterns are canonical and whose tests mean what they
say in OPA; the renderer relies on it and checks nothing itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from ironcurtain.compiler.rules.checks.arguments import Testable, concerned_tools, test_problems
from ironcurtain.compiler.rules.checks.facts import fact_problems, facts_test_problems
from ironcurtain.compiler.rules.checks.identifiers import declaration_problems
from ironcurtain.compiler.rules.checks.patterns import PatternChecker
from ironcurtain.decision.canonical.urls import DEFAULT_CASE_INSENSITIVE_HOSTS
from ironcurtain.decision.roles import NONE, Registry
from ironcurtain.errors import IronCurtainError, RuleError, raise_all
from ironcurtain.model.annotations import Annotations
from ironcurtain.model.conditions import If, RoleCondition
from ironcurtain.model.facts import CounterFact, Fact
from ironcurtain.model.lists import Lists
from ironcurtain.model.policy import CompiledPolicy, Rule
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.text import did_you_mean, is_hidden, quoted

_CATEGORY_OF_KEY = {"paths": "path", "domains": "url", "lists": "identifier"}
_PATTERNS_OF_KEY = {"paths": "within", "domains": "allowed", "lists": "allowed"}
_WHAT_OF_KEY = {"paths": "paths", "domains": "URLs and git remotes", "lists": "identifiers"}
_MOST_TOLD = 12


def check_policy(
    policy: CompiledPolicy,
    annotations: Annotations,
    lists: Lists | None,
    registry: Registry,
    *,
    case_insensitive_hosts: frozenset[str] = DEFAULT_CASE_INSENSITIVE_HOSTS,
) -> CompiledPolicy:
    """Return the policy with its patterns in canonical form.

    Args:
        policy: The rules, valid in shape.
        annotations: The tools that rules may name.
        lists: The named lists that rules may refer to.
        registry: The roles, those of `annotations` included.
        case_insensitive_hosts: Hosts on which path segments compare case-folded.

    Raises:
        RuleError, PatternError, ListError: For each mistake (several as `SeveralErrors`), each naming
            its rule.
    """
    checker = PatternChecker(registry, lists, case_insensitive_hosts)
    problems: list[IronCurtainError] = [
        _error(f"two rules have the name {quoted(name)}", "Rule names are unique.")
        for name, count in Counter(rule.name for rule in policy.rules).items()
        if count > 1
    ]
    problems += fact_problems(policy, annotations, registry)
    rules = []
    for rule in policy.rules:
        problems += [
            RuleError(f"rule {quoted(rule.name)}: {error.what}", where=error.where, hint=error.hint)
            for error in _rule_problems(rule, policy, annotations, registry)
        ]
        known = not any(True for _ in _role_problems(rule.if_, rule.then, registry))
        found = _canonical(rule.if_, f"rule {quoted(rule.name)}", checker, problems) if known else rule.if_
        rules.append(rule.model_copy(update={"if_": found}))
    problems += [_error(*said.split("\n")) for said in declaration_problems(policy.caller, registry)]
    facts = {
        name: _canonical_fact(name, fact, annotations, registry, checker, problems)
        for name, fact in policy.facts.items()
    }
    problems += checker.list_problems()
    raise_all(problems)
    declared = {"facts": facts} if facts else {}  # a policy without is written as before
    return policy.model_copy(update={"rules": tuple(rules), **declared})


def name_hint(name: str, known: Collection[str]) -> str:
    """Return a hint that names the nearest known name, or else all of them where they are few."""
    is_few = 0 < len(known) <= _MOST_TOLD
    all_known = f"Known: {', '.join(quoted(k) for k in sorted(known))}." if is_few else ""
    return did_you_mean(name, known, all_known)


def _rule_problems(
    rule: Rule, policy: CompiledPolicy, annotations: Annotations, registry: Registry
) -> Iterator[RuleError]:
    condition = rule.if_
    clauses = {clause.id for clause in policy.clauses}
    if clauses and rule.clause not in clauses:
        yield _error(f"there is no clause {quoted(rule.clause)}", name_hint(rule.clause, clauses))
    yield from _approver_problems(rule, policy)
    if _is_empty(condition):
        yield _error(
            "it has no condition",
            "A rule names what it is about: server, tool, roles, paths, …, args, caller, facts.",
        )
    yield from _name_problems(condition, annotations)
    yield from _role_problems(condition, rule.then, registry)
    tools = concerned_tools(condition, annotations)
    known = Testable(tools, registry, policy.caller)
    yield from test_problems(condition, rule.then, known)
    yield from facts_test_problems(rule, policy.facts, known)


def _approver_problems(rule: Rule, policy: CompiledPolicy) -> Iterator[RuleError]:
    if rule.approver is None:
        return
    if rule.then is not Verdict.ESCALATE:
        yield _error(
            f"it names an approver, and its verdict is {rule.then.value}", "Only `escalate` asks anybody."
        )
    if rule.approver not in policy.approvers:
        hint = name_hint(rule.approver, policy.approvers)
        yield _error(
            f"there is no approver {quoted(rule.approver)}",
            hint or "Declare approvers in ironcurtain.toml, [approvers.NAME].",
        )


def _is_empty(condition: If) -> bool:
    return all(getattr(condition, key) is None for key in If.model_fields if key != "in_sandbox")


def _name_problems(condition: If, annotations: Annotations) -> Iterator[RuleError]:
    servers = condition.server or ()
    for server in servers:
        if server not in annotations.servers:
            yield _error(f"there is no server {quoted(server)}", name_hint(server, annotations.servers))
    within = [server for server in servers if server in annotations.servers] or list(annotations.servers)
    tools = {tool.tool for server in within for tool in annotations.servers[server].tools}
    for tool in condition.tool or ():
        if tool not in tools:
            where = f" on {', '.join(servers)}" if servers else ""
            yield _error(f"there is no tool {quoted(tool)}{where}", name_hint(tool, tools))
        elif any(is_hidden(character) for character in tool):
            yield _error(f"the tool name {quoted(tool)} has a control or invisible character", "")
    yield from _twice("server", servers)
    yield from _twice("tool", condition.tool or ())


def _role_problems(condition: If, then: Verdict, registry: Registry) -> Iterator[RuleError]:
    resources = {role.name for role in registry.resources}
    for role in condition.roles or ():
        if role not in resources | {NONE}:
            yield _unknown_role(role, registry, resources | {NONE})
    yield from _twice("roles", condition.roles or ())
    for key, category in _CATEGORY_OF_KEY.items():
        named = [role for one in _conditions(condition).get(key, ()) for role in one.roles]
        for role in named:
            if role not in resources:
                yield _unknown_role(role, registry, resources)
            elif registry[role].category != category:
                yield _error(
                    f"`{key}` speaks of {_WHAT_OF_KEY[key]}, and {quoted(role)} is none",
                    f"Use `{_key_of(registry[role].category)}` for it.",
                )
        yield from _twice(key, named)
    if then is not Verdict.ALLOW and any(one.or_none for one in condition.role_conditions):
        yield _error(
            f"`or_none` has no meaning in a rule that says {then}", "It loosens guards of allow rules."
        )


def _unknown_role(role: str, registry: Registry, known: Collection[str]) -> RuleError:
    if role in registry:
        return _error(f"the role {quoted(role)} identifies no resource", name_hint("", known))
    return _error(f"there is no role {quoted(role)}", name_hint(role, known))


def _key_of(category: str) -> str:
    return next(key for key, its_category in _CATEGORY_OF_KEY.items() if its_category == category)


def _twice(key: str, names: Collection[str]) -> Iterator[RuleError]:
    for name, count in Counter(names).items():
        if count > 1:
            yield _error(f"`{key}` names {quoted(name)} twice", "Name it once.")


def _canonical_fact(
    name: str,
    fact: Fact,
    annotations: Annotations,
    registry: Registry,
    checker: PatternChecker,
    problems: list[IronCurtainError],
) -> Fact:
    """Return a declaration with canonical patterns in the condition that it counts or is given by."""
    key = "of" if isinstance(fact, CounterFact) else "from_"
    condition: If | None = getattr(fact, key, None)
    if condition is None:
        return fact
    what = f"fact {quoted(name)}"
    # As in a rule that denies, nothing there is loosened.
    roles = list(_role_problems(condition, Verdict.DENY, registry))
    problems += [
        RuleError(f"{what}: {error.what}", where=error.where, hint=error.hint)
        for error in (*_name_problems(condition, annotations), *roles)
    ]
    found = condition if roles else _canonical(condition, what, checker, problems)
    return fact.model_copy(update={key: found})


def _canonical(condition: If, what: str, checker: PatternChecker, problems: list[IronCurtainError]) -> If:
    """Return a condition with canonical patterns, adding what is wrong with them to `problems`."""
    update = {
        key: tuple(
            one.model_copy(update={_PATTERNS_OF_KEY[key]: checker.check(what, key, one, problems)})
            for one in conditions
        )
        for key, conditions in _conditions(condition).items()
    }
    return condition.model_copy(update=update)


def _conditions(condition: If) -> dict[str, tuple[RoleCondition, ...]]:
    """Return the pattern conditions of a rule by their key."""
    keyed: dict[str, tuple[RoleCondition, ...] | None] = {
        "paths": condition.paths,
        "domains": condition.domains,
        "lists": condition.lists,
    }
    return {key: conditions for key, conditions in keyed.items() if conditions}


def _error(what: str, hint: str) -> RuleError:
    return RuleError(what, hint=hint)
