"""The shipped policy, as a bundle of this version, and the world of its scenarios."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.decision.roles import Registry
from ironcurtain.model.annotations import Annotations
from ironcurtain.model.lists import Lists
from ironcurtain.model.policy import CompiledPolicy
from ironcurtain.model.scenarios import DescribedWorld, Scenarios
from ironcurtain.system.files import load, parse_document

ROOT = Path(__file__).parents[3]
GENERATED = ROOT / "generated"


@functools.cache
def world() -> DescribedWorld:
    """Return the world of the shipped scenarios."""
    return load(ROOT / "scenarios.yaml", Scenarios).world


def bundle(change: Callable[[list[dict[str, Any]]], object] | None = None) -> Bundle:
    """Return the shipped policy's bundle, with its rules changed where a function does so in place."""
    document = json.loads((GENERATED / "compiled-policy.json").read_text())
    if change is not None:
        change(document["rules"])
    annotations = load(GENERATED / "tool-annotations.json", Annotations)
    return assemble(
        parse_document(json.dumps(document), "compiled-policy.json", CompiledPolicy),
        annotations,
        load(GENERATED / "dynamic-lists.json", Lists),
        registry=Registry(annotations.roles),
        release=Release(engine_version="test"),
    )


def named(rules: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """Return the rule of a name."""
    return next(rule for rule in rules if rule["name"] == name)
