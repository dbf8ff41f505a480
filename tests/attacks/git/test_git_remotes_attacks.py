"""Attacks through a repository: making our look at it run a program, hang, or see another repository.

Held by: read-only built-in commands of git, settings that win over every file, bounded time and output.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from support.deployments.proxied import is_alive, wait_for
from support.machines.git import git_environment

from ironcurtain.decision.canonical.git.process import Git
from ironcurtain.decision.canonical.git.repository import remote_urls, repository_places
from ironcurtain.decision.canonical.host_view import RepositoryPlaces, UnreadableError

URL = "https://github.com/u/r"
EVIL = "https://evil.example/r"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return git_environment(tmp_path / "home")


@pytest.fixture
def work(tmp_path: Path, environ: dict[str, str]) -> Path:
    directory = tmp_path / "work"
    _git(tmp_path, environ, "init", "-q", "work")
    _git(directory, environ, "commit", "-q", "--allow-empty", "-m", "x")
    _git(directory, environ, "remote", "add", "origin", URL)
    return directory


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """A program that leaves a trace beside it when it is run."""
    program = tmp_path / "canary"
    program.write_text(f"#!/bin/sh\necho ran >>{tmp_path}/canary.ran\nexit 1\n")
    program.chmod(0o755)
    return program


def _git(directory: Path, environ: dict[str, str], *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=directory, env=environ, capture_output=True, check=False)


def _ran(canary: Path) -> bool:
    return canary.with_suffix(".ran").exists()


def _look(work: Path, environ: dict[str, str]) -> None:
    repository_places(str(work), git=Git.of(environ))
    for remote in (None, "origin", URL):
        remote_urls(str(work), remote, git=Git.of(environ))


EXECUTABLE = {
    "core.fsmonitor": (("core.fsmonitor", "{canary}"), ("status",)),
    "core.sshCommand": (("core.sshCommand", "{canary}"), ("ls-remote", "ssh://host.invalid/r")),
    "core.hooksPath": (("core.hooksPath", "{hooks}"), ("checkout", "-q", "--detach")),
    "an alias": (("alias.look", "!{canary}"), ("look",)),
}


@pytest.mark.parametrize("case", EXECUTABLE)
def test_what_a_repository_configures_is_not_run(
    case: str, work: Path, canary: Path, environ: dict[str, str]
) -> None:
    (key, value), plain = EXECUTABLE[case]
    hooks = work.parent / "hooks"
    hooks.mkdir()
    for hook in ("post-checkout", "reference-transaction", "post-index-change"):
        (hooks / hook).symlink_to(canary)
    _git(work, environ, "config", key, value.format(canary=canary, hooks=hooks))
    _look(work, environ)
    assert not _ran(canary)
    _git(work, environ, *plain)
    assert _ran(canary), "plain git would have run it"


def test_an_alias_does_not_shadow_what_we_call(work: Path, canary: Path, environ: dict[str, str]) -> None:
    for command in ("rev-parse", "config"):
        _git(work, environ, "config", f"alias.{command}", f"!{canary}")
    assert remote_urls(str(work), "origin", git=Git.of(environ)).urls == (URL,)
    assert not _ran(canary)


def test_a_git_in_the_repository_is_not_run(work: Path, canary: Path, environ: dict[str, str]) -> None:
    (work / "git").symlink_to(canary)
    for first in (".", ""):
        relative = environ | {"PATH": f"{first}:{environ['PATH']}"}
        assert remote_urls(str(work), "origin", git=Git.of(relative)).urls == (URL,)
    assert not _ran(canary)


def test_an_exec_path_is_not_used(work: Path, canary: Path, environ: dict[str, str]) -> None:
    (work / "git-rev-parse").symlink_to(canary)
    _look(work, environ | {"GIT_EXEC_PATH": str(work)})
    assert not _ran(canary)


def test_trace_variables_write_nothing(work: Path, environ: dict[str, str]) -> None:
    trace = work.parent / "trace"
    traced = environ | {
        "GIT_TRACE": str(trace),
        "GIT_TRACE2_EVENT": str(trace),
        "GIT_TRACE_SETUP": str(trace),
    }
    _look(work, traced)
    assert not trace.exists()
    _git(work, traced, "rev-parse", "HEAD")
    assert trace.exists(), "plain git would have written it"


@pytest.mark.parametrize("condition", ["include", 'includeIf "gitdir:**"', 'includeIf "onbranch:**"'])
def test_an_included_file_is_followed(condition: str, work: Path, environ: dict[str, str]) -> None:
    (work / "harmless.txt").write_text(f'[url "{EVIL}"]\n\tpushInsteadOf = {URL}\n')
    with (work / ".git/config").open("a") as file:
        file.write(f"[{condition}]\n\tpath = ../harmless.txt\n")
    assert set(remote_urls(str(work), "origin", git=Git.of(environ)).urls) == {URL, EVIL}
    assert set(remote_urls(str(work), URL, git=Git.of(environ)).urls) == {URL, EVIL}


def test_configuration_of_one_work_tree_is_seen(work: Path, environ: dict[str, str]) -> None:
    _git(work, environ, "config", "extensions.worktreeConfig", "true")
    _git(work, environ, "config", "--worktree", "remote.origin.pushurl", EVIL)
    assert EVIL in remote_urls(str(work), "origin", git=Git.of(environ)).urls


def test_another_configuration_file_hides_nothing(work: Path, environ: dict[str, str]) -> None:
    _git(work, environ, "config", "remote.origin.pushurl", EVIL)
    (work / "clean").write_text(f'[remote "origin"]\n\turl = {URL}\n')
    hidden = environ | {"GIT_CONFIG": str(work / "clean")}
    assert EVIL in remote_urls(str(work), "origin", git=Git.of(hidden)).urls


def test_a_configuration_that_never_ends_is_unresolved(work: Path, environ: dict[str, str]) -> None:
    os.mkfifo(work / "pipe")
    _git(work, environ, "config", "include.path", "../pipe")
    assert "wait for" in str(remote_urls(str(work), "origin", git=Git.of(environ)).unresolved)


def test_a_configuration_that_floods_is_unresolved(work: Path, environ: dict[str, str]) -> None:
    with (work / ".git/config").open("a") as file:
        file.write("[flood]\n" + "".join(f"\tk{i} = {'x' * 1000}\n" for i in range(2_000)))
    assert "bytes" in str(remote_urls(str(work), "origin", git=Git.of(environ)).unresolved)


def test_groups_that_name_each_other_end(work: Path, environ: dict[str, str]) -> None:
    _git(work, environ, "config", "remotes.a", "b origin a")
    _git(work, environ, "config", "remotes.b", "a " + " ".join(f"h:{i}" for i in range(90)))
    assert len(remote_urls(str(work), "a", git=Git.of(environ)).urls) == 91
    _git(work, environ, "config", "--add", "remotes.b", " ".join(f"i:{i}" for i in range(90)))
    assert "more than" in str(remote_urls(str(work), "a", git=Git.of(environ)).unresolved)


def test_a_git_that_hangs_is_ended_with_all_it_started(work: Path, environ: dict[str, str]) -> None:
    directory = work.parent / "bin"
    directory.mkdir()
    child = work.parent / "child"
    (directory / "git").write_text(f"#!/bin/sh\nsleep 600 &\necho $! >{child}\nwait\n")
    (directory / "git").chmod(0o755)
    slow = environ | {"PATH": f"{directory}:{environ['PATH']}"}
    assert "seconds" in str(remote_urls(str(work), "origin", git=Git.of(slow)).unresolved)
    wait_for(lambda: not is_alive(int(child.read_text())))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a directory of another owner")
def test_a_repository_of_another_owner_is_unresolved(work: Path, environ: dict[str, str]) -> None:
    for path in (work, work / ".git"):
        os.chown(path, 12345, 12345)
    assert "dubious ownership" in str(remote_urls(str(work), "origin", git=Git.of(environ)).unresolved)
    with pytest.raises(UnreadableError, match="dubious ownership"):
        repository_places(str(work), git=Git.of(environ))
    _git(work, environ, "config", "--global", "safe.directory", str(work))
    assert remote_urls(str(work), "origin", git=Git.of(environ)).urls == (URL,)


def test_a_bare_repository_inside_the_work_tree_is_what_git_uses(work: Path, environ: dict[str, str]) -> None:
    _git(work, environ, "init", "-q", "--bare", "docs")
    _git(work / "docs", environ, "remote", "add", "origin", EVIL)
    for inside in ("docs", "docs/objects"):
        place = str(work / inside)
        assert repository_places(place, git=Git.of(environ)) == RepositoryPlaces(None, str(work / "docs"))
        assert remote_urls(place, "origin", git=Git.of(environ)).urls == (EVIL,)
    _git(work, environ, "config", "--global", "safe.bareRepository", "explicit")
    assert remote_urls(str(work / "docs"), "origin", git=Git.of(environ)).unresolved
    with pytest.raises(UnreadableError, match="refuses"):
        repository_places(str(work / "docs"), git=Git.of(environ))


def test_a_git_file_that_points_elsewhere(work: Path, environ: dict[str, str]) -> None:
    other = work.parent / "other"
    _git(work.parent, environ, "init", "-q", "other")
    _git(other, environ, "remote", "add", "origin", EVIL)
    (work / "sub").mkdir()
    (work / "sub/.git").write_text(f"gitdir: {other}/.git\n")
    expected = RepositoryPlaces(str(work / "sub"), str(other / ".git"))
    assert repository_places(str(work / "sub"), git=Git.of(environ)) == expected
    assert remote_urls(str(work / "sub"), "origin", git=Git.of(environ)).urls == (EVIL,)


def test_a_git_link_that_points_elsewhere(work: Path, environ: dict[str, str]) -> None:
    (work.parent / "linked").mkdir()
    (work.parent / "linked/.git").symlink_to(work / ".git")
    places = repository_places(str(work.parent / "linked"), git=Git.of(environ))
    assert places == RepositoryPlaces(str(work.parent / "linked"), str(work / ".git"))


def test_a_broken_git_file_is_no_missing_repository(work: Path, environ: dict[str, str]) -> None:
    (work / "sub").mkdir()
    (work / "sub/.git").write_text("gitdir: /nowhere\x1b[31m\n")
    with pytest.raises(UnreadableError, match="refuses") as raised:
        repository_places(str(work / "sub"), git=Git.of(environ))
    assert str(raised.value).isprintable()


@pytest.mark.parametrize("text", ["a\nfalse\nb", "a\n\nfalse", "a\n/etc"])
def test_a_line_break_in_a_path_passes_for_nothing(text: str, work: Path, environ: dict[str, str]) -> None:
    elsewhere = work.parent / text
    elsewhere.parent.mkdir(parents=True, exist_ok=True)
    _git(work.parent, environ, "init", "-q", "--bare", str(elsewhere))
    (work / "sub").mkdir()
    (work / "sub/.git").write_text(f"gitdir: {elsewhere}\n")
    with pytest.raises(UnreadableError):
        repository_places(str(work / "sub"), git=Git.of(environ))
    assert remote_urls(str(work / "sub"), "origin", git=Git.of(environ)).unresolved


def test_a_work_tree_configured_elsewhere_is_what_is_touched(work: Path, environ: dict[str, str]) -> None:
    target = work.parent / "private"
    target.mkdir()
    _git(work, environ, "config", "core.worktree", str(target))
    assert repository_places(str(work), git=Git.of(environ)) == RepositoryPlaces(
        str(target), str(work / ".git")
    )


def test_a_common_directory_elsewhere_is_refused(work: Path, environ: dict[str, str]) -> None:
    split = work / "split"
    split.mkdir()
    (split / "HEAD").write_text("ref: refs/heads/main\n")
    (split / "commondir").write_text(f"{work}/.git\n")
    (work / "sub").mkdir()
    (work / "sub/.git").write_text(f"gitdir: {split}\n")
    with pytest.raises(UnreadableError, match="outside its git directory"):
        repository_places(str(work / "sub"), git=Git.of(environ))


def test_a_remote_named_like_a_url_wins(work: Path, environ: dict[str, str]) -> None:
    _git(work, environ, "config", f"remote.{URL}.url", EVIL)
    assert remote_urls(str(work), URL, git=Git.of(environ)).urls == (EVIL,)


def test_a_rewriting_to_a_program_is_shown_as_such(work: Path, environ: dict[str, str]) -> None:
    _git(work, environ, "config", "url.ext::sh -c id .insteadOf", URL)
    assert remote_urls(str(work), "origin", git=Git.of(environ)).urls == ("ext::sh -c id ",)


def test_the_environments_git_dir_decides(work: Path, environ: dict[str, str]) -> None:
    _git(work.parent, environ, "init", "-q", "other")
    placed = environ | {"GIT_DIR": str(work.parent / "other/.git")}
    expected = RepositoryPlaces(str(work), str(work.parent / "other/.git"))
    assert repository_places(str(work), git=Git.of(placed)) == expected
    assert "GIT_DIR" in str(remote_urls(str(work), "origin", git=Git.of(placed)).unresolved)


def test_a_prefix_that_ends_inside_a_character_rewrites(work: Path, environ: dict[str, str]) -> None:
    with (work / ".git/config").open("ab") as file:
        file.write(b'[url "https://evil.example/\xc3"]\n\tinsteadOf = "https://h/\xc3"\n')
    assert remote_urls(str(work), "https://h/\u00e9", git=Git.of(environ)).urls == (
        "https://evil.example/\u00e9",
    )


def test_a_local_remote_with_a_linked_git_directory_names_it(work: Path, environ: dict[str, str]) -> None:
    outside = work.parent / "bait"
    outside.mkdir()
    (outside / ".git").symlink_to(work / ".git")
    answer = remote_urls(str(work), str(outside), git=Git.of(environ))
    assert str(work / ".git") in {os.path.realpath(url) for url in answer.urls}


def test_configuration_of_a_flooding_size_is_judged_in_linear_work(
    work: Path, environ: dict[str, str]
) -> None:
    rules = "".join(f'[url "b{i}:"]\n\tinsteadOf = p{i}:\n' for i in range(12_000))
    urls = "".join(f"\turl = p{i}:x\n" for i in range(12_000))
    (work / ".git/config").write_text(f'{rules}[remote "origin"]\n{urls}')
    answer = remote_urls(str(work), "origin", git=Git.of(environ))
    assert answer.urls == tuple(f"b{i}:x" for i in range(12_000))


@pytest.mark.parametrize("form", ["{}", "file://{}", "../lender"])
def test_a_local_remote_that_borrows_objects(form: str, work: Path, environ: dict[str, str]) -> None:
    """A clone or fetch of it brings objects of the repository that it borrows from."""
    lender = work.parent / "lender"
    _git(work.parent, environ, "init", "-q", str(lender))
    (lender / ".git/objects/info/alternates").write_text("/victim/.git/objects\n")
    _git(work, environ, "remote", "add", "lender", form.format(lender))
    assert "/victim/.git/objects" in remote_urls(str(work), "lender", git=Git.of(environ)).urls
    assert "/victim/.git/objects" in remote_urls(None, str(lender), git=Git.of(environ)).urls
