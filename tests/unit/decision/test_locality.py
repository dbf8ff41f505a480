"""What is decided without a thread must not look at the disk, nor take long.

A world that watches is the oracle of the first, a count of the functions that were called that of the second.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.projects.policies import annotations_of, compiled, rule, tool

from ironcurtain.bundle.content import PolicyContent
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.decision.canonical.this_host import ThisHost
from ironcurtain.decision.decide import Call, prepare
from ironcurtain.decision.loaded_policy import Deployment, LoadedPolicy
from ironcurtain.decision.locality import is_quick
from ironcurtain.decision.roles import Registry


class Watched:
    """The disk, and how often it was looked at."""

    def __init__(self) -> None:
        self._disk = ThisHost(home="/tmp", git_environ={})
        self.looks = 0

    def for_one_call(self) -> Watched:
        return self

    def __getattr__(self, name: str) -> Any:
        self.looks += 1
        return getattr(self._disk, name)


def defaulting(name: str, default: str) -> dict[str, Any]:
    """Annotate a tool whose one argument has a default."""
    schema = {"type": "object", "properties": {"text": {"type": "string", "default": default}}}
    return {**tool(name, text=["none"]), "input_schema": schema}


TOOLS = [
    tool("say", text=["none"], data=["none"]),
    tool("fetch", url=["fetch-url"]),
    tool("send", to=["recipient"], body=["none"]),
    tool("read", path=["read-path"]),
    tool("log", repo={"roles": ["read-path"], "repository": True}),
    tool("push", remote=["git-remote-url"]),
    defaulting("plain", "hello"),
    defaulting("placed", "~/notes"),
]
BUNDLE = assemble(
    compiled([rule("r", "allow", tool=[each["tool"] for each in TOOLS])]),
    annotations_of({"s": TOOLS}),
    registry=Registry(),
    release=Release(engine_version="test"),
)


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> tuple[LoadedPolicy, Watched]:
    home = tmp_path_factory.mktemp("home")
    (home / "box").mkdir()
    world = Watched()
    site = Deployment(home=str(home), sandbox=str(home / "box"), protected=(str(home / "secret"),))
    policy = LoadedPolicy(PolicyContent.of(BUNDLE), site, world)
    for each in TOOLS:
        policy.tool("s", each["tool"])
    return policy, world


def looks(watched: tuple[LoadedPolicy, Watched], call: Call) -> int:
    """Return how often deciding a call looks at the disk."""
    policy, world = watched
    before = world.looks
    prepare(call, policy)
    return world.looks - before


@pytest.mark.parametrize(
    ("name", "arguments", "quick"),
    [
        ("say", {"text": "a/b ~c", "data": {"x": [1, "two", None, True]}}, True),
        ("fetch", {"url": "https://example.com/a"}, True),
        ("send", {"to": "a@example.com", "body": "hello"}, True),
        ("plain", {}, True),
        ("unknown", {"text": "a"}, True),
        ("say", {"text": "/etc/passwd"}, False),
        ("say", {"data": {"deep": ["./x"]}}, False),
        ("say", {"text": "~"}, False),
        ("send", {"to": "a@example.com", "body": ".env"}, False),
        ("placed", {}, False),
        ("read", {"path": "notes"}, False),
        ("log", {}, False),
        ("push", {"remote": "origin"}, False),
        ("say", {"text": "a" * 20_000}, False),
        ("say", {"data": ["a"] * 500}, False),
        ("say", b'{"text": "/etc/passwd"}', False),
        ("say", '{"text": "/etc/passwd"}', False),
    ],
)
def test_only_small_calls_that_name_no_place_are_quick(
    name: str, arguments: Any, quick: bool, watched: tuple[LoadedPolicy, Watched]
) -> None:
    call = Call("s", name, arguments)
    assert is_quick(call, watched[0]) is quick
    assert not (quick and looks(watched, call))


TEXTS = st.text(alphabet="/.~ab:@-", max_size=8)
VALUES = st.recursive(
    TEXTS | st.integers() | st.none(),
    lambda below: st.lists(below) | st.dictionaries(TEXTS, below),
    max_leaves=6,
)


@given(name=st.sampled_from([each["tool"] for each in TOOLS]), value=VALUES, key=st.sampled_from("tdu"))
def test_what_is_quick_never_looks_at_the_disk(
    name: str, value: Any, key: str, watched: tuple[LoadedPolicy, Watched]
) -> None:
    names = {"t": ["text", "to", "path", "remote", "repo"], "d": ["data", "body"], "u": ["url"]}
    known = watched[0].tool("s", name)
    assert known is not None
    given_ = {each: value for each in names[key] if each in known.annotation.argument_names}
    call = Call("s", name, given_)
    assert not (is_quick(call, watched[0]) and looks(watched, call))


def test_the_watch_sees_a_look(watched: tuple[LoadedPolicy, Watched], tmp_path: Path) -> None:
    assert looks(watched, Call("s", "read", {"path": str(tmp_path)}))


def test_the_first_call_of_a_tool_is_not_quick(tmp_path: Path) -> None:
    policy = LoadedPolicy(PolicyContent.of(BUNDLE), Deployment(home=str(tmp_path)), Watched())
    call = Call("s", "say", {"text": "hello"})
    assert not is_quick(call, policy)
    prepare(call, policy)
    assert is_quick(call, policy)


Schema = dict[str, Any]
ARGUMENT = "x" * 10


def referring(n: int) -> Schema:
    """Make a schema with definitions of which each refers twice to the next one."""
    below = {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(n)}
    return {"$defs": {**below, f"d{n}": {}}, "properties": {"a": {"$ref": "#/$defs/d0"}}}


def unevaluated(n: int) -> Schema:
    """Make a schema that asks on each level anew which members the levels below have looked at."""
    schema: Schema = {"properties": {"a": {}}}
    for _ in range(n):
        schema = {"properties": {"a": {}}, "allOf": [schema], "unevaluatedProperties": True}
    return schema


def alternatives(n: int) -> Schema:
    return {"properties": {"a": {"anyOf": [*[{"minLength": 99}] * n, {}]}}}


def values(n: int) -> Schema:
    return {"properties": {"a": {"enum": [*range(n), ARGUMENT]}}}


def long_pattern(n: int) -> Schema:
    return {"properties": {"a": {"pattern": f"^(xy?){{1,{n}}}"}}}


def many_patterns(n: int) -> Schema:
    return {"properties": {"a": {}}, "patternProperties": {f"{i}$": {} for i in range(n)}}


def ready(schema: Schema) -> LoadedPolicy:
    """Load a policy with one tool, ready to be called."""
    annotated = {**tool("t", a=["none"]), "input_schema": {"type": "object", **schema}}
    bundle = assemble(
        compiled([rule("r", "allow", tool=["t"])]),
        annotations_of({"s": [annotated]}),
        registry=Registry(),
        release=Release(engine_version="test"),
    )
    policy = LoadedPolicy(PolicyContent.of(bundle), Deployment(home="/home/nobody"), Watched())
    assert policy.tool("s", "t") is not None
    return policy


def work(policy: LoadedPolicy, call: Call) -> int:
    """Return how many functions preparing a call calls."""
    counted = 0

    def count(*_: object) -> None:
        nonlocal counted
        counted += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        prepare(call, policy)
    finally:
        sys.setprofile(before)
    return counted


@pytest.mark.parametrize("make", [referring, unevaluated])
def test_a_schema_whose_work_grows_faster_than_its_size_is_never_quick(make: Callable[[int], Schema]) -> None:
    assert not is_quick(Call("s", "t", {"a": "x"}), ready(make(1)))


@pytest.mark.parametrize("make", [alternatives, values, long_pattern, many_patterns])
def test_what_is_quick_makes_little_work(make: Callable[[int], Schema]) -> None:
    policy = ready(make(60))
    calls = [Call("s", "t", {"a": [ARGUMENT] * n}) for n in (1, 5, 10, 20, 40, 90)]
    quick = [call for call in calls if is_quick(call, policy)]
    assert 1 <= len(quick) < len(calls)
    assert max(work(policy, call) for call in quick) < 50_000
