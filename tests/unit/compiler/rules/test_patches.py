"""Named-rule patches (A152): what they do, what they refuse, and that nothing else changes."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from ironcurtain.compiler.rules.patches import Patch, apply_patches
from ironcurtain.errors import RuleError
from ironcurtain.model.conditions import If
from ironcurtain.model.policy import Rule
from ironcurtain.model.verdict import Verdict


def rule(name: str, reason: str = "old") -> Rule:
    members: dict[str, Any] = {
        "name": name,
        "clause": "C1",
        "if": If(server=("s",)),
        "then": Verdict.DENY,
        "reason": reason,
    }
    return Rule(**members)


RULES = (rule("a"), rule("b"), rule("c"))


def patch(op: Any, name: str, after: str | None = None) -> Patch:
    return Patch(op=op, name=name, after=after, rule=None if op == "delete" else rule(name, "new"))


@pytest.mark.parametrize(
    ("patches", "expected"),
    [
        ([], "a b c"),
        ([patch("update", "b")], "a b* c"),
        ([patch("delete", "b")], "a c"),
        ([patch("prepend", "x")], "x* a b c"),
        ([patch("add", "x", "a")], "a x* b c"),
        ([patch("add", "x", "c")], "a b c x*"),
        ([patch("add", "x", "a"), patch("add", "y", "x")], "a x* y* b c"),
        ([patch("add", "x", "a"), patch("add", "y", "a")], "a y* x* b c"),
        ([patch("delete", "b"), patch("add", "b", "c")], "a c b*"),
        ([patch("prepend", "x"), patch("delete", "x")], "a b c"),
        ([patch("delete", "a"), patch("delete", "b"), patch("delete", "c")], ""),
    ],
)
def test_patches_are_applied_in_their_order(patches: list[Patch], expected: str) -> None:
    before = [each.model_dump() for each in RULES]
    changed = apply_patches(RULES, patches)
    assert " ".join(each.name + ("*" if each.reason == "new" else "") for each in changed) == expected
    assert [each.model_dump() for each in RULES] == before


@pytest.mark.parametrize(
    ("patches", "said"),
    [
        ([patch("update", "x")], '"x", which does not exist'),
        ([patch("delete", "x")], '"x", which does not exist'),
        ([patch("add", "x", "y")], '"y", which does not exist'),
        ([patch("add", "b", "a")], "a name that another rule has"),
        ([patch("prepend", "b")], "a name that another rule has"),
        ([patch("prepend", "x"), patch("prepend", "x")], "a name that another rule has"),
        ([patch("delete", "a"), patch("add", "x", "a")], '"a", which was deleted by an earlier patch'),
        ([patch("delete", "a"), patch("update", "a")], '"a", which was deleted by an earlier patch'),
        ([Patch(op="update", name="a", rule=rule("z"))], 'gives the rule the name "z"'),
        ([Patch(op="prepend", name="y", rule=rule("z"))], 'gives the rule the name "z"'),
    ],
)
def test_a_patch_that_fits_nothing_is_refused(patches: list[Patch], said: str) -> None:
    with pytest.raises(RuleError) as caught:
        apply_patches(RULES, patches)
    assert said in caught.value.what


@pytest.mark.parametrize(
    "fields",
    [
        {"op": "delete", "name": "a", "rule": rule("a")},
        {"op": "update", "name": "a"},
        {"op": "add", "name": "x", "rule": rule("x")},
        {"op": "update", "name": "a", "after": "b", "rule": rule("a")},
        {"op": "rename", "name": "a", "rule": rule("b")},
    ],
)
def test_a_patch_has_exactly_its_parts(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Patch(**fields)
