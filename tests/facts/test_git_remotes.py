"""Acceptance facts about remotes, with real repositories."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from support.projects import acceptance
from support.projects.policies import rule, write_bundle, write_servers

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


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> acceptance.Places:
    return acceptance.Places.make(tmp_path_factory.mktemp("remotes"))


@pytest.fixture(scope="module")
def policies(places: acceptance.Places) -> Iterator[Policies]:
    with ExitStack() as stack:
        yield Policies(places, stack)


@dataclass
class Policies:
    """Policies over the same places, each with an engine of its own for as long as the tests run."""

    places: acceptance.Places
    stack: ExitStack
    loaded: dict[str, Policy] = field(default_factory=dict)

    def load(self, rules: list[dict[str, Any]], gate: list[str] | None = None) -> Policy:
        """Return the policy of some rules and perhaps of a domain gate."""
        key = json.dumps([rules, gate])
        if key not in self.loaded:
            servers = None
            if gate is not None:
                settings = {"command": "true", "sandbox": {"network": {"allowedDomains": gate}}}
                servers = write_servers(self.places.base / "permitted-b", {"git": settings})
            bundle = write_bundle(self.places.base / "state", acceptance.SERVERS, rules)
            policy = Policy.load(bundle, sandbox=self.places.sandbox, home=self.places.home, servers=servers)
            self.loaded[key] = self.stack.enter_context(policy)
        return self.loaded[key]


def git(repository: Path, *arguments: str) -> None:
    environment = {"HOME": str(repository), "PATH": "/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *arguments], cwd=repository, env=environment, check=True, capture_output=True)


def repository(places: acceptance.Places, settings: list[str]) -> Path:
    """Make a repository in the sandbox; each setting is `key=value`, added in order."""
    path = emptied(places)
    git(path, "init", "-q", "-b", "main")
    for setting in settings:
        git(path, "config", "--add", *setting.split("=", 1))
    return path


def emptied(places: acceptance.Places) -> Path:
    """Make the directory of the repository, with nothing in it."""
    path = places.sandbox / "repo"
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    return path


def push(policy: Policy, given: dict[str, Any]) -> tuple[str, str]:
    decision = policy.decide("git", "git_push", {"path": "repo", **given})
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
    policies: Policies,
) -> None:
    repository(policies.places, settings)
    assert push(policies.load(rules), given) == expected


def test_a99_a_deleted_tracking_remote(policies: Policies) -> None:
    repository(policies.places, GONE)
    assert push(policies.load(ONLY_GITHUB), {})[0] in {"allow", "escalate"}


@pytest.mark.parametrize("exists", [True, False], ids=["not-a-repository", "does-not-exist"])
def test_a99_no_repository(exists: bool, policies: Policies) -> None:
    path = emptied(policies.places)
    if not exists:
        path.rmdir()
    assert push(policies.load(ANY_PUSH), {}) == ("escalate", UNRESOLVED)


@pytest.mark.parametrize("given", [{}, {"remote": "origin"}, {"remote": EVIL}], ids=["absent", "name", "url"])
def test_b11_an_absent_remote_gets_the_answer_of_the_explicit_one(
    given: dict[str, str], policies: Policies
) -> None:
    repository(policies.places, [f"remote.origin.url={EVIL}"])
    assert push(policies.load(ANY_PUSH, ["github.com"]), given) == ("escalate", GATE)


def test_a95_a_tool_without_a_repository_is_not_enriched(policies: Policies) -> None:
    policy = policies.load([rule("clone", "allow", tool=["git_clone"])])
    decision = policy.decide("git", "git_clone", {"path": f"{policies.places.sandbox}/x"})
    assert [subject.role for subject in decision.subjects] == ["write-path"]
