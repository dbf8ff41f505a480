"""Git remotes of a call as subjects, in a described world."""

from __future__ import annotations

from typing import Any

import pytest
from support.called import HOME, SANDBOX, one_tool, prepared, refused, subjects
from support.projects.policies import tool

READ, WRITE, REMOTE = "read-path", "write-path", "git-remote-url"
UNREPRESENTABLE = "structural-unrepresentable-argument"
REPO = f"{SANDBOX}/repo"
HUB, EVIL = "https://github.com/u/r", "https://evil.example/u/r"
REPOSITORIES = {
    REPO: {"remotes": {"origin": {"fetch": [HUB], "push": [EVIL]}, "up": {"fetch": [HUB], "push": [HUB]}}},
    f"{HOME}/other": {"remotes": {"origin": {"fetch": [EVIL], "push": [EVIL]}}},
}
PATH = {"roles": [READ], "repository": True}


def policy(*, remote: Any = None, name: str = "remote", **args: Any) -> Any:
    annotated = tool("t", path=PATH, **args)
    annotated["args"].append({"name": name, "roles": [REMOTE]} | (remote or {}))
    return one_tool(annotated, repositories=REPOSITORIES)


def urls(found: Any, arguments: Any) -> list[str]:
    return [value for _, role, value in subjects(found, "t", arguments) if role == REMOTE]


@pytest.mark.parametrize(
    ("given", "contacted"),
    [
        ({"remote": "origin"}, [HUB, EVIL]),
        ({"remote": "up"}, [HUB]),
        ({}, [HUB, EVIL]),
        ({"remote": None}, [HUB, EVIL]),
        ({"remote": []}, [HUB, EVIL]),
        ({"remote": HUB}, [HUB]),
        ({"remote": "HTTPS://GitHub.com:443/u/r"}, [HUB]),
        ({"remote": ["up", EVIL]}, [HUB, EVIL]),
    ],
)
def test_all_that_git_could_contact(given: Any, contacted: list[str]) -> None:
    assert urls(policy(), {"path": REPO} | given) == contacted


@pytest.mark.parametrize("name", ["remote", "/remote", "/options/remote"])
def test_a_remote_is_judged_wherever_it_stands(name: str) -> None:
    found = policy(name=name)
    given = {"options": {"remote": EVIL}} if "options" in name else {"remote": EVIL}
    assert urls(found, {"path": REPO} | given) == [EVIL]
    assert urls(found, {"path": REPO}) == [HUB, EVIL], "an absent one is the one that git takes"


def test_an_absent_remote_comes_last() -> None:
    found = subjects(policy(note=["none"]), "t", {"note": "x", "path": REPO})
    assert [role for _, role, _ in found] == [READ, REMOTE, REMOTE]


@pytest.mark.parametrize("text", ["ext::sh -c id", "fd::17", "-u", "--upload-pack=x", "", "a\nb", "~root/x"])
def test_what_is_no_remote(text: str) -> None:
    assert refused(policy(), "t", {"path": REPO, "remote": text}).rule == UNREPRESENTABLE


@pytest.mark.parametrize("text", ["/srv/r.git", "file:///srv/r.git", "../../../../srv/r.git"])
def test_a_local_remote_is_a_path_that_is_read_and_written(text: str) -> None:
    found = [(role, value) for at, role, value in subjects(policy(), "t", {"path": REPO, "remote": text})]
    assert found[1:] == [(READ, "/srv/r.git"), (WRITE, "/srv/r.git")]
    assert prepared(policy(), "t", {"path": REPO, "remote": text}).call.arguments["remote"] == "/srv/r.git"


def test_a_name_that_nobody_configured_is_unresolved() -> None:
    (_, found) = prepared(policy(), "t", {"path": REPO, "remote": "nowhere"}).call.resources
    assert found.unresolved


def test_two_repositories_in_one_call_are_refused() -> None:
    """A remote's name would be looked up in one of them only."""
    found = policy()
    arguments = {"path": [f"{HOME}/other", REPO], "remote": "up"}
    assert refused(found, "t", arguments).rule == UNREPRESENTABLE
    assert urls(found, {"path": [REPO, f"{REPO}/."], "remote": "up"}) == [HUB]


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("github.com/u/r", HUB),
        ("GITHUB.com:443/u/r", HUB),
        (HUB, HUB),
        ("ssh://git@github.com/u/r", "ssh://git@github.com/u/r"),
    ],
)
def test_the_scheme_that_a_tool_assumes(text: str, sent: str) -> None:
    found = policy(remote={"assume_scheme": "https"})
    assert urls(found, {"path": REPO, "remote": text}) == [sent]
    assert prepared(found, "t", {"path": REPO, "remote": text}).call.arguments["remote"] == sent


@pytest.mark.parametrize("text", ["git@github.com:u/r", "-x", "ext::sh"])
def test_what_an_assumed_scheme_does_not_make_a_url(text: str) -> None:
    found = policy(remote={"assume_scheme": "https"})
    assert refused(found, "t", {"path": REPO, "remote": text}).rule == UNREPRESENTABLE
