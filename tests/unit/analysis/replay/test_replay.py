"""Calls that were refused before the policy was asked: what can be said of them under another policy."""

from __future__ import annotations

from typing import Any

import pytest
from support.projects.policies import annotations_of, compiled, rule, tool
from support.records.audited import KEY

from ironcurtain.analysis.engine.evaluate import decide_prepared, load_described
from ironcurtain.analysis.replay.pseudonymization import AbstractSanitizer
from ironcurtain.analysis.replay.replay import Replayer
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.decision.decide import Call, prepare
from ironcurtain.decision.roles import Registry
from ironcurtain.enforcement.audit.record_types import DecisionRecord
from ironcurtain.enforcement.audit.recorder import Recorder
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.model.scenarios import DescribedWorld

WORLD = DescribedWorld(sandbox="/home/user/box", protected=("/home/user/secret",))
READ, OTHER = tool("read", path=["read-path"], body=["none"]), tool("other", path=["read-path"])
CHANGED = tool("read", path=["read-path", "write-path"], body=["none"])


def bundle(*tools: dict[str, Any]) -> Bundle:
    return assemble(
        compiled([rule("all", "allow", side_effects=True)]),
        annotations_of({"s": list(tools)}),
        registry=Registry(),
        release=Release(engine_version="test"),
    )


def recorded(call: Call, *, abstract: bool) -> DecisionRecord:
    old = bundle(READ)
    loaded, content = load_described(old, WORLD), PolicyContent.of(old)
    prepared = prepare(call, loaded)
    decision = decide_prepared({"0": prepared}, old, loaded, OpaCommand(find()))["0"]
    recorder = Recorder(
        content,
        loaded,
        key=KEY,
        sanitizer=(lambda key: AbstractSanitizer(content, loaded, key)) if abstract else None,
    )
    return recorder.decision(call, prepared, decision, id_="0", forwarded=False)


NONE = f"sha256:{'0' * 64}"
MANY = [f"/x/{number}" for number in range(10_001)]
ELSEWHERE = "the tool's annotation, the roles, home or sandbox are others now (see --home, --sandbox)"
LIMIT = "the call named more than could be judged"
UNHEARD = "the tool was unknown when the call was recorded"
CASES = {
    "malformed": (Call("s", "read", "{"), (READ,), "deny structural-malformed-call"),
    "malformed, other annotation": (Call("s", "read", "{"), (CHANGED,), "deny structural-malformed-call"),
    "unknown": (Call("s", "other", {}), (READ,), "deny structural-unknown-tool"),
    "unknown, known now": (Call("s", "other", {}), (READ, OTHER), UNHEARD),
    "tool gone": (Call("s", "read", {"path": "/x"}), (OTHER,), "deny structural-unknown-tool"),
    "invalid": (Call("s", "read", {"x": 1}), (READ,), "deny structural-invalid-arguments"),
    "invalid, other annotation": (Call("s", "read", {"x": 1}), (CHANGED,), ELSEWHERE),
    "unrepresentable": (Call("s", "read", {"path": 1}), (READ,), "deny structural-unrepresentable-argument"),
    "too many": (Call("s", "read", {"path": MANY}), (READ,), LIMIT),
    "protected": (Call("s", "read", {"path": "~/secret/x"}), (READ,), "deny structural-protected-path"),
    "drift": (Call("s", "read", {"path": "/x"}, live_digest=NONE), (READ,), "deny structural-tool-drift"),
    "other annotation": (Call("s", "read", {"path": "/x"}), (CHANGED,), ELSEWHERE),
    "plain": (Call("s", "read", {"path": "/x"}), (READ, OTHER), "allow all"),
}  # fmt: skip


@pytest.mark.parametrize("abstract", [False, True], ids=["raw", "abstract"])
@pytest.mark.parametrize("case", CASES)
def test_early_refusals(case: str, abstract: bool) -> None:
    call, tools, expected = CASES[case]
    new = bundle(*tools)
    replayer = Replayer(new, load_described(new, WORLD), OpaCommand(find()), KEY)
    (found,) = replayer.replay([recorded(call, abstract=abstract)])
    assert (found.unknown or f"{found.verdict} {found.rule}") == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("x" * 100_000, "allow all"),
        (["x"] * 100_000, "the call was refused, and is too large to be in the log"),
    ],
    ids=["a long value", "many values"],
)
def test_a_large_call_that_was_refused_is_told_as_far_as_it_is_in_the_log(body: Any, expected: str) -> None:
    record = recorded(Call("s", "read", {"path": "/x", "body": body}), abstract=False)
    assert len(record.model_dump_json()) < 20_000
    new = bundle(READ)
    (found,) = Replayer(new, load_described(new, WORLD), OpaCommand(find()), KEY).replay([record])
    assert (found.unknown or f"{found.verdict} {found.rule}") == expected
