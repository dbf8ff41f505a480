"""An approval is good for one call under one policy: whatever differs is another binding."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.called import one_tool
from support.records.approvals import RULES, WRITE, Judged, judge

from ironcurtain.decision.policy_input import PolicyInput
from ironcurtain.enforcement.approvals.request import binding_of
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import replace

POLICY = one_tool(WRITE, RULES, files={"/srv/a": {}, "/srv/twice": {"links": 2}})


def written(path: str = "/srv/a", content: object = "hello") -> Judged:
    return judge(POLICY, RULES, "write_file", {"path": path, "content": content})


def binding(judged: Judged, session: str = "one") -> str:
    return binding_of(judged.decision, judged.prepared, judged.tool, session=session)


def decided(judged: Judged, **changes: object) -> Judged:
    return replace(judged, decision=judged.decision.model_copy(update=changes))


def asked_by(judged: Judged, caller: dict[str, JsonValue]) -> Judged:
    question: PolicyInput = {**judged.prepared.input, "caller": caller}
    return replace(judged, prepared=replace(judged.prepared, input=question))


def resubjected(judged: Judged, **changes: object) -> Judged:
    (subject,) = judged.decision.subjects
    return decided(judged, subjects=(subject.model_copy(update=changes),))


def doubled(judged: Judged) -> Judged:
    call = replace(judged.prepared.call, resources=judged.prepared.call.resources * 2)
    prepared = replace(judged.prepared, call=call)
    return decided(replace(judged, prepared=prepared), subjects=judged.decision.subjects * 2)


CHANGES: dict[str, Callable[[Judged], Judged]] = {
    "server": lambda j: decided(j, server="other"),
    "tool": lambda j: decided(j, tool="other"),
    "schema": lambda j: replace(j, tool=j.tool.model_copy(update={"schema_digest": f"sha256:{'0' * 64}"})),
    "an argument": lambda _: written(content="hello "),
    "an argument's type": lambda _: written(content=["hello"]),
    "the resource": lambda _: written(path="/srv/b"),
    "a subject more": doubled,
    "no subject": lambda j: decided(j, subjects=()),
    "a subject's value": lambda j: resubjected(j, value="/srv/b"),
    "a subject's place": lambda j: resubjected(j, also_at=("/content",)),
    "a subject's verdict": lambda j: resubjected(j, verdict=Verdict.ALLOW),
    "a subject's rule": lambda j: resubjected(j, rule="other"),
    "the deciding rule": lambda j: decided(j, rule="other"),
    "the caller": lambda j: asked_by(j, {"user": "mallory"}),
    "the revision": lambda j: decided(j, revision="other"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_differs_is_another_call(change: str) -> None:
    assert binding(CHANGES[change](written())) != binding(written())


def test_another_session_is_another_call() -> None:
    assert binding(written(), "two") != binding(written())


def test_the_same_call_again_is_the_same() -> None:
    assert binding(written()) == binding(written())
    assert binding(written(path="/srv/./x/../a")) == binding(written())


def test_an_approval_for_this_session_means_what_was_shown() -> None:
    """A file that has got a second name since can be widened less far: that is another question."""
    once = one_tool(WRITE, RULES, files={"/srv/a": {"links": 2}})
    later = judge(once, RULES, "write_file", {"path": "/srv/a", "content": "hello"})
    same = replace(
        later, decision=later.decision.model_copy(update={"revision": written().decision.revision})
    )
    assert same.decision == written().decision
    assert binding(same) != binding(written())
