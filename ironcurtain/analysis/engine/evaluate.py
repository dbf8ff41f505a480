"""Deciding many scenarios at once: prepared as at run time, evaluated by OPA in a few batches.

The world is the scenarios' own, as data, so the outcome is the same on every machine.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.canonical.simulated_host import SimulatedHost
from ironcurtain.decision.decide import Call, Prepared, finalize, prepare
from ironcurtain.decision.facts import stated_facts
from ironcurtain.decision.loaded_policy import Deployment, LoadedPolicy
from ironcurtain.decision.policy_input import PolicyInput
from ironcurtain.decision.refusal import Refusal
from ironcurtain.engine.command import OpaCommand
from ironcurtain.errors import EngineFailedError, ScenarioError, VerificationError
from ironcurtain.model.decision import Decision
from ironcurtain.model.scenarios import DescribedWorld, Scenario
from ironcurtain.system import assets
from ironcurtain.system.background import within_scope
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.private_runtime import private_directory
from ironcurtain.system.text import visible

_QUERY = "data.ironcurtain_verify.results"
_SHARD = 2_500
_LARGEST = 10_000
"""So many inputs that one run of OPA ends well within its time."""


def load_described(bundle: Bundle, world: DescribedWorld) -> LoadedPolicy:
    """Load a bundle's policy in a described world."""
    deployment = Deployment(
        home=world.home,
        sandbox=world.sandbox,
        protected=world.protected,
        working_roots=world.working_roots,
        domains=world.domains,
    )
    return LoadedPolicy(PolicyContent.of(bundle), deployment, SimulatedHost(world))


def prepare_scenarios(scenarios: Iterable[Scenario], policy: LoadedPolicy) -> dict[str, Prepared | Decision]:
    """Do steps 1 to 5 of every scenario; return by id what OPA is to be asked, or the decision."""
    return {s.id: prepare(_call(s, policy), policy) for s in scenarios}


def _call(scenario: Scenario, policy: LoadedPolicy) -> Call:
    call = scenario.call
    try:
        facts = stated_facts(policy.facts, call.facts or {}, call.at)
    except ScenarioError as error:
        raise ScenarioError(error.what, where=f"scenario {scenario.id}", hint=error.hint) from None
    return Call(call.server, call.tool, call.arguments, call.caller, id=scenario.id, facts=facts)


def decide_prepared(
    prepared: Mapping[str, Prepared | Decision], bundle: Bundle, policy: LoadedPolicy, opa: OpaCommand
) -> dict[str, Decision]:
    """Ask OPA about every prepared scenario and return the decisions by id.

    Raises:
        EngineFailedError: If OPA does not run.
        VerificationError: If a decision is undefined or malformed: then nothing about the bundle is known.
    """
    questions = {id_: p.input for id_, p in prepared.items() if isinstance(p, Prepared)}
    answers = evaluate(questions, bundle, opa)
    return {id_: _decision(id_, p, answers, policy) for id_, p in prepared.items()}


def evaluate(questions: Mapping[str, PolicyInput], bundle: Bundle, opa: OpaCommand) -> dict[str, JsonValue]:
    """Return OPA's decision object for each policy input, by id; shards run side by side on the cores.

    Raises:
        EngineFailedError: If OPA does not run.
        VerificationError: Naming the ids whose decision is undefined.
    """
    ids = sorted(questions)
    workers = min(os.cpu_count() or 1, max(1, len(ids) // _SHARD + 1))
    shards = max(workers, math.ceil(len(ids) / _LARGEST))
    with private_directory("work") as place, ThreadPoolExecutor(workers) as pool:
        archive = place / "bundle.tar.gz"
        archive.write_bytes(bundle.archive())
        parts = [{id_: questions[id_] for id_ in ids[n::shards]} for n in range(shards)]
        results = list(
            pool.map(within_scope(lambda n: _evaluate_shard(parts[n], place, n, archive, opa)), range(shards))
        )
    answers = {id_: answer for result in results for id_, answer in result.items()}
    if missing := sorted(set(ids) - answers.keys()):
        raise VerificationError(
            f"undefined decisions: {len(missing)} of {len(ids)}, the first for {visible(missing[0])}"
        )
    return answers


def _evaluate_shard(
    questions: Mapping[str, PolicyInput], directory: Path, number: int, archive: Path, opa: OpaCommand
) -> dict[str, JsonValue]:
    data = directory / f"inputs-{number}.json"
    data.write_text(json.dumps({"ironcurtain_inputs": questions}), encoding="utf-8")
    found = opa.eval(
        _QUERY, bundles=[archive], data=[assets.REGO / "ironcurtain_verify" / "verify.rego", data]
    )
    if not isinstance(found, dict):
        raise EngineFailedError("OPA evaluated the scenarios to something that is no object")
    return found


def _decision(
    id_: str, prepared: Prepared | Decision, answers: Mapping[str, JsonValue], policy: LoadedPolicy
) -> Decision:
    if isinstance(prepared, Decision):
        return prepared
    try:
        return finalize(prepared, answers[id_], policy)
    except Refusal as refusal:
        raise VerificationError(f"scenario {visible(id_)}: {refusal.reason}") from None
