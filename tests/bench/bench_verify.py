"""Verifying ten thousand scenarios, against one bare `opa eval` over the same inputs."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from bench.figures import Figures, measure
from bench.scaled import READ_MANY, READ_ONE, SERVER, bundle, directory_rules

from ironcurtain.analysis.engine.evaluate import load_described, prepare_scenarios
from ironcurtain.compiler.verify.verify import verify
from ironcurtain.decision.decide import Prepared
from ironcurtain.engine.locate import find
from ironcurtain.model.scenarios import DescribedWorld, Scenario, ScenarioCall, Scenarios
from ironcurtain.model.verdict import Verdict
from ironcurtain.system import assets
from ironcurtain.system.frozen import JsonValue

pytestmark = pytest.mark.bench
SCENARIOS = 10_000
RULES = 50
HOME = Path("/home/user")


def scenarios() -> Scenarios:
    """Return scenarios of which every second one is allowed, each about a path of its own."""
    return Scenarios(
        format="ironcurtain/scenarios/v1",
        world=DescribedWorld(home=str(HOME), sandbox=f"{HOME}/sandbox"),
        scenarios=tuple(
            Scenario(
                id=f"s{n:05d}",
                call=ScenarioCall(
                    server=SERVER,
                    tool="read_file",
                    arguments={"path": f"~/d{n % (2 * RULES):02d}/file-{n}.txt"},
                ),
                expect=Verdict.ALLOW if n % (2 * RULES) < RULES else Verdict.DENY,
            )
            for n in range(SCENARIOS)
        ),
    )


def write_inputs(directory: Path, archive: bytes, questions: Mapping[str, JsonValue]) -> list[str]:
    """Write what a bare `opa eval` reads; return its command."""
    (directory / "bundle.tar.gz").write_bytes(archive)
    (directory / "inputs.json").write_text(json.dumps({"ironcurtain_inputs": questions}))
    module = assets.REGO / "ironcurtain_verify" / "verify.rego"
    files = ["--bundle", "bundle.tar.gz", "--data", "inputs.json", "--data", str(module)]
    return [str(find().path), "eval", "--format", "json", *files, "data.ironcurtain_verify.results"]


def test_ten_thousand_scenarios(tmp_path: Path, figures: Figures) -> None:
    made = bundle([READ_ONE, READ_MANY], directory_rules(HOME, RULES, ["read_file"]))
    wanted, opa = scenarios(), find()
    policy = load_described(made, wanted.world)
    questions: dict[str, Any] = {
        id_: prepared.input
        for id_, prepared in prepare_scenarios(wanted.scenarios, policy).items()
        if isinstance(prepared, Prepared)
    }
    assert len(questions) == SCENARIOS
    command = write_inputs(tmp_path, made.archive(), questions)

    def verified() -> None:
        assert verify(made, wanted, opa).ok

    bare, whole, preparing = measure(
        lambda: subprocess.run(command, cwd=tmp_path, check=True, capture_output=True),
        verified,
        lambda: prepare_scenarios(wanted.scenarios, load_described(made, wanted.world)),
        repetitions=3,
    )
    figures.add(
        f"{SCENARIOS:,} scenarios verified / bare opa eval", whole.per(bare), 1.5, f"{whole}; bare {bare}"
    )
    figures.add(f"{SCENARIOS:,} scenarios prepared / bare opa eval", preparing.per(bare), 1, str(preparing))
