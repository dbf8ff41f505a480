"""Scenarios after the real steps and OPA decided them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ironcurtain.analysis.engine.evaluate import decide_prepared, load_described, prepare_scenarios
from ironcurtain.analysis.sequences.steps import follow_steps
from ironcurtain.bundle.archive import Bundle
from ironcurtain.decision.decide import Prepared
from ironcurtain.engine.command import OpaCommand
from ironcurtain.model.decision import Decision
from ironcurtain.model.scenarios import Scenario, Scenarios
from ironcurtain.system.structs import Struct

if TYPE_CHECKING:
    from ironcurtain.analysis.engine.policy_analysis import PolicyAnalysis

RECORD = "generated"
"""The origin of scenarios whose expectation was taken from the policy: they demand nothing."""


class DecidedScenarios(Struct):
    """Scenarios after they were decided.

    Attributes:
        prepared: By id, the call after steps 1 to 5, or the decision where it ended there. Where all were
            decided, those that demand something: nobody asks for more of records than their decisions.
        decisions: By id.
    """

    scenarios: tuple[Scenario, ...]
    prepared: Mapping[str, Prepared | Decision]
    decisions: Mapping[str, Decision]

    def deciding(self) -> Mapping[str, str]:
        """Return by rule the first scenario, or record, of which it decides a resource."""
        first: dict[str, str] = {}
        for id_, decision in self.decisions.items():
            for rule in (decision.rule, *(resource.rule for resource in decision.subjects)):
                first.setdefault(rule, id_)
        return first

    def demanded_of(self, scenarios: Sequence[Scenario]) -> DecidedScenarios:
        """Return those of some scenarios that demand something."""
        listed = tuple(scenario for scenario in scenarios if scenario.origin != RECORD)
        prepared = {scenario.id: self.prepared[scenario.id] for scenario in listed}
        decisions = {scenario.id: self.decisions[scenario.id] for scenario in listed}
        return DecidedScenarios(listed, prepared, decisions)


def decide_all(bundle: Bundle, scenarios: Scenarios, opa: OpaCommand) -> DecidedScenarios:
    """Decide all scenarios, records and steps among them, each step as a call of its own.

    Raises:
        ScenarioError: As `follow_steps`.
        EngineFailedError: If OPA does not run.
        VerificationError: If a decision is undefined.
    """
    policy = load_described(bundle, scenarios.world)
    followed = follow_steps(scenarios, policy)
    prepared = {**prepare_scenarios(followed.scenarios, policy), **followed.refused}
    decisions = decide_prepared(prepared, bundle, policy, opa)
    demanding = {s.id: prepared[s.id] for s in followed.scenarios if s.origin != RECORD}
    return DecidedScenarios(followed.scenarios, demanding, decisions)


def demanded(analysis: PolicyAnalysis, scenarios: tuple[Scenario, ...], opa: OpaCommand) -> DecidedScenarios:
    """Decide the scenarios that demand something, in the world of the examination.

    Raises:
        EngineFailedError: If OPA does not run.
        VerificationError: If a decision is undefined.
    """
    return _decided(analysis, [scenario for scenario in scenarios if scenario.origin != RECORD], opa)


def recorded(analysis: PolicyAnalysis, scenarios: tuple[Scenario, ...], opa: OpaCommand) -> DecidedScenarios:
    """Decide the records among scenarios, which tell what the policy did, in the world of the examination.

    Raises:
        EngineFailedError: If OPA does not run.
        VerificationError: If a decision is undefined.
    """
    return _decided(analysis, [scenario for scenario in scenarios if scenario.origin == RECORD], opa)


def _decided(analysis: PolicyAnalysis, scenarios: Sequence[Scenario], opa: OpaCommand) -> DecidedScenarios:
    bundle = analysis.bundle
    policy = load_described(bundle, analysis.policies.world)
    prepared = prepare_scenarios(scenarios, policy)
    decisions = decide_prepared(prepared, bundle, policy, opa) if prepared else {}
    return DecidedScenarios(tuple(scenarios), prepared, decisions)
