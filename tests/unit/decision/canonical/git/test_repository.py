"""Places and remotes, held to what real git does: which local repository was pushed to or fetched from."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support.machines.git import git_environment

from ironcurtain.decision.canonical.git.process import Git
from ironcurtain.decision.canonical.git.repository import remote_urls, repository_places
from ironcurtain.decision.canonical.host_view import RepositoryPlaces, UnreadableError
from ironcurtain.decision.canonical.this_host import ThisHost

Run = Callable[..., str]
BARES = ("a", "b", "c")


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return git_environment(tmp_path / "home")


@pytest.fixture
def git(environ: dict[str, str]) -> Run:
    def run(directory: Path, *arguments: str, check: bool = True) -> str:
        command = ["git", "-c", "init.defaultBranch=main", *arguments]
        done = subprocess.run(
            command, cwd=directory, env=environ, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0 or not check, done.stderr
        return done.stdout.strip()

    return run


@pytest.fixture
def work(tmp_path: Path, git: Run) -> Path:
    """A repository on branch `work`, beside bare repositories that each hold a commit of their own."""
    for name in BARES:
        git(tmp_path, "init", "-q", f"seed-{name}")
        git(tmp_path / f"seed-{name}", "commit", "-q", "--allow-empty", "-m", name)
        git(tmp_path, "clone", "-q", "--bare", f"seed-{name}", f"{name}.git")
    git(tmp_path, "init", "-q", "work")
    git(tmp_path / "work", "checkout", "-q", "-b", "work")
    git(tmp_path / "work", "commit", "-q", "--allow-empty", "-m", "mine")
    return tmp_path / "work"


def _configure(work: Path, git: Run, settings: list[tuple[str, str]]) -> None:
    for key, value in settings:
        git(work, "config", "--add", *(text.replace("T/", f"{work.parent}/") for text in (key, value)))


def _contacted(work: Path, git: Run, remote: str | None) -> set[str]:
    """Return the bare repositories that real git pushes to or fetches from."""
    named = () if remote is None else (remote,)
    git(work, "-c", "push.default=current", "push", *named, check=False)
    git(work, "fetch", *named, check=False)
    mine = git(work, "rev-parse", "work")
    found = set()
    for name in BARES:
        bare = work.parent / f"{name}.git"
        pushed = git(bare, "rev-parse", "-q", "--verify", "refs/heads/work", check=False) == mine
        theirs = git(bare, "rev-parse", "main")
        fetched = git(work, "cat-file", "-t", theirs, check=False) == "commit"
        if pushed or fetched:
            found.add(str(bare))
    return found


ORIGIN = ("remote.origin.url", "T/a.git")
OTHER = ("remote.other.url", "T/b.git")
CONTACTS = {
    "a name": ([ORIGIN, OTHER], "origin", "a"),
    "another name": ([ORIGIN, OTHER], "other", "b"),
    "absent: origin": ([ORIGIN, OTHER], None, "a"),
    "absent: the only remote": ([OTHER], None, "b"),
    "absent: tracking remote": ([ORIGIN, OTHER, ("branch.work.remote", "other")], None, "b"),
    "absent: another branch's remote": ([ORIGIN, OTHER, ("branch.main.remote", "other")], None, "a"),
    "absent: the branch tracks a URL": ([ORIGIN, ("branch.work.remote", "T/c.git")], None, "c"),
    "absent: pushDefault": ([ORIGIN, OTHER, ("remote.pushDefault", "other")], None, "ab"),
    "absent: pushDefault, the last wins": (
        [ORIGIN, OTHER, ("remote.pushDefault", "other"), ("remote.pushDefault", "origin")],
        None,
        "a",
    ),
    "absent: pushRemote before pushDefault": (
        [ORIGIN, OTHER, ("branch.work.pushRemote", "T/c.git"), ("remote.pushDefault", "other")],
        None,
        "ac",
    ),
    "given: pushDefault does not matter": ([ORIGIN, OTHER, ("remote.pushDefault", "other")], "origin", "a"),
    "pushurl": ([ORIGIN, ("remote.origin.pushurl", "T/b.git")], "origin", "ab"),
    "two pushurls": (
        [ORIGIN, ("remote.origin.pushurl", "T/b.git"), ("remote.origin.pushurl", "T/c.git")],
        "origin",
        "abc",
    ),
    "insteadOf on a name": (
        [("remote.origin.url", "ssh://h/a"), ("url.T/b.git.insteadOf", "ssh://h/a")],
        "origin",
        "b",
    ),
    "insteadOf on a URL": (
        [("url.T/b.insteadOf", "https://github.com/u/r")],
        "https://github.com/u/r.git",
        "b",
    ),
    "insteadOf on a word": ([("url.T/.insteadOf", "mine:")], "mine:c.git", "c"),
    "pushInsteadOf on a URL": ([("url.T/b.git.pushInsteadOf", "T/a.git")], "T/a.git", "ab"),
    "pushInsteadOf on a name": ([ORIGIN, ("url.T/b.git.pushInsteadOf", "T/a.git")], "origin", "ab"),
    "pushInsteadOf leaves a pushurl alone": (
        [ORIGIN, ("remote.origin.pushurl", "T/c.git"), ("url.T/b.git.pushInsteadOf", "T/")],
        "origin",
        "ac",
    ),
    "insteadOf applies to a pushurl": (
        [ORIGIN, ("remote.origin.pushurl", "x:y"), ("url.T/b.git.insteadOf", "x:y")],
        "origin",
        "ab",
    ),
    "a name with only a pushurl": (
        [("remote.x:y.pushurl", "T/b.git"), ("url.T/a.git.insteadOf", "x:y")],
        "x:y",
        "ab",
    ),
    "a path whose .git is left out": ([ORIGIN], "../b", "b"),
    "the longest match wins": (
        [("url.T/a.insteadOf", "h:"), ("url.T/b.git.insteadOf", "h:long"), ("url.T/c.insteadOf", "h:l")],
        "h:long",
        "b",
    ),
    "of two bases for one prefix the first wins": (
        [("url.T/b.git.insteadOf", "h:x"), ("url.T/a.git.insteadOf", "h:x")],
        "h:x",
        "b",
    ),
    "a remote named like a URL": (
        [("remote.https://github.com/u/r.url", "T/c.git")],
        "https://github.com/u/r",
        "c",
    ),
    "names are case-sensitive": ([ORIGIN, ("remote.Origin.url", "T/b.git")], "Origin", "b"),
    "keys are not": (
        [("REMOTE.origin.URL", "T/a.git"), ("remote.origin.pushURL", "T/b.git")],
        "origin",
        "ab",
    ),
    "a group": ([ORIGIN, OTHER, ("remotes.all", "origin other")], "all", "ab"),
    "a group of groups": (
        [ORIGIN, OTHER, ("remotes.all", "some T/c.git"), ("remotes.some", "other origin")],
        "all",
        "abc",
    ),
    "a group of several values, tabs between": (
        [ORIGIN, OTHER, ("remotes.all", "origin"), ("remotes.all", "\tother")],
        "all",
        "ab",
    ),
    "a path": ([ORIGIN], "T/b.git", "b"),
    "a relative path": ([ORIGIN], "../b.git", "b"),
    "a directory beside a configured name": ([("remote.sub.url", "T/a.git")], "sub", "a"),
}


@pytest.mark.parametrize("case", CONTACTS)
def test_the_urls_are_what_real_git_contacts(
    case: str, work: Path, git: Run, environ: dict[str, str]
) -> None:
    settings, remote, expected = CONTACTS[case]
    git(work, "init", "-q", "sub")
    _configure(work, git, settings)
    remote = remote.replace("T/", f"{work.parent}/") if remote else None

    answer = remote_urls(str(work), remote, git=Git.of(environ))

    assert answer.unresolved is None
    urls = {os.path.realpath(url) for url in answer.urls}
    bares = {str(work.parent / f"{name}.git") for name in BARES}
    assert urls & bares == _contacted(work, git, remote) == {f"{work.parent}/{name}.git" for name in expected}
    assert all(f"{url}.git" in bares for url in urls - bares)


def test_a_local_path_stands_for_what_git_opens(work: Path, git: Run, environ: dict[str, str]) -> None:
    top = work.parent
    git(top, "clone", "-q", "--bare", "a.git", "hidden.git")
    (top / "pointer").mkdir()
    (top / "pointer/.git").write_text("gitdir: ../hidden.git\n")
    expected = {"b": "b.git", "pointer": "hidden.git"}
    for remote, opened in expected.items():
        for spelling in (f"../{remote}", f"{top}/{remote}", f"file://{top}/{remote}"):
            answer = remote_urls(str(work), spelling, git=Git.of(environ))
            assert str(top / opened) in {os.path.realpath(url) for url in answer.urls}
            git(work, "push", "-q", "--force", spelling, "work")
            assert git(top / opened, "rev-parse", "work") == git(work, "rev-parse", "work")


def test_a_relative_url_means_the_top_of_the_work_tree(work: Path, git: Run, environ: dict[str, str]) -> None:
    (work / "deep/er").mkdir(parents=True)
    _configure(work, git, [("remote.origin.url", "../a.git")])

    answer = remote_urls(str(work / "deep/er"), "origin", git=Git.of(environ))

    assert {os.path.realpath(url) for url in answer.urls} == {str(work.parent / "a.git")}
    git(work / "deep/er", "push", "-q", "origin", "work")
    assert git(work.parent / "a.git", "rev-parse", "work") == git(work, "rev-parse", "work")


def test_the_repository_itself_as_a_remote(work: Path, git: Run, environ: dict[str, str]) -> None:
    _configure(work, git, [ORIGIN, ("branch.work.remote", ".")])
    assert remote_urls(str(work), None, git=Git.of(environ)).urls == (str(work),)


def test_fetch_all_contacts_every_remote(work: Path, git: Run, environ: dict[str, str]) -> None:
    _configure(work, git, [ORIGIN, OTHER, ("fetch.all", "true")])
    assert len(remote_urls(str(work), None, git=Git.of(environ)).urls) == 2
    assert len(remote_urls(str(work), "origin", git=Git.of(environ)).urls) == 1


def test_promisor_remotes_are_contacted_too(work: Path, git: Run, environ: dict[str, str]) -> None:
    _configure(work, git, [ORIGIN, OTHER, ("remote.other.promisor", "true")])
    assert len(remote_urls(str(work), "origin", git=Git.of(environ)).urls) == 2


def test_unborn_branch_and_detached_head(work: Path, git: Run, environ: dict[str, str]) -> None:
    _configure(work, git, [ORIGIN, OTHER, ("branch.new.remote", "other"), ("branch.work.remote", "other")])
    other, origin = (str(work.parent / name) for name in ("b.git", "a.git"))
    git(work, "symbolic-ref", "HEAD", "refs/heads/new")
    assert remote_urls(str(work), None, git=Git.of(environ)).urls == (other,)
    git(work, "symbolic-ref", "HEAD", "refs/heads/work")
    git(work, "checkout", "-q", "--detach")
    assert remote_urls(str(work), None, git=Git.of(environ)).urls == (origin,)


def test_a_branch_that_names_another_one(work: Path, git: Run, environ: dict[str, str]) -> None:
    _configure(work, git, [ORIGIN, OTHER, ("branch.work.remote", "other")])
    git(work, "symbolic-ref", "refs/heads/alias", "refs/heads/work")
    git(work, "symbolic-ref", "HEAD", "refs/heads/alias")
    assert remote_urls(str(work), None, git=Git.of(environ)).urls == (str(work.parent / "b.git"),)


def test_a_deleted_tracking_remote_leaves_origin(work: Path, git: Run, environ: dict[str, str]) -> None:
    _configure(work, git, [ORIGIN, OTHER, ("branch.work.remote", "gone")])
    assert remote_urls(str(work), None, git=Git.of(environ)).urls == (str(work.parent / "a.git"),)
    assert _contacted(work, git, None) == set()
    git(work.parent, "clone", "-q", "--bare", "c.git", str(work / "gone"))
    assert remote_urls(str(work), None, git=Git.of(environ)).urls == (str(work / "gone"),)


@pytest.mark.parametrize("remote", [None, "origin", "nobody"])
def test_no_remote_is_unresolved(remote: str | None, work: Path, environ: dict[str, str]) -> None:
    answer = remote_urls(str(work), remote, git=Git.of(environ))
    assert answer.urls == ()
    assert "no remote" in str(answer.unresolved)


@pytest.mark.parametrize("remote", [None, "origin"])
def test_no_repository_is_unresolved(remote: str | None, tmp_path: Path, environ: dict[str, str]) -> None:
    for repository in (str(tmp_path), str(tmp_path / "missing"), None):
        answer = remote_urls(repository, remote, git=Git.of(environ))
        assert answer.urls == ()
        assert answer.unresolved


def test_a_clone_is_rewritten_by_the_users_configuration(
    tmp_path: Path, git: Run, environ: dict[str, str]
) -> None:
    git(tmp_path, "config", "--global", "url.ssh://evil.example/.insteadOf", "https://github.com/")
    answer = remote_urls(None, "https://github.com/u/r", git=Git.of(environ))
    assert answer.urls == ("ssh://evil.example/u/r",)
    assert answer.unresolved is None


def test_a_clone_uses_urls_that_the_user_gave_the_new_remote(
    work: Path, git: Run, environ: dict[str, str]
) -> None:
    a, b = (str(work.parent / name) for name in ("a.git", "b.git"))
    git(work.parent, "config", "--global", "remote.origin.url", b)
    assert set(remote_urls(None, a, git=Git.of(environ)).urls) == {a, b}


@pytest.mark.parametrize("remote", ["--upload-pack=id", "ext::sh -c id", "a\nb", "-", "::x"])
def test_what_is_refused_elsewhere_is_returned_untouched(remote: str, environ: dict[str, str]) -> None:
    assert remote_urls("/nowhere", remote, git=Git.of(environ)).urls == (remote,)


def test_places(work: Path, git: Run, environ: dict[str, str]) -> None:
    top = work.parent
    (work / "deep/er").mkdir(parents=True)
    git(work, "worktree", "add", "-q", "../linked")
    git(top, "init", "-q", "--separate-git-dir", "elsewhere", "separate")
    git(work, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../a.git", "module")
    trees = (str(top / "linked"),)
    inside = RepositoryPlaces(str(work), str(work / ".git"), worktrees=trees)
    expected = {
        work: inside,
        work / "deep/er": inside,
        work / "deep/new/newer": inside,
        work / ".git": RepositoryPlaces(None, str(work / ".git"), worktrees=trees),
        work / "module": RepositoryPlaces(str(work / "module"), str(work / ".git/modules/module")),
        top / "linked": RepositoryPlaces(str(top / "linked"), str(work / ".git")),
        top / "separate": RepositoryPlaces(str(top / "separate"), str(top / "elsewhere")),
        top / "a.git": RepositoryPlaces(None, str(top / "a.git")),
        top / "a.git/refs": RepositoryPlaces(None, str(top / "a.git")),
        top: None,
    }
    for path, places in expected.items():
        assert repository_places(str(path), git=Git.of(environ)) == places, path


def test_a_linked_work_tree_shares_its_remotes(work: Path, git: Run, environ: dict[str, str]) -> None:
    _configure(work, git, [ORIGIN])
    git(work, "worktree", "add", "-q", "../linked")
    answer = remote_urls(str(work.parent / "linked"), "origin", git=Git.of(environ))
    assert answer.urls == (str(work.parent / "a.git"),)


def test_variables_that_select_configuration_count(work: Path, git: Run, environ: dict[str, str]) -> None:
    _configure(work, git, [ORIGIN])
    added = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "remote.origin.pushurl",
        "GIT_CONFIG_VALUE_0": "h:x",
    }
    assert "h:x" in remote_urls(str(work), "origin", git=Git.of(environ | added)).urls
    elsewhere = work.parent / "gitconfig"
    elsewhere.write_text('[remote "origin"]\n\tpushurl = h:y\n')
    assert (
        "h:y"
        in remote_urls(str(work), "origin", git=Git.of(environ | {"GIT_CONFIG_GLOBAL": str(elsewhere)})).urls
    )


def test_settings_of_the_servers_command_line_count(work: Path, git: Run, environ: dict[str, str]) -> None:
    _configure(work, git, [ORIGIN])
    added = environ | {"GIT_CONFIG_PARAMETERS": "'remote.origin.pushurl=h:z'"}
    assert "h:z" in remote_urls(str(work), "origin", git=Git.of(added)).urls


def test_ceilings_count(work: Path, environ: dict[str, str]) -> None:
    (work / "deep").mkdir()
    assert repository_places(str(work / "deep"), git=Git.of(environ))
    assert (
        repository_places(str(work / "deep"), git=Git.of(environ | {"GIT_CEILING_DIRECTORIES": str(work)}))
        is None
    )


def test_names_too_long_for_the_kernel_raise_nothing(work: Path, environ: dict[str, str]) -> None:
    long = str(work / ("n" * 300))
    assert repository_places(long, git=Git.of(environ)) == RepositoryPlaces(str(work), str(work / ".git"))
    assert remote_urls(long, "origin", git=Git.of(environ)).unresolved
    assert remote_urls(str(work), long, git=Git.of(environ)).urls == (long,)


def test_without_git(work: Path, environ: dict[str, str], tmp_path: Path) -> None:
    without = environ | {"PATH": str(tmp_path)}
    assert "not found" in str(remote_urls(str(work), "origin", git=Git.of(without)).unresolved)
    with pytest.raises(UnreadableError, match="not found"):
        repository_places(str(work), git=Git.of(without))


def test_a_call_costs_two_git_processes(work: Path, git: Run, environ: dict[str, str]) -> None:
    _configure(work, git, [ORIGIN, ("remotes.all", "origin T/b.git"), ("branch.work.remote", "origin")])
    bin_directory, log = work.parent / "bin", work.parent / "log"
    bin_directory.mkdir()
    wrapper = bin_directory / "git"
    wrapper.write_text(f'#!/bin/sh\necho "$@" >>{log}\nPATH={environ["PATH"]} exec git "$@"\n')
    wrapper.chmod(0o755)
    host = ThisHost(home=environ["HOME"], git_environ={"git": environ | {"PATH": str(bin_directory)}})
    for remote in (None, "all", "https://github.com/u/r"):
        log.write_text("")
        call = host.for_one_call()
        assert call.repository(str(work), server="git")
        assert call.remote(str(work), remote, server="git").unresolved is None
        assert len(log.read_text().splitlines()) == 2


def test_the_next_call_asks_anew_where_the_repository_is(
    work: Path, git: Run, environ: dict[str, str]
) -> None:
    host = ThisHost(home=environ["HOME"], git_environ={"git": environ})
    for top in (str(work), None):
        places = host.for_one_call().repository(str(work), server="git")
        assert (places.top if places else None) == top
        git(work, "config", "core.bare", "true")
