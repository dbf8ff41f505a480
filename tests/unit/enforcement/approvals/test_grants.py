"""Approval for this session covers the shape of specification 4.3 and nothing else."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.called import HOME, described, load
from support.called import bundle as bundled
from support.projects.policies import rule, tool
from support.records.approvals import Hands, Judged, judge

from ironcurtain.decision.loaded_policy import LoadedPolicy
from ironcurtain.enforcement.approvals.grants import Grant, Unwidened
from ironcurtain.enforcement.approvals.session_grants import SessionGrants
from ironcurtain.model.verdict import Verdict

TOOLS = [
    tool("copy", source=["read-path"], dest=["write-path"], mode=["none"], message=["commit-message"]),
    tool("fetch", url=["fetch-url"], method=["none"]),
    tool("send", to={"roles": ["recipient"], "codec": "addresses"}, text=["none"]),
    tool("remove", path=["delete-path"]),
    tool("reset", repo=["write-history"]),
    tool("run", command=["none"]),
    tool("many", paths=["write-path"], options=["none"]),
]
RULES = [
    rule("allow-data", "allow", paths={"roles": ["read-path"], "within": ["/data"]}),
    rule("ask-secret", "escalate", paths={"roles": ["read-path"], "within": ["/secret"]}),
    rule("ask-etc", "escalate", paths={"roles": ["write-path"], "within": ["/srv/etc"]}),
    rule("ask-write", "escalate", paths={"roles": ["write-path", "delete-path"], "within": ["/"]}),
    rule("allow-site", "allow", domains={"roles": ["fetch-url"], "allowed": ["open.example"]}),
    rule(
        "ask-site", "escalate", domains={"roles": ["fetch-url"], "allowed": ["*.example.com", "one.example"]}
    ),
    rule("ask-any", "escalate", domains={"roles": ["fetch-url"], "allowed": ["*"]}),
    rule("ask-mail", "escalate", roles=["recipient"]),
    rule("ask-history", "escalate", roles=["write-history"]),
    rule("ask-run", "escalate", tool=["run"]),
]
FILES = {
    "/srv/a": {},
    "/srv/b": {},
    "/srv/twice": {"links": 2},
    "/srv/sub/c": {},
    "/srv/etc/d": {},
    "/secret/key": {},
    "/data/x": {},
    f"{HOME}/note": {},
}


def world(**options: Any) -> LoadedPolicy:
    return load(bundled({"s": TOOLS}, RULES), described(sandbox=None, files=FILES, **options))


POLICY = world()


def call(name: str, policy: LoadedPolicy = POLICY, **arguments: Any) -> Judged:
    return judge(policy, RULES, name, arguments)


def grant(judged: Judged) -> Grant | Unwidened:
    return Grant.of(judged.decision, judged.prepared, judged.tool)


def covers(first: Judged, second: Judged) -> bool:
    given = grant(first)
    assert isinstance(given, Grant)
    return given.covers(second.decision, second.prepared, second.tool)


COPY: dict[str, Any] = {"source": "/data/x", "dest": "/srv/a", "mode": "fast", "message": "one"}
FETCH: dict[str, Any] = {"url": "https://a.example.com/x", "method": "GET"}
SEND = {"to": "a@x.org, b@x.org", "text": "hi"}


@pytest.mark.parametrize(
    ("name", "first", "changed", "is_covered"),
    [
        ("copy", COPY, {}, True),
        ("copy", COPY, {"dest": "/srv/b"}, True),
        ("copy", COPY, {"dest": "/srv/new"}, True),
        ("copy", COPY, {"message": "two"}, True),
        ("copy", COPY, {"dest": "/srv/./b"}, True),
        ("copy", COPY, {"dest": "/srv/sub/c"}, False),
        ("copy", COPY, {"dest": "/srv/sub"}, False),
        ("copy", COPY, {"dest": "/srv"}, False),
        ("copy", COPY, {"dest": "/srv2/a"}, False),
        ("copy", COPY, {"dest": "/srv/twice"}, False),
        ("copy", COPY, {"dest": "/srv/etc/d"}, False),
        ("copy", COPY, {"mode": "slow"}, False),
        ("copy", COPY, {"mode": None}, False),
        ("copy", COPY, {"source": "/data/y"}, False),
        # B18: a destination that was approved never lets another source through.
        ("copy", COPY, {"source": "/secret/key"}, False),
        ("copy", COPY | {"source": "/secret/key"}, {"source": "/data/x"}, False),
        ("copy", COPY | {"source": "/secret/key"}, {"source": "/secret/other"}, True),
        ("copy", COPY | {"dest": f"{HOME}/note"}, {}, True),
        ("copy", COPY | {"dest": f"{HOME}/note"}, {"dest": f"{HOME}/.bashrc"}, False),
        ("copy", COPY | {"dest": "/vmlinuz"}, {"dest": "/initrd"}, False),
        ("copy", COPY | {"dest": "/srv/sub"}, {"dest": "/srv/etc"}, False),
        ("copy", COPY | {"dest": "/srv/sub"}, {"dest": "/srv/a"}, False),
        ("copy", COPY | {"dest": "/srv/twice"}, {"dest": "/srv/a"}, False),
        ("remove", {"path": "/srv/a"}, {"path": "/srv/b"}, True),
        ("remove", {"path": "/srv/a"}, {"path": "/srv/sub"}, False),
        ("fetch", FETCH, {"url": "https://b.example.com/y?z"}, True),
        ("fetch", FETCH, {"url": "https://example.com/"}, True),
        ("fetch", FETCH, {"url": "https://one.example/"}, False),
        ("fetch", FETCH, {"url": "https://open.example/"}, False),
        ("fetch", FETCH, {"url": "https://evil.example/"}, False),
        ("fetch", FETCH, {"url": "https://a.example.com.evil.example/"}, False),
        ("fetch", FETCH, {"method": "POST"}, False),
        ("fetch", FETCH | {"url": "https://evil.example/"}, {}, True),
        ("fetch", FETCH | {"url": "https://evil.example/"}, {"url": "https://evil.example/2"}, False),
        ("send", SEND, {}, True),
        ("send", SEND, {"to": "a@x.org"}, False),
        ("send", SEND, {"to": "a@x.org, c@x.org"}, False),
        ("send", SEND, {"text": "ho"}, False),
        ("many", {"paths": ["/srv/a", "/srv/b"]}, {"paths": ["/srv/b", "/srv/c"]}, True),
        ("many", {"paths": ["/srv/a", "/srv/b"]}, {"paths": ["/srv/b", "/etc/c"]}, False),
        ("many", {"paths": ["/srv/a"]}, {"paths": ["/srv/a", "/srv/b"]}, False),
        ("many", {"paths": ["/srv/a"], "options": {"0": 1}}, {"options": {"0": True}}, False),
        ("many", {"paths": ["/srv/a"], "options": {"0": 1}}, {"options": [1]}, False),
    ],
)  # fmt: skip
def test_what_a_grant_covers(
    name: str, first: dict[str, Any], changed: dict[str, Any], is_covered: bool
) -> None:
    later = {key: value for key, value in (first | changed).items() if value is not None}
    assert covers(call(name, **first), call(name, **later)) is is_covered


@pytest.mark.parametrize(
    ("name", "arguments", "why"),
    [
        ("run", {"command": "ls"}, "names no resource"),
        ("reset", {"repo": "/srv/sub"}, "history"),
        ("copy", COPY | {"source": "/home/x"}, "does not wait"),
        ("fetch", {"url": "https://open.example/"}, "does not wait"),
    ],
    ids=["none", "history", "denied", "allowed"],
)
def test_what_cannot_be_widened(name: str, arguments: dict[str, Any], why: str) -> None:
    found = grant(call(name, **arguments))
    assert isinstance(found, Unwidened)
    assert why in found.reason


def test_an_unresolved_remote_cannot_be_widened() -> None:
    rules = [rule("ask", "escalate", roles=["git-remote-url", "write-path"])]
    push = tool("push", repo={"roles": ["write-path"], "repository": True}, remote=["git-remote-url"])
    policy = load(bundled({"s": [push]}, rules), described(sandbox=None, files={"/srv/r/f": {}}))
    judged = judge(policy, rules, "push", {"repo": "/srv/r", "remote": "origin"})
    assert judged.decision.verdict == "escalate", judged.decision
    found = grant(judged)
    assert isinstance(found, Unwidened)
    assert "git would contact" in found.reason


def test_a_rule_of_the_whole_call_cannot_be_widened() -> None:
    judged = call("copy", **COPY)
    whole = judged.decision.model_copy(update={"rule": "custom-office-hours"})
    found = Grant.of(whole, judged.prepared, judged.tool)
    assert isinstance(found, Unwidened)
    assert "as a whole" in found.reason


@pytest.mark.parametrize("verdict", [Verdict.ALLOW, Verdict.DENY])
def test_a_grant_speaks_of_escalated_calls_only(verdict: Verdict) -> None:
    judged = call("copy", **COPY)
    given, grants = grant(judged), SessionGrants()
    assert isinstance(given, Grant)
    grants.add(given, "0" * 16)
    assert grants.covering(judged.decision, judged.prepared, judged.tool) == "0" * 16
    other = judged.decision.model_copy(update={"verdict": verdict})
    assert not given.covers(other, judged.prepared, judged.tool)
    assert grants.covering(other, judged.prepared, judged.tool) is None
    grants.clear()
    assert grants.covering(judged.decision, judged.prepared, judged.tool) is None


@pytest.mark.parametrize("pass_time", ["pass_time", "jump", "sleep"])
def test_a_grant_ends_at_its_time_by_either_clock(pass_time: str) -> None:
    judged, hands = call("copy", **COPY), Hands()
    given, grants = grant(judged), SessionGrants(hands.clock)
    assert isinstance(given, Grant)
    grants.add(given, "0" * 16, hands.wall + timedelta(hours=1))

    def after(seconds: float) -> str | None:
        if pass_time == "sleep":
            hands.monotonic += seconds  # whoever sets the wall clock back gains nothing
        else:
            getattr(hands, pass_time)(seconds)
        return grants.covering(judged.decision, judged.prepared, judged.tool)

    assert after(3599) == "0" * 16
    assert after(1) is None


def test_of_two_equal_grants_the_longer_one_counts() -> None:
    judged, hands = call("copy", **COPY), Hands()
    given, grants = grant(judged), SessionGrants(hands.clock)
    assert isinstance(given, Grant)
    for request, hours in (("a", 1), ("b", 2), ("c", 1)):
        grants.add(given, request * 16, hands.wall + timedelta(hours=hours))
    hands.pass_time(5000)
    assert grants.covering(judged.decision, judged.prepared, judged.tool) == "b" * 16
    grants.add(given, "d" * 16)
    grants.add(given, "e" * 16, hands.wall + timedelta(hours=8))
    hands.pass_time(40_000)
    assert grants.covering(judged.decision, judged.prepared, judged.tool) == "d" * 16


def test_what_the_policy_has_approved_one_by_one_cannot_be_widened() -> None:
    judged = call("copy", **COPY)
    given = grant(judged)
    assert isinstance(given, Grant)
    alone = judged.decision.model_copy(update={"once_only": True})
    found = Grant.of(alone, judged.prepared, judged.tool)
    assert isinstance(found, Unwidened)
    assert found.reason == "the policy has each such call approved by itself"
    assert not given.covers(alone, judged.prepared, judged.tool)


def test_another_revision_tool_or_caller_is_another_shape() -> None:
    judged = call("copy", **COPY)
    given = grant(judged)
    assert isinstance(given, Grant)
    revised = judged.decision.model_copy(update={"revision": "other"})
    assert not given.covers(revised, judged.prepared, judged.tool)
    drifted = judged.tool.model_copy(update={"schema_digest": f"sha256:{'0' * 64}"})
    assert not given.covers(judged.decision, judged.prepared, drifted)
    judged.prepared.input["caller"] = {"user": "mallory"}
    assert not given.covers(judged.decision, judged.prepared, judged.tool)


def test_the_person_reads_what_it_covers() -> None:
    found = [grant(call("copy", **COPY | {"source": "/secret/key"})), grant(call("fetch", **FETCH))]
    assert [each.sentences() for each in found if isinstance(each, Grant)] == [
        (
            "write-path at /dest: any file directly in /srv (nothing below that)",
            "read-path at /source: any file directly in /secret (nothing below that)",
        ),
        ("fetch-url at /url: any address that the policy knows as *.example.com",),
    ]


# -- an oracle of its own, over plain values ----------------------------------------------------

PATHS = [
    "/srv/a",
    "/srv/b",
    "/srv/new",
    "/srv",
    "/srv/sub",
    "/srv/sub/c",
    "/srv/sub/e",
    "/srv/etc/d",
    "/srv/etc/n",
]
PATHS += [
    "/srv/twice",
    "/top",
    "/other",
    f"{HOME}/note",
    f"{HOME}/z",
    f"{HOME}/w/z",
    HOME,
    "/secret/key",
    "/secret/k2",
]
PATHS += ["/data/x", "/data/y"]
HOSTS = ["a.example.com", "b.example.com", "one.example", "evil.example", "open.example"]
URLS = [f"https://{host}/{page}" for host in HOSTS for page in ("", "p")]
DIRECTORIES = {"/srv", "/srv/sub", "/srv/etc", HOME, "/", "/secret", "/data", "/home"}


def patterns_of(url: str) -> frozenset[str]:
    host = url.split("/")[2]
    named = {name for name in ("one.example", "open.example") if host == name}
    wild = {"*.example.com"} if host.endswith(".example.com") else set()
    return frozenset(named | wild)


def may_stand_for(role: str, old: str, new: str) -> bool:
    """Say whether specification 4.3 lets one escalating value stand for another."""
    if old == new:
        return True
    if role in {"read-path", "write-path", "delete-path"}:
        parent = old.rpartition("/")[0] or "/"
        is_file = not {old, new} & DIRECTORIES and "/srv/twice" not in (old, new)
        return is_file and (new.rpartition("/")[0] or "/") == parent and parent not in ("/", HOME)
    if role == "fetch-url":
        return bool(patterns_of(old)) and patterns_of(old) == patterns_of(new)
    return False


def escalating(judged: Judged) -> dict[str, tuple[str, str, str]]:
    return {s.at[1:]: (s.role, s.rule, s.value) for s in judged.decision.subjects if s.verdict == "escalate"}


def expected(first: Judged, second: Judged) -> bool:
    old, new = escalating(first), escalating(second)
    sent, later = first.prepared.call.arguments, second.prepared.call.arguments
    return (
        second.decision.verdict == "escalate"
        and first.decision.tool == second.decision.tool
        and {at: each[:2] for at, each in old.items()} == {at: each[:2] for at, each in new.items()}
        and sent.keys() == later.keys()
        and all(sent[at] == later[at] for at in sent if at not in old and at != "message")
        and all(may_stand_for(old[at][0], old[at][2], new[at][2]) for at in old)
    )


@st.composite
def calls(draw: st.DrawFn) -> Judged:
    kind = draw(st.sampled_from(["copy", "copy", "fetch", "remove"]))
    path = st.sampled_from(PATHS)
    arguments: dict[str, Any]
    if kind == "fetch":
        arguments = {"url": draw(st.sampled_from(URLS)), "method": draw(st.sampled_from(["GET", "PUT"]))}
    elif kind == "remove":
        # What lies in home is protected from being removed with it.
        arguments = {"path": draw(path.filter(lambda value: value != HOME))}
    else:
        arguments = {"source": draw(path), "dest": draw(path)}
        if draw(st.booleans()):
            arguments["mode"] = draw(st.sampled_from(["fast", "/srv/a"]))
        if draw(st.booleans()):
            arguments["message"] = draw(st.sampled_from(["one", "two"]))
    return call(kind, **arguments)


@given(calls(), calls())
def test_a_grant_covers_exactly_what_the_specification_says(first: Judged, second: Judged) -> None:
    given_ = grant(first)
    if first.decision.verdict != "escalate":
        assert isinstance(given_, Unwidened)
        return
    assert isinstance(given_, Grant)
    assert given_.covers(second.decision, second.prepared, second.tool) is expected(first, second)


def test_the_oracle_sees_both_answers() -> None:
    made = [call("copy", source="/data/x", dest=path) for path in PATHS]
    asked = [each for each in made if each.decision.verdict == "escalate"]
    answers = {expected(one, other) for one in asked for other in asked if one is not other}
    assert answers == {True, False}
    for one in asked:
        for other in asked:
            assert covers(one, other) is expected(one, other), (one.decision, other.decision)
