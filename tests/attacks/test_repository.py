"""Attack: make a git tool touch another repository than the path that it was given."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.called import answering, bundle, decide_with, described, load
from support.policies import rule, tool

from ironcurtain.canonical.disk import DiskWorld
from ironcurtain.decide.decide import Call

TOOLS = [
    tool("status", path={"roles": ["read-path"], "repository": True}),
    tool("commit", path={"roles": ["write-path"], "repository": True}),
    tool("reset", path={"roles": ["read-path", "write-history"], "repository": True}),
]


class Place:
    """A home with a sandbox, and a victim's repository beside it."""

    def __init__(self, base: Path) -> None:
        self.home, self.sandbox, self.victim = base / "home", base / "home" / "work", base / "victim"
        for directory in (self.sandbox, self.victim):
            directory.mkdir(parents=True)

    def decide(self, name: str, path: Path, rules: list[dict[str, Any]] | None = None) -> Any:
        world = described(home=str(self.home), sandbox=str(self.sandbox))
        policy = load(bundle({"s": TOOLS}, rules or []), world, DiskWorld(home=str(self.home)))
        return decide_with(policy, Call("s", name, {"path": str(path)}), answering(rules or []))


def git(directory: Path, *arguments: str) -> None:
    environment = {"HOME": str(directory), "PATH": "/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *arguments], cwd=directory, env=environment, check=True, capture_output=True)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path.resolve())


def values(decision: Any) -> set[str]:
    return {subject.value for subject in decision.subjects}


def test_a_repository_inside_the_sandbox_is_allowed(place: Place) -> None:
    git(place.sandbox, "init", "-q")
    for name in ("status", "commit"):
        assert place.decide(name, place.sandbox).verdict == "allow"


@pytest.mark.parametrize("name", ["status", "commit", "reset"])
def test_a_git_file_that_points_at_another_repository(name: str, place: Place) -> None:
    git(place.victim, "init", "-q")
    (place.sandbox / ".git").write_text(f"gitdir: {place.victim}/.git\n")
    assert place.decide(name, place.sandbox).verdict == "deny"


@pytest.mark.parametrize("name", ["status", "commit", "reset"])
def test_a_git_link_to_another_repository(name: str, place: Place) -> None:
    git(place.victim, "init", "-q")
    (place.sandbox / ".git").symlink_to(place.victim / ".git")
    decision = place.decide(name, place.sandbox)
    assert decision.verdict == "deny"


def test_a_repository_found_in_a_parent_directory(place: Place) -> None:
    """The tool works in the parent's work tree, so the parent has to be justified."""
    git(place.home, "init", "-q")
    decision = place.decide("commit", place.sandbox)
    assert decision.verdict == "deny"
    assert values(decision) >= {str(place.sandbox), str(place.home), f"{place.home}/.git"}


def test_a_rule_for_the_parent_justifies_it(place: Place) -> None:
    git(place.home, "init", "-q")
    rules = [rule("home", "allow", paths={"roles": ["write-path"], "within": ["~"]})]
    assert place.decide("commit", place.sandbox, rules).verdict == "allow"


def test_a_rule_against_the_git_directory_holds_for_a_subdirectory(place: Place) -> None:
    git(place.home, "init", "-q")
    rules = [
        rule("no-git", "deny", paths={"roles": ["write-path"], "within": ["~/.git"]}),
        rule("home", "allow", paths={"roles": ["write-path"], "within": ["~"]}),
    ]
    assert place.decide("commit", place.sandbox / "deep", rules).rule == "no-git"


def test_a_work_tree_of_another_repository(place: Place) -> None:
    git(place.victim, "init", "-q", "-b", "main")
    git(place.victim, "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "--allow-empty", "-m", "x")
    git(place.victim, "worktree", "add", "-q", str(place.sandbox / "tree"))
    decision = place.decide("status", place.sandbox / "tree")
    assert decision.verdict == "deny"
    assert f"{place.victim}/.git" in values(decision)


def test_a_core_worktree_outside(place: Place) -> None:
    git(place.sandbox, "init", "-q")
    git(place.sandbox, "config", "core.worktree", str(place.victim))
    decision = place.decide("commit", place.sandbox)
    assert decision.verdict == "deny"


def test_history_is_never_contained(place: Place) -> None:
    git(place.sandbox, "init", "-q")
    decision = place.decide("reset", place.sandbox)
    assert (decision.verdict, decision.rule) == ("deny", "default-deny")
    assert [s.discharged for s in decision.subjects] == [True, False]


def test_a_git_directory_given_as_the_path_to_change(place: Place) -> None:
    git(place.sandbox, "init", "-q")
    assert place.decide("commit", place.sandbox / ".git").rule == "structural-protected-path"
