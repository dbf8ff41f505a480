"""A rule that denies whoever is not the owner: what is decided, and told, where nobody knows who asks."""

from __future__ import annotations

from typing import Any

import pytest
from support.projects.policies import CALLER, annotations_of, compiled, of_caller, rule, tool

from ironcurtain.analysis.engine.evaluate import decide_prepared, load_described, prepare_scenarios
from ironcurtain.analysis.engine.policy_analysis import analyse_policy
from ironcurtain.analysis.findings.findings import Material
from ironcurtain.analysis.findings.findings import find as find_findings
from ironcurtain.analysis.guarantees.guarantees import check_guarantees
from ironcurtain.analysis.matrix.matrix import decision_matrix
from ironcurtain.analysis.mutation.score import mutation_score
from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.annotate.embedded_languages import languages
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.decision.roles import Registry
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.errors import RuleError
from ironcurtain.model.guarantees import Guarantees
from ironcurtain.model.scenarios import DescribedWorld, Scenario, ScenarioCall, Scenarios
from ironcurtain.model.verdict import Verdict
from ironcurtain.system import json_text
from ironcurtain.system.files import parse_document

WORLD = DescribedWorld(home="/home/user", sandbox=None)
SCHEMA = {
    "type": "object",
    "properties": {"user_id": {"type": "string"}, "level": {"type": "integer"}},
    "additionalProperties": False,
}
PROFILE = tool("profile", contained=False, user_id=["none"], level=["none"]) | {"input_schema": SCHEMA}
OWNER = {"name": "user_id", "op": "not_equals", "value": {"caller": "/sub"}, "or_absent": True}
DENY_OTHERS = rule("deny-others", "deny", tool=["profile"], args=[OWNER])
ALLOW = rule("allow", "allow", tool=["profile"])
UNKNOWN: dict[str, dict[str, Any]] = {
    "nobody": {},
    "null": {"sub": None},
    "a number": {"sub": 5},
    "a list": {"sub": ["u1"]},
}


def bundle(*rules: dict[str, Any], caller: dict[str, Any] = CALLER) -> Bundle:
    annotated = annotations_of({"shop": [PROFILE]})
    return assemble(
        compiled(list(rules), caller=caller),
        annotated,
        registry=Registry(()),
        release=Release(engine_version="test"),
    )


def verdicts(made: Bundle, *calls: tuple[dict[str, Any], dict[str, Any]]) -> list[str]:
    """Decide calls, each given as the caller facts and the arguments."""
    asked = [
        Scenario(
            id=f"s{number}",
            call=ScenarioCall(server="shop", tool="profile", arguments=arguments, caller=caller),
            expect=Verdict.DENY,
        )
        for number, (caller, arguments) in enumerate(calls)
    ]
    policy = load_described(made, WORLD)
    decided = decide_prepared(prepare_scenarios(asked, policy), made, policy, OpaCommand(find()))
    return [str(decided[each.id].verdict) for each in asked]


def verdict(made: Bundle, caller: dict[str, Any], arguments: dict[str, Any]) -> str:
    return verdicts(made, (caller, arguments))[0]


def guarantee(never: str, **when: Any) -> Guarantees:
    item = {"id": "G1", "never": never, "when": {"tool": ["profile"], **when}}
    document: dict[str, Any] = {"format": "ironcurtain/guarantees/v1", "guarantees": [item]}
    return parse_document(json_text.pretty(document), "guarantees.yaml", Guarantees)


@pytest.mark.parametrize("caller", UNKNOWN.values(), ids=UNKNOWN)
def test_a_profile_is_not_shown_to_somebody_unknown(caller: dict[str, Any]) -> None:
    made = bundle(DENY_OTHERS, ALLOW)
    assert verdict(made, caller, {"user_id": "u1"}) == "deny"
    assert verdict(made, caller, {}) == "deny"


def test_the_owner_and_only_the_owner_sees_a_profile() -> None:
    made = bundle(DENY_OTHERS, ALLOW)
    assert verdict(made, {"sub": "u1"}, {"user_id": "u1"}) == "allow"
    assert verdict(made, {"sub": "u2"}, {"user_id": "u1"}) == "deny"


@pytest.mark.parametrize("caller", UNKNOWN.values(), ids=UNKNOWN)
def test_a_missing_argument_does_not_stand_in_for_an_unknown_caller(caller: dict[str, Any]) -> None:
    own = {"name": "user_id", "op": "equals", "value": {"caller": "/sub"}, "or_absent": True}
    made = bundle(rule("allow-own", "allow", tool=["profile"], args=[own]))
    assert verdict(made, {"sub": "u1"}, {}) == "allow"
    expected = "allow" if caller.get("sub") is not None else "deny"
    assert verdict(made, caller, {}) == expected  # without an argument no type is expected of the fact
    assert verdict(made, caller, {"user_id": "u1"}) == "deny"


def test_all_evidence_agrees_that_nobody_else_sees_a_profile() -> None:
    made, opa = bundle(DENY_OTHERS, ALLOW), OpaCommand(find())
    (result,) = check_guarantees(made, guarantee("allow", args=[OWNER]), WORLD, opa).results
    assert result.holds
    (table,) = decision_matrix(made, WORLD, opa).servers["shop"]
    outcomes = {outcome.verdict: outcome.when for row in table.rows for outcome in row.outcomes}
    assert outcomes[Verdict.DENY] == ("user_id ≠ the caller's /sub or absent or unknown",)
    report = find_findings(analyse_policy(made, WORLD, opa), Material(languages), opa)
    assert [finding.kind for finding in report.findings if finding.kind != "untested-clause"] == []


def test_a_guarantee_speaks_of_callers_that_are_not_known() -> None:
    grown = {"name": "/age", "op": "ge", "value": 18}
    allowed = bundle(rule("allow", "allow", tool=["profile"], caller=[grown]))
    opa = OpaCommand(find())
    young = guarantee("allow", caller=[{**grown, "op": "lt"}])
    (holds,) = check_guarantees(allowed, young, WORLD, opa).results
    (broken,) = check_guarantees(bundle(ALLOW), young, WORLD, opa).results
    assert (holds.holds, broken.holds) == (True, False)
    assert broken.witness is not None


def test_a_mutant_that_only_an_unknown_caller_shows_is_killed_by_such_a_scenario() -> None:
    item = {
        "id": "nobody",
        "call": {"server": "shop", "tool": "profile", "arguments": {"user_id": "u1"}},
        "expect": "deny",
        "rule": "deny-others",
    }
    document: dict[str, Any] = {
        "format": "ironcurtain/scenarios/v1",
        "world": {"sandbox": None},
        "scenarios": [item],
    }
    known = parse_document(json_text.pretty(document), "scenarios.yaml", Scenarios)
    report = mutation_score(bundle(DENY_OTHERS, ALLOW), known, None, OpaCommand(find()))
    outcomes = {each.change: (each.outcome, each.by) for each in report.mutants}
    assert outcomes["without deny-others"] == ("killed", "scenario nobody")


MISSING = {"name": "/sub", "op": "present", "value": False}


@pytest.mark.parametrize("then", ["deny", "escalate"])
def test_a_rule_on_a_missing_fact_denies_or_asks(then: str) -> None:
    made = bundle(rule("who", then, tool=["profile"], caller=[MISSING]), ALLOW)
    assert verdict(made, {}, {"user_id": "u1"}) == then
    assert verdict(made, {"sub": "u1"}, {"user_id": "u1"}) == "allow"


@pytest.mark.parametrize("test", [MISSING, {"name": "/sub", "op": "equals", "value": "a", "or_absent": True}])
def test_a_missing_fact_never_makes_a_rule_allow(test: dict[str, Any]) -> None:
    with pytest.raises(RuleError, match="must not make a rule allow"):
        bundle(rule("who", "allow", tool=["profile"], caller=[test]))


TYPES = {
    "equals": "guest",
    "not_equals": "guest",
    "in": ["guest"],
    "not_in": ["guest"],
    "matches": "guest.*",
    "lt": 18,
    "le": 18,
    "gt": 18,
    "ge": 18,
}
OTHER_TYPES: list[Any] = ["guest", 18, True, ["guest"], {"guest": 1}]


@pytest.mark.parametrize(("op", "value"), TYPES.items(), ids=TYPES)
def test_a_fact_of_another_type_is_unknown_to_every_operator(op: str, value: Any) -> None:
    fact = {"name": "/kind", "op": op, "value": value}
    kind = of_caller("number", 18) if op in ("lt", "le", "gt", "ge") else of_caller("string", "guest")
    denying = bundle(rule("deny", "deny", tool=["profile"], caller=[fact]), ALLOW, caller={"kind": kind})
    allowing = bundle(rule("only", "allow", tool=["profile"], caller=[fact]), caller={"kind": kind})
    wanted = int if op in ("lt", "le", "gt", "ge") else str
    calls: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"kind": odd}, {}) for odd in OTHER_TYPES if type(odd) is not wanted
    ]
    for made in (denying, allowing):
        assert verdicts(made, *calls) == ["deny"] * len(calls)
