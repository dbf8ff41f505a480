"""An explanation against a decision, on one running engine; narrowing against the number of cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from bench.figures import Figures, measure
from support.projects import shipped
from support.projects.policies import annotations_of, compiled, rule, tool

from ironcurtain.analysis.engine.policies_under_test import load_policies
from ironcurtain.analysis.engine.space.call_space import CallSpace
from ironcurtain.analysis.explain.explain import Explainer
from ironcurtain.analysis.narrowing.narrowing import narrowing
from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.decision.decide import Call
from ironcurtain.decision.roles import Registry
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.model.scenarios import DescribedWorld
from ironcurtain.policy import Policy

pytestmark = pytest.mark.bench
WORLD = DescribedWorld(home="/home/user", sandbox="/home/user/sandbox")
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "denied": ("move_file", {"source": "/srv/a", "destination": "~/Documents/a"}),
    "escalated": ("read_multiple_files", {"paths": ["a", "/srv/a"]}),
    "allowed": ("read_text_file", {"path": "~/Documents/a"}),
}
SMALL, LARGE = 50, 400
SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "mode": {"type": "string", "enum": ["soft", "hard", "dry"]}},
    "required": ["path"],
}


@pytest.fixture
def policy(tmp_path: Path) -> Iterator[Policy]:
    (tmp_path / "sandbox").mkdir()
    path = tmp_path / "bundle.tar.gz"
    path.write_bytes(shipped.bundle().archive())
    with Policy.load(path, home=tmp_path, sandbox=tmp_path / "sandbox") as found:
        yield found


def test_an_explanation_costs_few_decisions(policy: Policy, figures: Figures) -> None:
    """Both on the engine that runs; the explainer has seen the tool before, as in a session."""
    explainer = Explainer(policy.bundle, policy.loaded, policy.decide_traced)
    for name, (tool_name, arguments) in CALLS.items():
        call = Call("filesystem", tool_name, arguments)
        decided, explained = measure(
            partial(policy.decide_many, [call]),
            partial(explainer.explain, call),
            repetitions=40,
        )
        figures.add(
            f"explain / decide, {name} call",
            explained.per(decided),
            20,
            f"explain {explained}, decide {decided}",
        )


def test_narrowing_is_linear_in_cells(figures: Figures) -> None:
    opa = OpaCommand(find())
    small, large = bundle_of(SMALL), bundle_of(LARGE)
    cells = [cells_of(bundle) for bundle in (small, large)]
    few, many = measure(run(small, opa), run(large, opa), repetitions=5)
    figures.add(
        "narrowing: time per cell, large / small",
        many.per(few) / (cells[1] / cells[0]),
        1.5,
        f"{cells[0]} cells {few}, {cells[1]} cells {many}",
    )


def run(bundle: Bundle, opa: OpaCommand) -> Callable[[], object]:
    return lambda: narrowing(bundle, WORLD, opa)


def cells_of(bundle: Bundle) -> int:
    return len(CallSpace("s", "read", load_policies([bundle], WORLD)).cells)


def bundle_of(count: int) -> Bundle:
    """Return a policy of so many directories, each with its own rule over a tested argument."""
    rules: list[dict[str, Any]] = [
        rule(
            f"r{number}",
            "allow" if number % 2 else "escalate",
            tool=["read"],
            paths={"roles": ["read-path"], "within": [f"/srv/d{number}"]},
            args=[{"name": "mode", "op": "equals", "value": "soft" if number % 3 else "dry"}],
        )
        for number in range(count)
    ]
    annotated = annotations_of(
        {"s": [tool("read", path=["read-path"], mode=["none"]) | {"input_schema": SCHEMA}]}
    )
    return assemble(compiled(rules), annotated, registry=Registry(()), release=Release(engine_version="test"))
