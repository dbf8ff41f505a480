"""Scenarios that demand different verdicts for one call (`contradictory-scenarios`)."""

from __future__ import annotations

from collections.abc import Iterator

from ironcurtain.analysis.engine.search import FoundCall
from ironcurtain.analysis.findings.draft import FindingDraft, WitnessQuery
from ironcurtain.analysis.findings.finder import FinderInputs
from ironcurtain.decision.decide import Prepared
from ironcurtain.model.scenarios import Scenario
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue


def contradictory_scenarios(inputs: FinderInputs) -> Iterator[FindingDraft]:
    """Yield scenarios that demand different verdicts for one call, however it is spelt."""
    decided = inputs.decided
    if decided is None:
        return
    first: dict[bytes, Scenario] = {}
    for scenario in sorted(decided.scenarios, key=lambda scenario: scenario.id):
        prepared = decided.prepared[scenario.id]
        call = scenario.call
        arguments = prepared.call.arguments if isinstance(prepared, Prepared) else call.arguments
        asked: JsonValue = [call.server, call.tool, arguments, call.caller or {}]
        other = first.setdefault(json_text.canonical(asked), scenario)
        if other.expect is scenario.expect:
            continue
        yield FindingDraft(
            kind="contradictory-scenarios",
            severity="error",
            about=[asked, list[JsonValue](sorted([other.expect.value, scenario.expect.value]))],
            where=f"scenario {scenario.id}",
            message=f"the scenario {scenario.id} expects {scenario.expect}, and {other.id} expects "
            f"{other.expect} of the same call",
            suggestion="Delete one of the two, or say in their arguments what tells them apart.",
            clause=scenario.clause,
            witness=WitnessQuery(
                call.server, call.tool, FoundCall(dict(call.arguments), dict(call.caller or {}), "", "call")
            ),
        )
