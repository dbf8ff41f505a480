"""Attack: make a git tool touch another repository than the path that it was given.

Held by: judging all that git opens: work tree, git directory, borrowed objects, submodules, added work trees.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.called import answering, bundle, decide_with, described, load
from support.projects.policies import rule, tool

from ironcurtain.decision.agent_view import agent_view
from ironcurtain.decision.canonical.this_host import ThisHost
from ironcurtain.decision.decide import Call

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
        policy = load(bundle({"s": TOOLS}, rules or []), world, ThisHost(home=str(self.home)))
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


def secret_of(victim: Path) -> None:
    git(victim, "init", "-q", "-b", "main")
    (victim / "secret").write_text("secret")
    git(victim, "add", "secret")
    git(victim, "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "-m", "x")


@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize("steps", [1, 2])
def test_objects_that_are_borrowed_from_another_repository(steps: int, relative: bool, place: Place) -> None:
    """`git log` and `git show` read them from there; at two steps, by way of a store in the sandbox."""
    secret_of(place.victim)
    git(place.sandbox, "init", "-q")
    store = place.victim / ".git" / "objects"
    own = place.sandbox / ".git" / "objects"
    if steps == 2:
        middle = place.sandbox / "middle"
        (middle / "info").mkdir(parents=True)
        (middle / "info" / "alternates").write_text(f"{store}\n")
        store = middle
    written = os.path.relpath(store, own) if relative else store
    (own / "info" / "alternates").write_text(f"# by reference\n{written}\n")
    decision = place.decide("status", place.sandbox)
    assert decision.verdict == "deny"
    assert f"{place.victim}/.git/objects" in values(decision)
    rules = [rule("victim", "allow", paths={"roles": ["read-path"], "within": [str(place.victim)]})]
    assert place.decide("status", place.sandbox, rules).verdict == "allow"
    assert place.decide("commit", place.sandbox, rules).verdict == "allow"


def test_an_object_store_in_quotation_marks(place: Place) -> None:
    git(place.sandbox, "init", "-q")
    (place.sandbox / ".git" / "objects" / "info" / "alternates").write_text(f'"{place.victim}"\n')
    assert place.decide("status", place.sandbox).rule == "structural-unrepresentable-argument"


@pytest.mark.parametrize("name", ["objects", "objects/pack", "refs/heads", "packed-refs", "info"])
def test_a_link_inside_the_git_directory(name: str, place: Place) -> None:
    secret_of(place.victim)
    git(place.victim, "gc", "-q")
    git(place.sandbox, "init", "-q")
    target = place.sandbox / ".git" / name
    if target.is_dir():
        shutil.rmtree(target)
    target.symlink_to(place.victim / ".git" / name)
    decision = place.decide("status", place.sandbox)
    assert decision.verdict == "deny"
    assert any(value.startswith(f"{place.victim}/.git") for value in values(decision))


@pytest.mark.parametrize("name", ["status", "commit"])
def test_a_submodule_whose_git_directory_is_another_repositorys(name: str, place: Place) -> None:
    """`git status` runs git in every submodule, and `git diff` shows its commits."""
    secret_of(place.victim)
    git(place.sandbox, "init", "-q")
    git(place.sandbox, "clone", "-q", str(place.victim), "module")
    git(place.sandbox, "add", "module")
    assert place.decide(name, place.sandbox).verdict == "allow"
    shutil.rmtree(place.sandbox / "module" / ".git")
    (place.sandbox / "module" / ".git").write_text(f"gitdir: {place.victim}/.git\n")
    decision = place.decide(name, place.sandbox)
    assert decision.verdict == "deny"
    assert f"{place.victim}/.git" in values(decision)


def test_a_submodule_with_a_work_tree_outside_or_with_borrowed_objects(place: Place) -> None:
    secret_of(place.victim)
    git(place.sandbox, "init", "-q")
    module = place.sandbox / "module"
    git(place.sandbox, "clone", "-q", str(place.victim), "module")
    git(place.sandbox, "add", "module")
    alternates = module / ".git" / "objects" / "info" / "alternates"
    alternates.write_text(f"{place.victim}/.git/objects\n")
    assert place.decide("status", place.sandbox).verdict == "deny"
    alternates.unlink()
    git(module, "config", "core.worktree", str(place.victim))
    assert str(place.victim) in values(place.decide("status", place.sandbox))


def test_a_work_tree_that_was_added_outside_is_changed_by_what_writes(place: Place) -> None:
    """`git worktree remove` deletes it; reading the repository does not touch it."""
    secret_of(place.sandbox)
    git(place.sandbox, "worktree", "add", "-q", str(place.victim / "tree"))
    assert place.decide("status", place.sandbox).verdict == "allow"
    decision = place.decide("commit", place.sandbox)
    assert decision.verdict == "deny"
    assert f"{place.victim}/tree" in values(decision)


@pytest.mark.parametrize("where", ["include", "includeIf", "config", "HEAD", "branch", "index", "alternates"])
def test_a_pipe_that_git_would_wait_for(where: str, place: Place) -> None:
    """Each look-up would take as long as git is waited for."""
    git(place.sandbox, "init", "-q", "-b", "main")
    directory = place.sandbox / ".git"
    pipe = {
        "include": place.sandbox / "pipe",
        "includeIf": place.home / "pipe",
        "branch": directory / "refs" / "heads" / "main",
        "alternates": directory / "objects" / "info" / "alternates",
    }.get(where, directory / where)
    if where == "include":
        git(place.sandbox, "config", "include.path", "../pipe")
    elif where == "includeIf":
        git(place.sandbox, "config", "includeIf.onbranch:main.path", "~/pipe")
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    decision = place.decide("status", place.sandbox)
    assert (decision.verdict, decision.rule) == ("deny", "structural-unrepresentable-argument")
    assert "wait for" in decision.reason or "pipe" in decision.reason


def test_what_git_says_of_a_repository_is_for_people_alone(place: Place) -> None:
    git(place.sandbox, "init", "-q", "-b", "main")
    git(place.sandbox, "config", "includeIf.onbranch:main.path", "~/pipe")
    os.mkfifo(place.home / "pipe")
    decision = place.decide("status", place.sandbox)
    assert "pipe" in decision.reason
    unusable = "An argument cannot be judged exactly: /path is no repository that git can work in."
    assert agent_view(decision, "d").reason == unusable


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
