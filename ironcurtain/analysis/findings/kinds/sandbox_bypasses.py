"""Rules that ask or deny, and do not hold where all resources lie in the workspace (`sandbox-bypass`)."""

from __future__ import annotations

from collections.abc import Iterator

from ironcurtain.analysis.engine.opa_queries import Examined
from ironcurtain.analysis.engine.rules.diagram import FALLS_THROUGH
from ironcurtain.analysis.engine.rules.rules import RuleOfTool
from ironcurtain.analysis.findings.context import FindingContext, answers_of
from ironcurtain.analysis.findings.draft import FindingDraft, WitnessQuery
from ironcurtain.analysis.findings.finder import FinderInputs
from ironcurtain.analysis.findings.kinds.evadable_rules import listed, narrowed_path
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.text import visible


def sandbox_bypasses(inputs: FinderInputs) -> Iterator[FindingDraft]:
    """Yield the rules that ask or deny, and that calls in the workspace get around."""
    for name, rule in inputs.context.rules:
        if rule.then is not Verdict.ALLOW:
            yield from _bypassed(inputs.context, name, inputs.context.concerned(rule.order))


def _bypassed(
    context: FindingContext, name: str, concerned: list[tuple[Examined, RuleOfTool]]
) -> Iterator[FindingDraft]:
    text = context.analysis.content.rules[name]
    witnesses = {
        examined.space.tool: witness
        for examined, rule in concerned
        if not rule.named_roles and not rule.condition.in_sandbox
        for witness in [_in_sandbox(context, examined, rule)]
        if witness is not None
    }
    if witnesses:
        yield context.of_rule(
            name,
            "sandbox-bypass",
            "warning",
            message=f"the rule {visible(name)} ({text.then}) does not hold for {listed(witnesses)} where all "
            "resources lie in the sandbox: such calls are allowed",
            suggestion="Add `in_sandbox: true` to the rule, or the roles that it is meant for.",
            witness=next(iter(witnesses.values())),
        )


def _in_sandbox(context: FindingContext, examined: Examined, rule: RuleOfTool) -> WitnessQuery | None:
    """Return an allowed call in the workspace that the rule would decide if it applied there."""
    asked = frozenset(predicate.key for predicate in rule.predicates)
    tries = (
        (None, cell, narrowed_path(examined, answered.path, asked, {}))
        for cell, key, answered in answers_of(examined)
        if key.discharged and answered.path.outcome[0] == FALLS_THROUGH
    )
    allowed = context.first_allowed_call(examined, tries)
    return allowed[1] if allowed is not None else None
