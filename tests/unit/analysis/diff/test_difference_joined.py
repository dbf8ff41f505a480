"""Changes of one place that differ in nothing but their path are one row, as they are in the matrix."""

from __future__ import annotations

from typing import Any

from support.projects.policies import annotations_of, compiled, rule, tool

from ironcurtain.analysis.diff.difference import difference
from ironcurtain.analysis.diff.report import Difference
from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.decision.roles import Registry
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.model.scenarios import DescribedWorld

WORLD = DescribedWorld(home="/home/u", sandbox="/home/u/work")
SCHEMA = {
    "type": "object",
    "properties": {"first": {"type": "boolean"}, "second": {"type": "boolean"}},
    "required": ["first", "second"],
}
SEND = tool("send", first=["none"], second=["none"]) | {"input_schema": SCHEMA}
ALL = rule("all", "allow", tool=["send"])


def when(name: str, then: str, **arguments: bool) -> dict[str, Any]:
    args = [{"name": each, "op": "equals", "value": value} for each, value in arguments.items()]
    return rule(name, then, tool=["send"], args=args)


def bundle(*rules: dict[str, Any]) -> Bundle:
    annotated = annotations_of({"s": [SEND]})
    release = Release(engine_version="test")
    return assemble(compiled([*rules]), annotated, None, registry=Registry(annotated.roles), release=release)


def compared(old: Bundle, new: Bundle) -> Difference:
    return difference(old, new, WORLD, OpaCommand(find()))


def told(found: Difference) -> set[tuple[Any, ...]]:
    return {(change.when, str(change.old), str(change.new), change.new_rules) for change in found.changes}


def test_a_row_names_no_argument_on_which_nothing_depends() -> None:
    no_second, ask = when("no-second", "deny", second=True), when("ask", "escalate", first=True)
    found = compared(bundle(ALL), bundle(no_second, ask, ALL))
    assert found.exactness == "exact"
    assert told(found) == {
        (("second = true",), "allow", "deny", ("no-second (C1)",)),
        (("first = true", "second = false"), "allow", "escalate", ("ask (C1)",)),
    }
    assert all(change.witness is not None for change in found.changes)


def test_rows_of_other_rules_stay_apart() -> None:
    both, one = when("both", "deny", first=True, second=True), when("one", "deny", first=False, second=True)
    found = compared(bundle(ALL), bundle(both, one, when("ask", "escalate", first=True), ALL))
    assert told(found) == {
        (("first = true", "second = true"), "allow", "deny", ("both (C1)",)),
        (("first = false", "second = true"), "allow", "deny", ("one (C1)",)),
        (("first = true", "second = false"), "allow", "escalate", ("ask (C1)",)),
    }
