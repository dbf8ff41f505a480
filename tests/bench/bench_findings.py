"""How long findings and coverage take beside the examination that they share."""

from __future__ import annotations

import pytest
from bench.figures import Figures, measure
from support.projects import shipped

from ironcurtain.analysis.coverage.coverage import coverage
from ironcurtain.analysis.engine.policy_analysis import analyse_policy
from ironcurtain.analysis.findings import findings
from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.annotate.embedded_languages import languages
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.model.scenarios import Scenarios
from ironcurtain.system.files import load

pytestmark = pytest.mark.bench


def test_findings_and_coverage_of_the_shipped_policy(figures: Figures) -> None:
    bundle, opa = Bundle.read(shipped.GENERATED / "bundle"), OpaCommand(find())
    listed = load(shipped.GENERATED / "test-scenarios.json", Scenarios)
    material = findings.Material(languages, listed.scenarios)
    examined = analyse_policy(bundle, listed.world, opa)
    looking, found, reached = measure(
        lambda: analyse_policy(bundle, listed.world, opa),
        lambda: findings.find(examined, material, opa),
        lambda: coverage(examined, listed.scenarios, opa),
        repetitions=5,
    )
    figures.add(
        "findings of the shipped policy / its examination", found.per(looking), 1, f"{found}; {looking}"
    )
    figures.add("coverage of the shipped policy / its examination", reached.per(looking), 1, f"{reached}")
