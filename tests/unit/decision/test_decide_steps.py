"""The seven steps from the outside: malformed calls, drift, floors, ties, bounds, totality."""

from __future__ import annotations

from typing import Any

import pytest
from support.called import HOME, SANDBOX, answering, decide_with, one_tool, prepared, refused
from support.projects.policies import rule, tool

from ironcurtain.decision.decide import Call, Prepared, prepare, trace
from ironcurtain.decision.structural_checks import check
from ironcurtain.errors import RefusedRootError
from ironcurtain.model.decision import Decision

READER = tool("t", path=["read-path"], note=["none"])
DIGEST, OTHER = "sha256:" + "0" * 64, "sha256:" + "1" * 64
MALFORMED, UNKNOWN = "structural-malformed-call", "structural-unknown-tool"
UNREPRESENTABLE = "structural-unrepresentable-argument"


NESTED = [rule("nested", "allow", paths={"roles": ["read-path"], "within": ["/a" * n for n in range(1, 61)]})]


class Strange:
    """No JSON, and no fun to print."""

    def __str__(self) -> str:
        return "strange\ud800"

    def __repr__(self) -> str:
        return "Strange()"


NO_JSON: Any = {1: "a"}
STRANGE: Any = Strange()


@pytest.mark.parametrize(
    "call",
    [
        Call("s", "t", '{"path":"a","path":"b"}'),
        Call("s", "t", "{"),
        Call("s", "t", b"\xff"),
        Call("s", "t", "[]"),
        Call("s", "t", ["a"]),
        Call("s", "t", 5),
        Call("s", "t", NO_JSON),
        Call("s", "t", {"path": float("nan")}),
        Call("s", "t", {"path": 1 << 60}),
        Call("s", "t", {"path": "\ud800"}),
        Call("s", "t", {"note": "a" * (1 << 20)}),
        Call("s", "t", {"path": STRANGE}),
        Call("s", "t\ud800", {}),
        Call("s", "t", {}, caller={"sub": float("inf")}),
        Call("s", "t", {}, caller=["sub"]),  # type: ignore[arg-type]
        Call(["s"], "t", {}),  # type: ignore[arg-type]
        Call("s", None, {}),  # type: ignore[arg-type]
        Call("s", Strange(), {}),  # type: ignore[arg-type]
        Call("s", "t", bytearray(b"{}")),
    ],
    ids=repr,
)
def test_a_malformed_call_is_a_decision(call: Call) -> None:
    decision = prepare(call, one_tool(READER))
    assert isinstance(decision, Decision)
    assert (decision.verdict, decision.rule, decision.arguments) == ("deny", MALFORMED, None)
    decision.model_dump_json()


@pytest.mark.parametrize("id_", [5, "\ud800", Strange(), b"x", ["x"]], ids=repr)
def test_a_strange_id_is_no_way_around_a_decision(id_: Any) -> None:
    decision = prepare(Call("s", "nothing", {}, id=id_), one_tool(READER))
    assert isinstance(decision, Decision)
    assert decision.rule == UNKNOWN
    decision.model_dump_json()


@pytest.mark.parametrize(("server", "name"), [("s", "T"), ("S", "t"), ("s", "t "), ("", ""), ("s", "s__t")])
def test_an_unknown_tool(server: str, name: str) -> None:
    decision = prepare(Call(server, name, {}), one_tool(READER))
    assert isinstance(decision, Decision)
    assert decision.rule == UNKNOWN


@pytest.mark.parametrize(
    ("annotated", "live", "rule_name", "checked"),
    [
        (DIGEST, None, None, False),
        (DIGEST, DIGEST, None, True),
        (DIGEST, OTHER, "structural-tool-drift", True),
        (DIGEST, "", "structural-tool-drift", True),
        (None, DIGEST, "structural-tool-drift", True),
    ],
)
def test_drift(annotated: str | None, live: str | None, rule_name: str | None, checked: bool) -> None:
    policy = one_tool(READER | ({"schema_digest": annotated} if annotated else {}))
    found = prepare(Call("s", "t", {"path": "/x"}, live_digest=live), policy)
    decision = found if isinstance(found, Decision) else found.base
    assert (decision.rule if isinstance(found, Decision) else None) == rule_name
    assert decision.drift_checked is checked


def test_every_check_runs_and_the_most_severe_wins() -> None:
    """An unlisted domain and an unresolved remote are floors; the protected path beside them denies."""
    one = tool("t", url=["fetch-url"], path=["read-path"])
    policy = one_tool(one, domains={"s": ["github.com"]})
    url = "https://evil.example/"
    assert prepared(policy, "t", {"url": url, "path": "/x"}).minimum.escalated
    decision = refused(policy, "t", {"url": url, "path": "~/.ironcurtain/x"})
    assert decision.rule == "structural-protected-path"
    assert [s.value for s in decision.subjects] == [f"{HOME}/.ironcurtain/x"]


@pytest.mark.parametrize(
    ("then", "expected"),
    [
        ("allow", ("escalate", "structural-domain-escalate")),
        ("escalate", ("escalate", "r")),
        ("deny", ("deny", "r")),
    ],
)
def test_on_a_tie_the_policy_comes_before_the_floor(then: str, expected: tuple[str, str]) -> None:
    rules = [rule("r", then, roles=["fetch-url"])]
    policy = one_tool(tool("t", contained=False, url=["fetch-url"]), rules, domains={"s": []})
    decision = decide_with(policy, Call("s", "t", {"url": "https://a.example/"}), answering(rules))
    assert (decision.verdict, decision.rule) == expected
    assert decision.subjects[0].verdict == expected[0]


def test_of_two_floors_the_first_subjects_is_named() -> None:
    one = tool(
        "t",
        path={"roles": ["read-path"], "repository": True},
        remote=["git-remote-url"],
    )
    rules = [rule("any", "allow", server=["s"])]
    policy = one_tool(one, rules, domains={"s": []}, sandbox=None)
    arguments = {"remote": ["nowhere", "https://a.example/r"], "path": "/x"}
    decision = decide_with(policy, Call("s", "t", arguments), answering(rules))
    assert decision.rule == "structural-unresolved-remote"


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "/" + "a" * 4096},
        {"path": "/a" * 129},
        {"path": [f"/{n}" for n in range(10_001)]},
        {"path": ["/a"] * 100_001},
        {"path": [f"{'/a' * 60}/{n}" for n in range(7_500)]},
    ],
    ids=["long", "deep", "many", "many-equal", "large"],
)
def test_bounds_are_decisions(arguments: Any) -> None:
    found = prepare(Call("s", "t", arguments), one_tool(READER, NESTED))
    assert isinstance(found, Decision)
    assert found.rule == UNREPRESENTABLE


def test_ten_thousand_paths_are_judged() -> None:
    found = prepared(one_tool(READER), "t", {"path": [f"/{n}" for n in range(10_000)]})
    assert len(found.call.resources) == 10_000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sandbox": "/"}, "is or contains /"),
        ({"sandbox": HOME}, "home directory"),
        ({"sandbox": "/home"}, "home directory"),
        ({"sandbox": f"{HOME}/.ironcurtain"}, "configuration directory"),
        ({"sandbox": "/link", "symlinks": {"/link": HOME}}, "home directory"),
        ({"home": "/"}, "home directory is /"),
        ({"home": "/link", "symlinks": {"/link": "/"}}, "home directory is /"),
    ],
)
def test_a_root_that_can_never_be_safe_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(RefusedRootError, match=message):
        one_tool(READER, **options)


def test_a_sandbox_inside_the_configuration_directory_is_usable() -> None:
    policy = one_tool(READER, sandbox=f"{HOME}/.ironcurtain/sessions/s")
    assert prepared(policy, "t", {"path": "x"}).minimum.discharged


def test_without_a_sandbox_nothing_is_contained_and_relative_paths_mean_nothing() -> None:
    policy = one_tool(READER, sandbox=None)
    assert not prepared(policy, "t", {"path": f"{SANDBOX}/x"}).minimum.discharged
    assert refused(policy, "t", {"path": "x"}).rule == UNREPRESENTABLE


@pytest.mark.parametrize(
    ("contained", "role", "path", "discharged"),
    [
        (True, "read-path", "x", True),
        (True, "write-path", "x", True),
        (True, "delete-path", "x", True),
        (True, "write-history", "x", False),
        (True, "delete-history", "x", False),
        (False, "read-path", "x", False),
        (True, "read-path", "../x", False),
        (True, "read-path", ".", True),
        (True, "read-path", "../sandbox-evil/x", False),
        (True, "read-path", "two-names", True),
        (True, "write-path", "two-names", False),
        (True, "delete-path", "two-names", False),
    ],
)
def test_containment(contained: bool, role: str, path: str, discharged: bool) -> None:
    policy = one_tool(
        tool("t", contained=contained, path=[role]), files={f"{SANDBOX}/two-names": {"links": 2}}
    )
    found = prepared(policy, "t", {"path": path})
    assert bool(found.minimum.discharged) is discharged
    again = check(policy.tool("s", "t").annotation, found.call, policy.boundaries("s"))  # type: ignore[union-attr]
    assert again == found.minimum


@pytest.mark.parametrize(
    ("name", "arguments", "passed"),
    [
        ("t", "{", 0),
        ("no", {"path": "a"}, 1),
        ("t", {"unknown": 1}, 2),
        ("t", {"path": ""}, 3),
        ("t", {"path": "/keys/a"}, 4),
        ("t", {"path": "a"}, 5),
    ],
)
def test_a_trace_holds_what_each_passed_step_found(name: str, arguments: Any, passed: int) -> None:
    found = trace(Call("s", name, arguments), one_tool(READER, protected=("/keys",)))
    steps = (found.arguments, found.tool, found.filled, found.canonical)
    assert found.passed == passed
    assert [step is not None for step in steps] == [number <= passed for number in range(1, 5)]
    assert isinstance(found.outcome, Prepared) == (passed == 5)
