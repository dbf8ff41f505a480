"""How often a policy asks a person, over a profile of use.

    calls = decide_profile(profile, bundle, world, opa)    # or decide_records(records, replayer)
    report = forecast(calls, PolicyContent.of(bundle), profile.sessions)

Every call is decided by the real engine. A recorded call whose decision cannot be told is counted as unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ironcurtain.analysis.advice.forecast_report import ClauseForecast, Forecast, ProfileCall, UsageProfile
from ironcurtain.analysis.engine.evaluate import decide_prepared, load_described
from ironcurtain.analysis.engine.rules.rules import rules_of_tool
from ironcurtain.analysis.replay.replay import Replayer
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.decide import Call, prepare
from ironcurtain.decision.facts import stated_facts
from ironcurtain.decision.loaded_policy import LoadedPolicy
from ironcurtain.enforcement.audit.record_types import DecisionRecord
from ironcurtain.engine.command import OpaCommand
from ironcurtain.model.decision import Decision
from ironcurtain.model.scenarios import DescribedWorld
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.structs import Struct


class ProfiledCall(Struct):
    """A decided call of a profile.

    Attributes:
        decision: None where it cannot be told.
        count: How often the call is made over all sessions.
    """

    server: str
    tool: str
    decision: Decision | None
    count: int

    @property
    def asks(self) -> bool:
        """Whether the call needs an approval."""
        return self.decision is not None and self.decision.verdict is Verdict.ESCALATE


def decide_profile(
    profile: UsageProfile, bundle: Bundle, world: DescribedWorld, opa: OpaCommand
) -> list[ProfiledCall]:
    """Decide every call of a profile in a described world; one that tests facts which it lacks is unknown.

    Raises:
        ScenarioError: If a call states a fact that is not declared, or of another type.
        EngineFailedError: If OPA does not run.
        VerificationError: If a decision is undefined or malformed.
    """
    policy = load_described(bundle, world)
    facts = [stated_facts(policy.facts, call.facts, call.at) for call in profile.calls]
    prepared = {
        f"{number:06d}": prepare(Call(c.server, c.tool, c.arguments, c.caller, facts=known), policy)
        for number, (c, known) in enumerate(zip(profile.calls, facts, strict=True))
    }
    decisions = decide_prepared(prepared, bundle, policy, opa)
    return [
        ProfiledCall(c.server, c.tool, decisions[id_] if _tested(c, policy) <= {*known} else None, c.count)
        for id_, c, known in zip(prepared, profile.calls, facts, strict=True)
    ]


def _tested(call: ProfileCall, policy: LoadedPolicy) -> set[str]:
    """Return the declared facts that rules about a call's tool test."""
    annotation = policy.annotation(call.server, call.tool)
    rules = rules_of_tool(policy.content, call.server, annotation, {}) if annotation and policy.facts else ()
    places = (place for rule in rules for predicate in rule.predicates for place in predicate.places)
    return {name for root, name in places if root == "facts"}


def decide_records(records: Sequence[DecisionRecord], replayer: Replayer) -> list[ProfiledCall]:
    """Decide recorded calls anew.

    Raises:
        EngineFailedError: If OPA does not run.
        VerificationError: If a decision is undefined or malformed.
    """
    return [
        ProfiledCall(record.server, record.tool, outcome.decision, 1)
        for record, outcome in zip(records, replayer.decide(records), strict=True)
    ]


def forecast(
    calls: Iterable[ProfiledCall], content: PolicyContent, sessions: int, budget: float | None = None
) -> Forecast:
    """Return how often people are asked per session, by clause.

    `sessions` is how many sessions the calls were made in, `budget` the most approvals of one that are
    accepted.
    """
    listed = list(calls)
    causes: dict[str, list[ProfiledCall]] = {}
    for call in listed:
        if call.asks and call.decision is not None:
            causes.setdefault(call.decision.clause or call.decision.rule, []).append(call)
    clauses = [
        ClauseForecast(
            clause=clause,
            text=content.clauses.get(clause, ""),
            approvals=_count(caused) / sessions,
            tools=tuple(sorted({f"{call.server}/{call.tool}" for call in caused})),
        )
        for clause, caused in causes.items()
    ]
    return Forecast(
        revision=content.revision,
        sessions=sessions,
        calls=_count(listed) / sessions,
        approvals=_count(call for call in listed if call.asks) / sessions,
        unknown=_count(call for call in listed if call.decision is None) / sessions,
        budget=budget,
        clauses=tuple(sorted(clauses, key=lambda clause: (-clause.approvals, clause.clause))),
    )


def _count(calls: Iterable[ProfiledCall]) -> int:
    return sum(call.count for call in calls)
