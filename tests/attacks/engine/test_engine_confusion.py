"""Attack: an engine (or whoever answers in its place) that says too much, too little or something else.

Held by: answers that count only if they say the same everywhere, about exactly the call's subjects.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.called import decide_with, one_tool
from support.examples import examples
from support.projects.policies import tool

from ironcurtain.decision.decide import Call

POLICY = one_tool(tool("t", path=["read-path"]))
CALL = Call("s", "t", {"path": ["/a", "/b"]})
GOOD: dict[str, Any] = {
    "verdict": "allow",
    "rule": "r",
    "clause": None,
    "reason": "",
    "subject": "0000",
    "subjects": {id_: {"verdict": "allow", "rule": "r"} for id_ in ("0000", "0001")},
}

scalars = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["allow", "deny", "0000", "r"])
)
anything = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*GOOD, "0000", "0001", "x"]), inner, max_size=6)
    ),
    max_leaves=12,
)


def places(value: Any, above: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = [above] if above else []
    for key, child in value.items() if isinstance(value, dict) else ():
        found += places(child, (*above, key))
    return found


@settings(max_examples=examples(100), deadline=None)
@given(anything)
def test_no_invented_answer_allows(said: Any) -> None:
    assert decide_with(POLICY, CALL, lambda _: said).verdict == "deny"


@settings(max_examples=examples(100), deadline=None)
@given(st.sampled_from(places(GOOD)), anything | st.just("absent"))
def test_an_answer_with_one_part_replaced_is_allowed_only_if_it_says_so_everywhere(
    place: tuple[str, ...], value: Any
) -> None:
    said: Any = {**GOOD, "subjects": {id_: dict(each) for id_, each in GOOD["subjects"].items()}}
    target = said
    for step in place[:-1]:
        target = target[step]
    if value == "absent":
        del target[place[-1]]
    else:
        target[place[-1]] = value
    decision = decide_with(POLICY, CALL, lambda _: said)
    if decision.verdict == "allow":
        assert said["verdict"] == "allow"
        assert all(each["verdict"] == "allow" for each in said["subjects"].values())
        assert said["subjects"].keys() == {"0000", "0001"}
    else:
        assert decision.verdict in {"deny", "escalate"}


@pytest.mark.parametrize("ids", [[], ["0000"], ["0000", "0001", "0002"], ["call"], ["0001", "0002"]])
def test_an_answer_about_another_call(ids: list[str]) -> None:
    said = GOOD | {"subjects": {id_: {"verdict": "allow", "rule": "r"} for id_ in ids}, "subject": None}
    assert decide_with(POLICY, CALL, lambda _: said).rule == "engine-malformed"
