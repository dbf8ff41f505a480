"""Acceptance facts about remotes, with real repositories."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from support import f0
from support.policies import rule, write_bundle, write_servers

from ironcurtain import Policy

HUB, EVIL = "https://github.com/u/r.git", "https://evil.example/u/r.git"
ONLY_GITHUB = [
    rule("read-repository", "allow", roles=["read-path"]),
    rule("github", "allow", domains={"roles": ["git-remote-url"], "allowed": ["github.com"]}),
]
ANY_PUSH = [rule("any", "allow", tool=["git_push"])]
ASK_PUSH = [rule("ask", "escalate", tool=["git_push"])]
UNRESOLVED = "structural-unresolved-remote"
GATE = "structural-domain-escalate"


@pytest.fixture
def places(tmp_path: Path) -> f0.Places:
    return f0.Places.make(tmp_path)


def git(repository: Path, *arguments: str) -> None:
    environment = {"HOME": str(repository), "PATH": "/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *arguments], cwd=repository, env=environment, check=True, capture_output=True)


def repository(places: f0.Places, settings: list[str]) -> Path:
    """Make a repository in the sandbox; each setting is `key=value`, added in order."""
    path = places.sandbox / "repo"
    path.mkdir()
    git(path, "init", "-q", "-b", "main")
    for setting in settings:
        git(path, "config", "--add", *setting.split("=", 1))
    return path


def push(
    places: f0.Places, rules: list[dict[str, Any]], given: dict[str, Any], gate: list[str] | None = None
) -> tuple[str, str]:
    bundle = write_bundle(places.base / "state", f0.SERVERS, rules)
    servers = None
    if gate is not None:
        settings = {"command": "true", "sandbox": {"network": {"allowedDomains": gate}}}
        servers = write_servers(places.base / "permitted-b", {"git": settings})
    with Policy.load(bundle, sandbox=places.sandbox, home=places.home, servers=servers) as policy:
        decision = policy.decide("git", "git_push", {"path": f"{places.sandbox}/repo", **given})
    return decision.verdict, decision.rule


ORIGIN = [f"remote.origin.url={HUB}"]
TRACKING = [f"remote.origin.url={EVIL}", f"remote.upstream.url={HUB}", "branch.main.remote=upstream"]
GONE = [f"remote.origin.url={HUB}", "branch.main.remote=gone"]

FACTS: list[tuple[str, list[str], list[dict[str, Any]], dict[str, Any], tuple[str, str]]] = [
    ("A91-allow", ORIGIN, ANY_PUSH, {"remote": HUB}, ("allow", "any")),
    ("A91-ask", ORIGIN, ASK_PUSH, {"remote": HUB}, ("escalate", "ask")),
    ("A96", ORIGIN, ONLY_GITHUB, {}, ("allow", "github")),
    ("A97", [f"remote.origin.url={EVIL}"], ASK_PUSH, {}, ("escalate", "ask")),
    ("A98", TRACKING, ONLY_GITHUB, {}, ("allow", "github")),
    ("A99-no-remote", [], ANY_PUSH, {}, ("escalate", UNRESOLVED)),
    (
        "B8",
        [*ORIGIN, f"remote.origin.pushurl={EVIL}"],
        ONLY_GITHUB,
        {"remote": "origin"},
        ("deny", "default-deny"),
    ),
    (
        "B9-push-instead-of",
        [*ORIGIN, "url.https://evil.example/.pushInsteadOf=https://github.com/"],
        ONLY_GITHUB,
        {"remote": HUB},
        ("deny", "default-deny"),
    ),
    (
        "B9-instead-of",
        [*ORIGIN, "url.https://evil.example/.insteadOf=https://github.com/"],
        ONLY_GITHUB,
        {"remote": HUB},
        ("deny", "default-deny"),
    ),
    (
        "B10",
        [*ORIGIN, f"remote.bad.url={EVIL}", "remote.pushDefault=bad"],
        ONLY_GITHUB,
        {},
        ("deny", "default-deny"),
    ),
    ("name-unknown", ORIGIN, ANY_PUSH, {"remote": "nowhere"}, ("escalate", UNRESOLVED)),
]


@pytest.mark.parametrize(
    ("settings", "rules", "given", "expected"), [f[1:] for f in FACTS], ids=[f[0] for f in FACTS]
)
def test_fact(
    settings: list[str],
    rules: list[dict[str, Any]],
    given: dict[str, Any],
    expected: tuple[str, str],
    places: f0.Places,
) -> None:
    repository(places, settings)
    assert push(places, rules, given) == expected


def test_a99_a_deleted_tracking_remote(places: f0.Places) -> None:
    repository(places, GONE)
    assert push(places, ONLY_GITHUB, {})[0] in {"allow", "escalate"}


@pytest.mark.parametrize("exists", [True, False], ids=["not-a-repository", "does-not-exist"])
def test_a99_no_repository(exists: bool, places: f0.Places) -> None:
    if exists:
        (places.sandbox / "repo").mkdir()
    assert push(places, ANY_PUSH, {}) == ("escalate", UNRESOLVED)


@pytest.mark.parametrize("given", [{}, {"remote": "origin"}, {"remote": EVIL}], ids=["absent", "name", "url"])
def test_b11_an_absent_remote_gets_the_answer_of_the_explicit_one(
    given: dict[str, str], places: f0.Places
) -> None:
    repository(places, [f"remote.origin.url={EVIL}"])
    assert push(places, ANY_PUSH, given, ["github.com"]) == ("escalate", GATE)


def test_a95_a_tool_without_a_repository_is_not_enriched(places: f0.Places) -> None:
    bundle = write_bundle(places.base / "state", f0.SERVERS, [rule("clone", "allow", tool=["git_clone"])])
    with Policy.load(bundle, sandbox=places.sandbox, home=places.home) as policy:
        decision = policy.decide("git", "git_clone", {"path": f"{places.sandbox}/x"})
    assert [subject.role for subject in decision.subjects] == ["write-path"]
