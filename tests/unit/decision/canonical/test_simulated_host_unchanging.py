"""In a world that never changes calls share what was looked up for others, and are prepared as each alone."""

from __future__ import annotations

from random import Random

from support.projects import shipped

from ironcurtain.analysis.engine.evaluate import load_described, prepare_scenarios
from ironcurtain.decision.decide import Prepared
from ironcurtain.model.scenarios import DescribedFile, Scenario, Scenarios
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.files import load

CALLS = 80


def test_a_call_is_prepared_after_others_as_it_is_alone() -> None:
    bundle, listed = shipped.bundle(), load(shipped.GENERATED / "test-scenarios.json", Scenarios)
    calls = Random(1).sample(listed.calls, CALLS)
    after_others = prepare_scenarios([*listed.calls, *calls], load_described(bundle, listed.world))
    alone = {
        call.id: prepare_scenarios([call], load_described(bundle, listed.world))[call.id] for call in calls
    }
    assert {id_: _shown(after_others[id_]) for id_ in alone} == {id_: _shown(alone[id_]) for id_ in alone}


def test_worlds_share_nothing() -> None:
    bundle, world = shipped.bundle(), shipped.world()
    target = f"{world.home}/.ssh/id"
    call = {"server": "filesystem", "tool": "read_text_file", "arguments": {"path": "~/Documents/x"}}
    scenario = Scenario.model_validate({"id": "x", "call": call, "expect": Verdict.ALLOW})
    linked = world.model_copy(
        update={
            "symlinks": {**world.symlinks, f"{world.home}/Documents/x": target},
            "files": {**world.files, target: DescribedFile()},
        }
    )
    found = []
    for each in (world, linked, world):
        prepared = prepare_scenarios([scenario], load_described(bundle, each))["x"]
        assert isinstance(prepared, Prepared)
        found.append([resource.value for resource in prepared.call.resources])
    assert found == [[f"{world.home}/Documents/x"], [target], [f"{world.home}/Documents/x"]]


def _shown(outcome: object) -> object:
    if not isinstance(outcome, Prepared):
        return outcome
    return outcome.input, outcome.call.arguments, outcome.call.resources, outcome.minimum
