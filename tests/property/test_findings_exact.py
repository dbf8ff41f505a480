"""Findings are true: silent rules decide no random call, and witnesses show what they should."""

from __future__ import annotations

from random import Random

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.generators import spaces
from support.oracles import twin
from support.oracles.published_claims import refuted

from ironcurtain.analysis.engine.policy_analysis import PolicyAnalysis, analyse_policy
from ironcurtain.analysis.findings.findings import Material, find
from ironcurtain.analysis.findings.report import FindingReport
from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.annotate.embedded_languages import languages
from ironcurtain.decision.decide import Call, Prepared, prepare
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find as find_opa

CALLS = 200
ALLOWED = {"open-allow", "sandbox-bypass", "evadable-rule"}


def report_on(bundle: Bundle) -> tuple[PolicyAnalysis, FindingReport]:
    opa = OpaCommand(find_opa())
    examined = analyse_policy(bundle, spaces.WORLD, opa)
    return examined, find(examined, Material(languages), opa)


@settings(
    max_examples=examples(5), deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate]
)
@given(st.integers(min_value=0, max_value=10**9))
def test_no_random_call_and_no_witness_shows_a_finding_to_be_wrong(seed: int) -> None:
    random = Random(seed)
    rules = spaces.random_policy(random)
    examined, report = report_on(spaces.bundle_of(rules))
    policy = examined.policies[0].policy
    for _ in range(CALLS):
        tool = random.choice(list(spaces.SCHEMA))
        prepared = prepare(
            Call("s", tool, spaces.random_arguments(random, tool), spaces.random_caller(random)), policy
        )
        if isinstance(prepared, Prepared):
            # The twin reads the rules in plain Python, without cells and without OPA.
            decided = twin.decide(rules, prepared.input)
            assert refuted(report, decided["verdict"], decided["subjects"]) == []
    check_witnesses(report)


def check_witnesses(report: FindingReport) -> None:
    for finding in report.findings:
        if finding.kind in ALLOWED and not report.reasons:
            assert finding.witness is not None
            assert finding.witness.verdict == "allow"
        if finding.kind == "uncovered-role":
            assert finding.witness is None or finding.witness.verdict == "deny"
        if finding.kind == "shadowed-rule" and finding.witness is not None:
            assert finding.witness.rule != finding.where.removeprefix("rule ")


@settings(
    max_examples=examples(2), deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate]
)
@given(st.integers(min_value=0, max_value=10**9))
def test_ids_do_not_depend_on_names(seed: int) -> None:
    rules = spaces.random_policy(Random(seed), most=15)
    renamed = [{**rule, "name": f"other-{rule['name']}"} for rule in rules]
    one, other = (report_on(spaces.bundle_of(each))[1] for each in (rules, renamed))
    assert [finding.id for finding in one.findings] == [finding.id for finding in other.findings]
