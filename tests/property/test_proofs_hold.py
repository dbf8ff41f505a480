"""What is called proved is contradicted by no random call, over schemas as servers write them.

The suite tries a dozen tools; `pytest --hypothesis-profile=searching` tries hundreds.
"""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from support import twin
from support.spaces_odd import PEOPLE, WORLD, Drawn

from ironcurtain.canonical.schema import ArgumentSchema
from ironcurtain.decide.decide import Call, Prepared, prepare
from ironcurtain.decide.loaded import LoadedPolicy
from ironcurtain.evidence.difference import difference
from ironcurtain.evidence.evaluate import evaluate, load_described
from ironcurtain.evidence.examination import Examination, examination
from ironcurtain.evidence.findings import Material, find
from ironcurtain.evidence.guarantees import decide_guarantees
from ironcurtain.evidence.lookup import locate
from ironcurtain.evidence.narrowing import narrowing
from ironcurtain.model.guarantees import Guarantees
from ironcurtain.opa.command import OpaCommand
from ironcurtain.opa.locate import find as find_opa

POLICIES, CALLS = (12, 250) if settings.get_current_profile_name() == "repeatable" else (300, 600)
SEEDS = st.integers(min_value=0, max_value=10**9)
QUIET: Any = {
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "phases": [Phase.explicit, Phase.generate],
}
STATEMENTS: list[dict[str, Any]] = [
    {"never": "allow", "when": {"roles": ["read-path"]}},
    {"never": "escalate", "when": {"roles": ["read-path"], "outside": ["/srv"]}},
    {"never": "allow", "when": {"roles": ["recipient"], "outside": ["*@example.com"]}},
    {"never": "escalate", "when": {"roles": ["recipient"], "within": [PEOPLE[0]]}},
    {"always": "allow", "when": {"roles": ["read-path"], "within": ["/srv/a"]}},
    {"never": "allow", "when": {"tool": ["t"]}},
]
SEVERITY = {"allow": 0, "escalate": 1, "deny": 2}


def calls_of(drawn: Drawn, policy: LoadedPolicy) -> dict[str, tuple[Call, Prepared]]:
    """Return random calls that get as far as the policy."""
    found = {}
    for number in range(CALLS):
        call = Call("s", "t", drawn.arguments())
        prepared = prepare(call, policy)
        if isinstance(prepared, Prepared):
            found[f"c{number}"] = (call, prepared)
    return found


def verdicts(drawn: Drawn, calls: dict[str, tuple[Call, Prepared]]) -> dict[str, str]:
    """Return how each call is decided, floor and policy together, by the second evaluator."""
    found = {}
    for id_, (_, prepared) in calls.items():
        own = twin.decide(drawn.rules, prepared.input)["verdict"]
        floor = "escalate" if prepared.floor.escalated else "allow"
        found[id_] = max(own, floor, key=SEVERITY.__getitem__)
    return found


def broken_by(statement: dict[str, Any], prepared: Prepared, verdict: str, said: dict[str, Any]) -> bool:
    """Tell whether a call contradicts a guarantee of `STATEMENTS`."""
    when = statement["when"]
    if "roles" not in when:
        return SEVERITY[verdict] <= SEVERITY[statement["never"]]
    for subject in prepared.call.subjects:
        if subject.role.name not in when["roles"] or not _meant(when, subject.value):
            continue
        own = said["subjects"][subject.id]["verdict"]
        if "never" in statement and SEVERITY[verdict] <= SEVERITY[statement["never"]]:
            return True
        if "always" in statement and own != statement["always"]:
            return True
    return False


def _meant(when: dict[str, Any], value: str) -> bool:
    def covers(pattern: str) -> bool:
        if pattern.startswith("*@"):
            return value.endswith(pattern[1:])
        return value == pattern or (pattern.startswith("/") and value.startswith(f"{pattern}/"))

    return all(map(covers, when.get("within", ()))) and not any(map(covers, when.get("outside", ())))


def assert_proofs_hold(seed: int) -> None:
    """Assert that no random call contradicts anything that is called proved."""
    drawn, opa = Drawn(seed), OpaCommand(find_opa())
    listed = [{"id": f"G{number}", **each} for number, each in enumerate(STATEMENTS)]
    promised = Guarantees.model_validate_json(
        json.dumps({"format": "ironcurtain/guarantees/v1", "guarantees": listed})
    )
    bundle = drawn.bundle
    examined = examination(bundle, WORLD, opa, promised)
    calls = calls_of(drawn, load_described(bundle, WORLD))
    said = verdicts(drawn, calls)
    assert_located(examined, calls, opa)
    for statement, result in zip(STATEMENTS, decide_guarantees(examined, opa).results, strict=True):
        if result.status in ("proved", "says nothing") and not result.reasons:
            for id_, (call, prepared) in calls.items():
                judged = twin.decide(drawn.rules, prepared.input)
                assert not broken_by(statement, prepared, said[id_], judged), (statement, call.arguments)
    (tool,) = narrowing(bundle, WORLD, opa).tools
    deciding = {
        found["rule"]
        for _, prepared in calls.values()
        for found in twin.decide(drawn.rules, prepared.input)["subjects"].values()
    }
    for id_, (call, _) in calls.items():
        if said[id_] != "deny":
            assert tool.reachable, call.arguments
            assert tool.input_schema is not None
            assert not ArgumentSchema(tool.input_schema).problems(call.arguments), call.arguments
    report = find(examination(bundle, WORLD, opa), Material(lambda _: {}), opa)
    for finding in report.findings:
        if finding.kind in ("dead-rule", "shadowed-rule") and finding.proof == "proved":
            assert finding.where.removeprefix("rule ") not in deciding, finding.message
    assert_alike_where_said(drawn, [drawn.rule("n"), *drawn.rules[1:]], calls, said, opa)


def assert_located(examined: Examination, calls: dict[str, tuple[Call, Prepared]], opa: OpaCommand) -> None:
    """Assert that each call is where the exact picture of the policy has it."""
    one = examined.tools["s", "t"]
    if one.gaps:
        return
    bundle = examined.bundle
    answers = (
        evaluate({id_: prepared.input for id_, (_, prepared) in calls.items()}, bundle, opa) if calls else {}
    )
    for id_, (call, prepared) in calls.items():
        rules = {
            found.subject: outcome.rule
            for found in locate(one, prepared)
            for outcome in [found.answered.outcomes[0]]
            if outcome is not None
        }
        assert rules == {s: found["rule"] for s, found in answers[id_]["subjects"].items()}, call.arguments


def assert_alike_where_said(
    drawn: Drawn,
    rules: list[dict[str, Any]],
    calls: dict[str, tuple[Call, Prepared]],
    said: dict[str, str],
    opa: OpaCommand,
) -> None:
    """Assert that two policies of which no difference is said differ on no call."""
    renamed = [{**each, "name": f"n{number}"} for number, each in enumerate(rules)]
    changed = drawn.bundle_of(renamed)
    found = difference(drawn.bundle, changed, WORLD, opa)
    if found.changes or found.exactness == "sampled":
        return
    policy = load_described(changed, WORLD)
    for id_, (call, _) in calls.items():
        prepared = prepare(call, policy)
        assert isinstance(prepared, Prepared)
        own = twin.decide(renamed, prepared.input)["verdict"]
        floor = "escalate" if prepared.floor.escalated else "allow"
        assert max(own, floor, key=SEVERITY.__getitem__) == said[id_], call.arguments


@settings(max_examples=POLICIES, **QUIET)
@given(SEEDS)
@example(3038)  # a null was kept for a text that a test takes with `or_absent`
def test_no_random_call_contradicts_a_proof(seed: int) -> None:
    assert_proofs_hold(seed)
