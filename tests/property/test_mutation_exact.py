"""What the mutation score says of a mutant holds for the changed policy as a bundle of its own."""

from __future__ import annotations

from random import Random

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.generators import spaces

from ironcurtain.analysis.engine.evaluate import decide_prepared, load_described, prepare_scenarios
from ironcurtain.analysis.mutation.operators import mutants
from ironcurtain.analysis.mutation.score import mutation_score
from ironcurtain.analysis.mutation.source import PolicySource
from ironcurtain.bundle.archive import Bundle
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.model.decision import Decision
from ironcurtain.model.scenarios import Scenario, ScenarioCall, Scenarios
from ironcurtain.model.verdict import Verdict

CALLS, KNOWN = 60, 6


def random_scenarios(random: Random) -> list[Scenario]:
    return [
        Scenario(
            id=f"s{n}",
            call=ScenarioCall(
                server="s",
                tool=(tool := random.choice(list(spaces.SCHEMA))),
                arguments=spaces.random_arguments(random, tool),
                caller=spaces.random_caller(random),
            ),
            expect=Verdict.ALLOW,
        )
        for n in range(CALLS)
    ]


def decided(bundle: Bundle, scenarios: list[Scenario], opa: OpaCommand) -> dict[str, Decision]:
    policy = load_described(bundle, spaces.WORLD)
    return decide_prepared(prepare_scenarios(scenarios, policy), bundle, policy, opa)


@settings(
    max_examples=examples(2), deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate]
)
@given(st.integers(min_value=0, max_value=10**9))
def test_mutants_are_what_the_score_says(seed: int) -> None:
    random, opa = Random(seed), OpaCommand(find())
    bundle = spaces.bundle_of(spaces.random_policy(random, 3))
    calls = random_scenarios(random)
    truth = decided(bundle, calls, opa)
    expected = [each.model_copy(update={"expect": truth[each.id].verdict}) for each in calls]
    known = Scenarios(
        format="ironcurtain/scenarios/v1", world=spaces.WORLD, scenarios=tuple(expected[:KNOWN])
    )
    report = mutation_score(bundle, known, None, opa)
    source = PolicySource.of(bundle)
    made = {each.id: each for each in mutants(source)}
    assert made.keys() == {each.id for each in report.mutants}
    for result in random.sample(report.mutants, min(4, len(report.mutants))):
        mutant = made[result.id]
        changed = source.bundle_of(mutant.rules(source.policy.rules), mutant.lists)
        asked = [*expected, *([result.scenario] if result.scenario else [])]
        said = decided(changed, asked, opa)
        differ = {each.id for each in asked if said[each.id].verdict is not each.expect}
        if result.outcome == "killed":
            assert str(result.by).removeprefix("scenario ") in differ
        elif result.outcome == "survived":
            assert result.scenario is not None
            assert result.scenario.id in differ
            assert not {each.id for each in known.scenarios} & differ
        else:
            assert not differ
