"""Conditions that say nothing (`vacuous-condition`): tests that always hold, patterns within others."""

from __future__ import annotations

from collections.abc import Iterator

from ironcurtain.analysis.engine.opa_queries import Examined
from ironcurtain.analysis.engine.rules.predicates import Predicate
from ironcurtain.analysis.engine.rules.wording import predicate_words
from ironcurtain.analysis.findings.context import FindingContext, FindingDraft
from ironcurtain.analysis.findings.finder import FinderInputs
from ironcurtain.bundle.content import RuleText
from ironcurtain.decision.canonical.patterns import contains
from ironcurtain.decision.roles import Registry
from ironcurtain.model.conditions import RoleCondition
from ironcurtain.system.text import visible


def vacuous_conditions(inputs: FinderInputs) -> Iterator[FindingDraft]:
    """Yield, rule by rule, the conditions that say nothing."""
    for name, rule in inputs.context.rules:
        yield from _vacuous(inputs.context, name, rule)


def _vacuous(context: FindingContext, name: str, rule: RuleText) -> Iterator[FindingDraft]:
    concerned = context.concerned(rule.order)
    registry = context.analysis.policies.registry
    texts = [
        f"its test {predicate_words(predicate)} holds for every call"
        for predicate in {
            predicate.key: predicate for _, of_tool in concerned for predicate in of_tool.predicates
        }.values()
        if not context.sampled(rule.order)
        and all(_always(examined, predicate) for examined, of_tool in concerned)
    ]
    for condition in rule.if_.role_conditions if rule.if_ is not None else ():
        texts += _redundant(condition, registry)
    for text in texts:
        yield context.of_rule(
            name,
            "vacuous-condition",
            "warning",
            text,
            message=f"a condition of the rule {visible(name)} says nothing: {text}",
            suggestion="Delete the condition, or correct it if it was meant to say something.",
            universal=True,
        )


def _always(examined: Examined, predicate: Predicate) -> bool:
    testing = next(
        (v for v in examined.space.variables if predicate.key in {a.key for a in v.predicates}), None
    )
    return testing is not None and all(predicate.key in class_.true for class_ in testing.classes)


def _redundant(condition: RoleCondition, registry: Registry) -> Iterator[str]:
    """Yield the patterns of a condition that lie within another one of it."""
    plain = [pattern for pattern in condition.patterns if not pattern.startswith("@")]
    kinds = {registry[role].pattern_kind for role in condition.roles}
    for inner in plain:
        outer = next(
            (o for o in plain if o != inner and all(contains(kind, o, inner, registry) for kind in kinds)),
            None,
        )
        if outer is not None:
            yield f"the pattern {visible(inner)} lies within {visible(outer)}, which it names, too"
