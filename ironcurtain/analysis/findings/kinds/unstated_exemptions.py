"""What the workspace permits and no sentence says (`unstated-exemption`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from ironcurtain.analysis.engine.opa_queries import Examined
from ironcurtain.analysis.engine.rules.diagram import FALLS_THROUGH
from ironcurtain.analysis.findings.context import FindingContext, FindingDraft, WitnessQuery, answers_of
from ironcurtain.analysis.findings.decided_scenarios import DecidedScenarios
from ironcurtain.analysis.findings.finder import FinderInputs
from ironcurtain.analysis.findings.kinds.evadable_rules import listed
from ironcurtain.model.reserved_rules import ReservedRule
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.text import visible

_Place: TypeAlias = tuple[str, str]
"""A server, and a role in which its tools change or delete what they name."""


def unstated_exemptions(inputs: FinderInputs) -> Iterator[FindingDraft]:
    """Yield what servers may change in the workspace although no scenario of a clause demands it."""
    if inputs.decided is None:
        return
    context = inputs.context
    demanded = set(_demanded(inputs.decided))
    calls: dict[_Place, dict[str, WitnessQuery]] = {}
    for examined in context.tools:
        for place in sorted(_exempt(examined) - demanded):
            call = _allowed(context, examined, place[1])
            if call is not None:
                calls.setdefault(place, {})[call.tool] = call
    for (server, role), by_tool in calls.items():
        yield FindingDraft(
            kind="unstated-exemption",
            severity="warning",
            about=[server, role],
            where=f"server {visible(server)}",
            message=f"the workspace permits what no sentence says: calls of {listed(by_tool)} of "
            f"{visible(server)} are exempt there from the rules about {role}, and no scenario of a clause "
            "demands that such a call is allowed",
            suggestion="Write a scenario of the clause that permits it; or a rule with `in_sandbox: true`, "
            "if no clause does.",
            witness=next(iter(by_tool.values())),
        )


def _demanded(decided: DecidedScenarios) -> Iterator[_Place]:
    """Yield where scenarios of clauses demand what the workspace permits."""
    for scenario in decided.scenarios:
        if scenario.expect is Verdict.ALLOW and scenario.clause is not None:
            for resource in decided.decisions[scenario.id].subjects:
                if resource.rule == ReservedRule.SANDBOX_ALLOW:
                    yield scenario.call.server, resource.role


def _exempt(examined: Examined) -> set[_Place]:
    """Return where calls of a tool change or delete what is exempt in the workspace."""
    registry = examined.space.policies.registry
    keys = [key for _, key, _ in answers_of(examined) if key.discharged]
    return {(examined.space.server, key.role) for key in keys if registry[key.role].writes}


def _allowed(context: FindingContext, examined: Examined, role: str) -> WitnessQuery | None:
    """Return an allowed call with an exempt resource of a role that no rule decides, or None."""
    tries = (
        (None, cell, answered.path)
        for cell, key, answered in answers_of(examined)
        if key.discharged and key.role == role and answered.path.outcome[0] == FALLS_THROUGH
    )
    allowed = context.first_allowed_call(examined, tries)
    return allowed[1] if allowed is not None else None
