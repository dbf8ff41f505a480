"""Rules beside the Rego that they are rendered to; read the pairs to learn the shape.

After a wanted change: `python tests/golden/test_render_golden.py` rewrites the Rego; review the diff.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ironcurtain.compiler.render.render import render_policy
from ironcurtain.model.annotations import Annotations
from ironcurtain.model.policy import CompiledPolicy

PAIRS = Path(__file__).parent / "render"
NAMES = sorted(path.stem for path in PAIRS.glob("*.json"))


def rendered(name: str) -> str:
    case = json.loads((PAIRS / f"{name}.json").read_text(encoding="utf-8"))
    policy = CompiledPolicy.model_validate_json(
        json.dumps({"format": "ironcurtain/policy/v1", "rules": case["rules"]})
    )
    tools = [{"tool": tool, "side_effects": True} for tool in case["tools"]]
    annotations = Annotations.model_validate_json(
        json.dumps({"format": "ironcurtain/annotations/v1", "servers": {case["server"]: {"tools": tools}}})
    )
    return render_policy(policy, case["server"], annotations)


def test_there_are_pairs() -> None:
    assert len(NAMES) >= 4


@pytest.mark.parametrize("name", NAMES)
def test_rules_are_rendered_as_reviewed(name: str) -> None:
    assert rendered(name) == (PAIRS / f"{name}.rego").read_text(encoding="utf-8")


if __name__ == "__main__":
    for each in NAMES:
        (PAIRS / f"{each}.rego").write_text(rendered(each), encoding="utf-8")
