"""Scenarios with steps as single calls: each with the labels and totals that the steps before it leave.

    followed = follow_steps(scenarios, policy)
    followed.scenarios        # single calls; those with steps are `ID.step-1`, `ID.step-2`, ...

A step is sent where it is expected to be allowed, or escalated and approved. So the facts of a step are those
of a session in which everything before it came as expected: the first step that does not is found by a call
that is right, and what follows it is told on that condition.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from ironcurtain.analysis.engine.evaluate import load_described, prepare_scenarios
from ironcurtain.bundle.archive import Bundle
from ironcurtain.decision.decide import Prepared
from ironcurtain.decision.facts import moment
from ironcurtain.decision.loaded_policy import LoadedPolicy
from ironcurtain.errors import ScenarioError
from ironcurtain.model.decision import Decision
from ironcurtain.model.facts import CounterFact, LabelFact
from ironcurtain.model.scenarios import Scenario, Scenarios, Step, SteppedScenario
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct

_NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)
"""When steps happen that say no time: all in the same windows; what tests the time does not know it."""


class FollowedScenarios(Struct):
    """Scenarios as single calls.

    Attributes:
        scenarios: All of them, with the facts that follow from steps before.
        refused: By id the refusal of each step of which a fact cannot be had, whatever the rules say.
    """

    scenarios: tuple[Scenario, ...]
    refused: Mapping[str, Decision]

    @property
    def decided_by_rules(self) -> tuple[Scenario, ...]:
        """Those that rules are asked about."""
        return tuple(scenario for scenario in self.scenarios if scenario.id not in self.refused)


def follow_steps(scenarios: Scenarios, policy: LoadedPolicy) -> FollowedScenarios:
    """Return scenarios as single calls.

    Args:
        scenarios: The scenarios.
        policy: The policy in their world.

    Raises:
        ScenarioError: Naming the step that states what follows from other steps, or lies before another one.
    """
    listed: list[Scenario] = []
    refused: dict[str, Decision] = {}
    for entry in scenarios.entries:
        if isinstance(entry, Scenario):
            listed.append(entry)
            continue
        for scenario, refusal in _followed(entry, policy):
            listed.append(scenario)
            if refusal is not None:
                refused[scenario.id] = refusal
    return FollowedScenarios(tuple(listed), refused)


def single_calls(scenarios: Scenarios, bundle: Bundle) -> Scenarios:
    """Return scenarios whose steps are single calls, without those that are refused whatever the rules say.

    Raises:
        ScenarioError: As `follow_steps`.
    """
    if not scenarios.stepped:
        return scenarios
    followed = follow_steps(scenarios, load_described(bundle, scenarios.world))
    return scenarios.model_copy(update={"entries": followed.decided_by_rules})


def _followed(stepped: SteppedScenario, policy: LoadedPolicy) -> Iterator[tuple[Scenario, Decision | None]]:
    # What follows a session loads much, and few scenarios have steps.
    from ironcurtain.enforcement.facts.followed import FollowedSession, given_by  # noqa: PLC0415

    session = FollowedSession(policy)
    time: str | None = None
    at = _NO_TIME
    for step, plain in zip(stepped.steps, stepped.calls, strict=True):
        time = step.call.at or time
        scenario = plain.model_copy(update={"call": plain.call.model_copy(update={"at": time})})
        _check_facts(scenario, policy)
        before, at = at, _moment(time)
        if at < before and before is not _NO_TIME:
            raise ScenarioError(f"the scenario {scenario.id} is earlier than the step before it")
        prepared = prepare_scenarios([scenario], policy)[scenario.id]
        if not isinstance(prepared, Prepared):
            yield scenario, None
            continue
        call = session.before(prepared, at)
        refusal = call.outcome if isinstance(call.outcome, Decision) else None
        yield _with_facts(scenario, call.remembered), refusal
        if step.is_sent and refusal is None:
            session.send(call, given_by(call, _answer(step)))


def _check_facts(scenario: Scenario, policy: LoadedPolicy) -> None:
    for name in scenario.call.facts or {}:
        if isinstance(policy.facts.get(name), CounterFact | LabelFact):
            raise ScenarioError(
                f"the fact {name!r} follows from the steps before",
                where=f"scenario {scenario.id}",
                hint="Leave it out; a step states what records hold.",
            )


def _moment(time: str | None) -> datetime:
    # What is no time is told when the call is prepared.
    return (moment(time) if time is not None else None) or _NO_TIME


def _answer(step: Step) -> dict[str, JsonValue] | None:
    return None if step.result is None else {"structuredContent": dict(step.result)}


def _with_facts(scenario: Scenario, remembered: Mapping[str, JsonValue]) -> Scenario:
    if not remembered:
        return scenario
    facts = {**(scenario.call.facts or {}), **remembered}
    return scenario.model_copy(update={"call": scenario.call.model_copy(update={"facts": facts})})
