"""Scenarios as Rego tests: one `policy_test.rego` per server, so that policy authors run `opa test`.

The stage between `scenarios` and `verify`. Each test holds the policy input that preparation makes of
the scenario's call and expects the verdict that the scenario demands, not the one the policy gives. A
scenario that ends before OPA is asked, or whose verdict is the minimum verdict's, has no test. A scenario
with steps has a test for each step, with the labels and totals that the steps before it leave: OPA does not
fold them, `ironcurtain verify` does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import cast

from ironcurtain.analysis.engine.evaluate import load_described, prepare_scenarios
from ironcurtain.analysis.sequences.steps import follow_steps
from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.render.assemble import policy_directory
from ironcurtain.compiler.render.terms import TAB, literal, metadata
from ironcurtain.decision.decide import Prepared
from ironcurtain.engine.command import OpaCommand
from ironcurtain.model.decision import Decision
from ironcurtain.model.scenarios import Scenario, Scenarios
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.json_text import JsonSource

TESTS = "policy_test.rego"
"""The file beside a server's rules that holds its scenarios as tests."""

_NOT_A_NAME = re.compile(r"[^a-z0-9]+")


def with_policy_tests(bundle: Bundle, scenarios: Scenarios, opa: OpaCommand) -> Bundle:
    """Return the bundle with a `policy_test.rego` for every server that has scenarios."""
    policy = load_described(bundle, scenarios.world)
    listed = follow_steps(scenarios, policy).decided_by_rules
    prepared = prepare_scenarios(listed, policy)
    cases: dict[str, dict[str, str]] = {}
    for scenario in listed:
        if question := _question(scenario, prepared[scenario.id]):
            tests = cases.setdefault(scenario.call.server, {})
            name = _name(scenario, tests)
            tests[name] = _test(name, scenario, question)
    files = {
        f"{policy_directory(server)}/{TESTS}": opa.format(_module(server, tests)).encode()
        for server, tests in cases.items()
        if f"{policy_directory(server)}/policy.rego" in bundle.files
    }
    return bundle.with_files(files)


def _question(scenario: Scenario, prepared: Prepared | Decision) -> Mapping[str, JsonSource] | None:
    if not isinstance(prepared, Prepared):
        return None
    # Where the minimum verdict alone can make it an escalation, the policy's own verdict is free.
    is_floor = scenario.expect is Verdict.ESCALATE and prepared.minimum.escalated
    # The input is JSON whose members have names; a type with named members is no mapping of JSON to mypy.
    return None if is_floor else cast("Mapping[str, JsonSource]", prepared.input)


def _name(scenario: Scenario, taken: Mapping[str, str]) -> str:
    """Name a test; two tests of one name would be one rule, which holds if either does."""
    name = f"test_{scenario.expect}_{_NOT_A_NAME.sub('_', scenario.id).strip('_')}"
    while name in taken:
        name += "_again"
    return name


def _module(server: str, tests: Mapping[str, str]) -> str:
    header = (
        "# METADATA\n"
        f"# title: {json.dumps(f'Scenarios of {server}')}\n"
        "# description: Generated from the scenarios; do not edit.\n"
        f"package ironcurtain.policy[{json.dumps(server + '_test')}]\n\n"
        "import data.ironcurtain.decision\n"
    )
    return "\n".join([header, *tests.values()])


def _test(name: str, scenario: Scenario, question: JsonSource) -> str:
    asked = f"{TAB}answer := decision.decision with input as "
    lines = [
        "# METADATA",
        f"# title: {metadata(scenario.id)}",
        f"# description: {metadata(scenario.why)}",
        f"{name} if {{",
        asked + literal(question, used=len(asked) + 3),
    ]
    lines.append(f"\tanswer.verdict == {json.dumps(scenario.expect)}")
    if scenario.rule:
        lines.append(f"\tanswer.rule == {json.dumps(scenario.rule)}")
    return "\n".join([*lines, "}\n"])
