"""The gate over the shipped policy, against one bare `opa eval` over its inputs and one `opa test`."""

from __future__ import annotations

import subprocess
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from bench.bench_verify import write_inputs
from bench.figures import Figures, measure
from support.projects.shipped import GENERATED

from ironcurtain.analysis.engine.evaluate import load_described, prepare_scenarios
from ironcurtain.bundle.archive import Bundle
from ironcurtain.decision.decide import Prepared
from ironcurtain.engine.locate import find
from ironcurtain.integrations.gate.checks.all_checks import run_checks
from ironcurtain.integrations.gate.inputs import GateInputs
from ironcurtain.integrations.gate.reading import read_policy_under_review

pytestmark = pytest.mark.bench


def test_the_gate_of_the_shipped_policy(tmp_path: Path, figures: Figures) -> None:
    made, opa = Bundle.read(GENERATED / "bundle"), find()
    given = GateInputs(bundle=GENERATED / "bundle")
    first = read_policy_under_review(made, given, opa, date(2027, 1, 1))
    policy = load_described(made, first.scenarios.world)
    prepared = prepare_scenarios(first.scenarios.scenarios, policy)
    questions: dict[str, Any] = {
        id_: each.input for id_, each in prepared.items() if isinstance(each, Prepared)
    }
    command = write_inputs(tmp_path, made.archive(), questions)
    tested = [str(opa.path), "test", "--bundle", str(GENERATED / "bundle")]

    def whole() -> None:
        subject = read_policy_under_review(made, given, opa, date(2027, 1, 1))
        assert not [check for check in run_checks(subject) if check.status == "failed"]

    def bare() -> None:
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
        subprocess.run(tested, check=True, capture_output=True)

    plain, gate = measure(bare, whole, repetitions=3)
    figures.add(
        "verify of the shipped policy / opa eval + opa test", gate.per(plain), 6, f"{gate}; bare {plain}"
    )
