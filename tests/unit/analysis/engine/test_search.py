"""How many combinations a search for a whole call tries, and what it says where it was cut short."""

from __future__ import annotations

from typing import Any

import pytest
from support.projects.policies import annotations_of, compiled

from ironcurtain.analysis.engine.policy_analysis import analyse_policy
from ironcurtain.analysis.engine.proof import Proof
from ironcurtain.analysis.engine.search import CUT_SHORT, CallSearch, SearchResult
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.decision.roles import Registry
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.model.scenarios import DescribedWorld
from ironcurtain.model.verdict import Verdict

WORLD = DescribedWorld(home="/home/user", sandbox="/home/user/box")
THINGS = {"type": "array", "items": {"type": "string"}}
HOMES = 6
DIRECTORIES = {"roles": ["read-path"], "within": ["~/a", "~/b"]}


def rule(name: str, then: str, **conditions: Any) -> dict[str, Any]:
    return {"name": name, "clause": "C1", "reason": "so", "then": then, "if": conditions}


def searched(effort: int, *first: dict[str, Any]) -> SearchResult:
    """Search an allowed call with the thing `x`; such calls name a directory, whose reading is denied."""
    rules = [
        *first,
        rule("reading", "deny", roles=["read-path"]),
        rule("x", "allow", lists={"roles": ["thing"], "allowed": ["x"]}, paths=DIRECTORIES),
        rule("y", "allow", lists={"roles": ["thing"], "allowed": ["y"]}),
    ]
    places = {f"things_{number}": "thing" for number in range(HOMES)} | {"paths": "read-path"}
    schema = {"type": "object", "properties": dict.fromkeys(places, THINGS)}
    args = [{"name": name, "roles": [role]} for name, role in places.items()]
    tool = {"tool": "t", "side_effects": True, "input_schema": schema, "args": args}
    own = [{"name": "thing", "description": "A thing.", "guidance": "", "case": "exact"}]
    annotated = annotations_of({"s": [tool]}, own)
    release = Release(engine_version="test")
    bundle = assemble(compiled(rules), annotated, registry=Registry(annotated.roles), release=release)
    examined = analyse_policy(bundle, WORLD, OpaCommand(find())).tools["s", "t"]
    (cell,) = (
        cell
        for (key,), cell in examined.space.cells.items()
        if key is not None and key.role == "thing" and "x" in key.patterns
    )
    search = CallSearch(examined, effort=effort)
    return search.find(cell, lambda _, call: call[0] <= Verdict.ALLOW.severity)


def test_what_no_call_can_meet_is_tried_once_and_not_for_each_place_of_the_resource() -> None:
    # Guards can see eight combinations of resources, and each of six arguments can hold the thing.
    assert searched(effort=8).proof is Proof.PROVED


def test_a_call_is_found_with_the_least_effort() -> None:
    found = searched(3, rule("a", "allow", paths={"roles": ["read-path"], "within": ["~/a"]})).call
    assert found is not None
    assert found.arguments["things_0"] == ["x"]


@pytest.mark.parametrize("effort", [0, 1])
def test_a_search_that_is_cut_short_proves_nothing(effort: int) -> None:
    result = searched(effort)
    assert (result.proof, result.gaps) == (Proof.NOT_FOUND, frozenset({CUT_SHORT}))
