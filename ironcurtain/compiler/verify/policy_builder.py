"""Building the bundles of one compile, and trying them on the real engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ironcurtain.analysis.engine.evaluate import decide_prepared, load_described, prepare_scenarios
from ironcurtain.analysis.findings.decided_scenarios import decide_all
from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.compiler.render.custom_modules import CustomModule
from ironcurtain.compiler.render.policy_tests import with_policy_tests
from ironcurtain.compiler.scenarios.generated import call_id
from ironcurtain.compiler.verify.evidence import Evidence
from ironcurtain.compiler.verify.expected import Expected
from ironcurtain.compiler.verify.repair import RepairDraft, TriedDraft
from ironcurtain.compiler.verify.verify import verify
from ironcurtain.decision.loaded_policy import SANDBOX, LoadedPolicy, forest
from ironcurtain.decision.reserved_tools import with_reserved
from ironcurtain.decision.roles import Registry
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import Opa
from ironcurtain.model.annotations import Annotations
from ironcurtain.model.decision import Decision
from ironcurtain.model.guarantees import Guarantees
from ironcurtain.model.lists import Lists
from ironcurtain.model.policy import CompiledPolicy
from ironcurtain.model.scenarios import DescribedWorld, Scenario, ScenarioCall, Scenarios
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.background import Once
from ironcurtain.system.structs import Struct, replace


class PolicyBuilder(Struct):
    """All that a bundle is made of beside its rules, and the engine that tries it.

    Attributes:
        fixed: The scenarios that people wrote, with the world of all scenarios.
        custom: The project's own modules, checked.
        release: What bundles say about themselves.
        expected: Returns the policy that was examined because it will most likely be made, if there is one.
    """

    annotations: Annotations
    lists: Lists
    fixed: Scenarios
    custom: Sequence[CustomModule]
    release: Release
    opa: Opa
    expected: Callable[[], Expected | None]

    @property
    def world(self) -> DescribedWorld:
        """The world in which calls are decided."""
        return self.fixed.world

    def listed(self, policy: CompiledPolicy) -> Annotations:
        """Return the tools that can be called under a policy: the servers', and requests that rules allow."""
        return with_reserved(self.annotations, policy)

    def bundle(self, policy: CompiledPolicy) -> Bundle:
        """Assemble a bundle, and record in it how its directories lie where its scenarios assume them.

        Raises:
            RuleError, PatternError, ListError: For each mistake in the rules.
        """
        found = assumed_relations(self._assemble(policy, self.release), self.world)
        assumed = replace(self.release, relations=found)
        return self._assemble(policy, assumed)

    def demanded(self, draft: RepairDraft) -> Scenarios:
        """Return the scenarios of people and of models: what a policy has to make come true."""
        return self.fixed.with_more(draft.intent)

    def run(self, draft: RepairDraft) -> TriedDraft:
        """Make a draft's bundle, with a Rego test for each scenario that somebody demands, and verify it."""
        untested, demanded = self.bundle(draft.policy), self.demanded(draft)
        expected = self.expected()
        known = expected.of(untested, demanded) if expected is not None else None
        if known is not None:
            return known
        bundle = with_policy_tests(untested, demanded, OpaCommand(self.opa))
        decide = Once(partial(decide_all, bundle, demanded, OpaCommand(self.opa)))
        return TriedDraft(bundle, verify(bundle, demanded, self.opa, decide), decide)

    def evidence(self, tried: TriedDraft, demanded: Scenarios, guarantees: Guarantees | None) -> Evidence:
        """Return the evidence about a bundle that was tried."""
        expected = self.expected()
        known = expected.evidence_of(tried.bundle, demanded, guarantees) if expected is not None else None
        return known or Evidence(tried.bundle, demanded, guarantees, self.opa, tried.decide)

    def attempt(self, bundle: Bundle, calls: Sequence[ScenarioCall]) -> list[Decision]:
        """Decide calls on a bundle, in their order."""
        expected = self.expected()
        known = expected.decisions(bundle, calls) if expected is not None else None
        if known is not None:
            return known
        asked = [Scenario(id=call_id(call), call=call, expect=Verdict.DENY) for call in calls]
        policy = load_described(bundle, self.world)
        found = decide_prepared(prepare_scenarios(asked, policy), bundle, policy, OpaCommand(self.opa))
        return [found[scenario.id] for scenario in asked]

    def _assemble(self, policy: CompiledPolicy, release: Release) -> Bundle:
        listed = self.listed(policy)
        registry = Registry(listed.roles)
        return assemble(policy, listed, self.lists, registry=registry, release=release, custom=self.custom)


def without_rules(annotations: Annotations, release: Release, world: DescribedWorld) -> LoadedPolicy:
    """Return a policy that holds no rule: what can be said of calls whatever the rules are."""
    empty = CompiledPolicy(format="ironcurtain/policy/v1", rules=())
    bundle = assemble(empty, annotations, registry=Registry(annotations.roles), release=release)
    return load_described(bundle, world)


def assumed_relations(bundle: Bundle, world: DescribedWorld) -> dict[str, str]:
    """Return the forest of the bundle's path patterns and the sandbox in a described world."""
    policy = load_described(bundle, world)
    places = dict(policy.patterns.directories)
    sandbox = policy.boundaries("").sandbox
    if sandbox is not None:
        places[SANDBOX] = sandbox
    return forest(places)
