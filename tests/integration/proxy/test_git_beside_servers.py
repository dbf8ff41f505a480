"""Git of a person beside contained servers: what stands in for what they must not make changes nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.machines.contained import NEEDS_SANDBOX

from ironcurtain.enforcement.sandbox.contained_process import private_workspace

pytestmark = NEEDS_SANDBOX
RUNS = """
import asyncio, sys
from pathlib import Path
from support.machines.contained import Scene
from ironcurtain.enforcement.sandbox.launcher import SandboxLauncher
from ironcurtain.servers.connect import parameters
from ironcurtain.servers.stdio_transport import connect_pipes
from ironcurtain.system.structs import replace

class Watched(Scene):
    async def serve(self):
        config = self.config(command="/bin/sh", args=["-c", "echo up >&2; cat"])
        grounds = self.grounds(config)
        held = tuple(self.inside / name / "guarantees.yaml" for name in ("plain", "worktree"))
        launcher = SandboxLauncher.open(config, replace(grounds, protected=held))
        up = asyncio.Event()
        async def tell(name, seen): pass
        async with launcher.connect("escaping", parameters("escaping", config), on_words=lambda _: up.set(),
                                    on_end=print, tell=tell, opened=connect_pipes):
            await up.wait()
            print("up", flush=True)
            await asyncio.to_thread(sys.stdin.readline)

scene = Watched(Path(sys.argv[1]))
print("made", flush=True)
sys.stdin.readline()
asyncio.run(scene.serve())
"""
GIT = {
    "PATH": os.defpath,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_COUNT": "3",
    "GIT_CONFIG_KEY_0": "protocol.file.allow",
    "GIT_CONFIG_VALUE_0": "always",
    "GIT_CONFIG_KEY_1": "user.name",
    "GIT_CONFIG_VALUE_1": "x",
    "GIT_CONFIG_KEY_2": "user.email",
    "GIT_CONFIG_VALUE_2": "x@x",
}
ASKED = (
    "status --porcelain --ignored",
    "add --all --dry-run",
    "commit --all --dry-run --porcelain",
    "stash list",
    "diff --stat",
    "log --oneline --all",
    "ls-files",
    "worktree list",
    "for-each-ref",
    "submodule status",
    "rev-parse --show-toplevel --is-bare-repository --is-inside-work-tree --is-inside-git-dir",
    "config --get-regexp core",
    "fsck",
)
"""What changes nothing and tells what a command that does would change."""


def git(at: Path, *words: str) -> str:
    run = subprocess.run(["git", *words], cwd=at, env=GIT, capture_output=True, text=True, check=False)
    return f"{run.returncode} {run.stdout}{run.stderr}"


class Ground:
    """Repositories of every kind in the sandbox: where a person works in each, and its git directory."""

    def __init__(self, inside: Path) -> None:
        self.inside, plain = inside, inside / "plain"
        git(inside, "init", "-q", "plain")
        (plain / "file").write_text("kept")
        git(plain, "add", "file")
        git(plain, "commit", "-qm", "first")
        git(inside, "clone", "-q", "--bare", "plain", "bare")
        git(inside, "clone", "-q", "--separate-git-dir", str(inside / "apart.git"), "plain", "apart")
        git(inside, "clone", "-q", "plain", "outer")
        git(inside / "outer", "submodule", "--quiet", "add", str(plain), "module")
        git(inside / "outer", "commit", "-qm", "module")
        git(inside, "clone", "-q", "plain", "elsewhere")
        (inside / "tree").mkdir()
        (inside / "tree" / "file").write_text("kept")
        git(inside / "elsewhere", "config", "core.worktree", str(inside / "tree"))
        git(plain, "worktree", "add", "-q", str(inside / "worktree"))
        (inside / "empty").mkdir()
        self.kinds = {
            "plain": (plain, plain / ".git"),
            "bare": (inside / "bare", inside / "bare"),
            "a git directory apart": (inside / "apart", inside / "apart.git"),
            "a submodule": (inside / "outer" / "module", inside / "outer" / ".git" / "modules" / "module"),
            "with submodules": (inside / "outer", inside / "outer" / ".git"),
            "core.worktree": (inside / "elsewhere", inside / "elsewhere" / ".git"),
            "an added work tree": (inside / "worktree", plain / ".git" / "worktrees" / "worktree"),
        }

    def says(self) -> dict[str, str]:
        """What git says of each repository, from its work tree, in its git directory, and from elsewhere."""
        said = {}
        for kind, (place, own) in self.kinds.items():
            for words in map(str.split, ASKED):
                said[f"{kind}: {words}"] = git(place, *words)
                said[f"{kind}, inside: {words}"] = git(own, *words)
                said[f"{kind}, by name: {words}"] = git(self.inside / "empty", f"--git-dir={own}", *words)
        return said


@contextmanager
def served(root: Path) -> Iterator[tuple[Ground, subprocess.Popen[str]]]:
    """Yield repositories beside which a contained server can be started: write a line."""
    tests = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": tests}
    with subprocess.Popen(
        [sys.executable, "-c", RUNS, str(root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as run:
        try:
            assert run.stdout is not None
            assert run.stdout.readline() == "made\n"
            yield Ground(root / "work"), run
        finally:
            run.kill()


def start(run: subprocess.Popen[str]) -> None:
    assert run.stdin is not None
    assert run.stdout is not None
    run.stdin.write("\n")
    run.stdin.flush()
    assert run.stdout.readline() == "up\n"


@pytest.mark.parametrize("end", ["ends", "is killed"])
def test_git_is_the_same_before_during_and_after(tmp_path: Path, end: str) -> None:
    with served(tmp_path.resolve() / "scene") as (ground, run):
        before = ground.says()
        start(run)
        assert (ground.inside / "plain" / "guarantees.yaml").is_dir(), "it stands in for what is protected"
        assert ground.says() == before
        if end == "is killed":
            run.send_signal(signal.SIGKILL)
            run.wait()
            assert (ground.inside / "plain" / "guarantees.yaml").is_dir(), "nobody was there to remove it"
            assert ground.says() == before
        else:
            run.communicate("\n")
        with private_workspace([]):  # as the next start of any server does
            assert not (ground.inside / "plain" / "guarantees.yaml").exists()
        assert not list(ground.inside.rglob("commondir")) or ground.says() == before
        left = {path.relative_to(ground.inside) for path in ground.inside.rglob("commondir")}
        assert left == {Path("plain/.git/worktrees/worktree/commondir")}


def test_a_commit_by_a_person_beside_a_server_keeps_every_file(tmp_path: Path) -> None:
    """A stand-in for `commondir` once made git look for the work tree where there was none."""
    with served(tmp_path.resolve() / "scene") as (ground, run):
        start(run)
        (ground.inside / "tree" / "file").write_text("changed")
        own = ground.kinds["core.worktree"][1]
        git(ground.inside / "elsewhere", "commit", "-qam", "second")
        assert git(own, "show", "--stat", "--format=%s").splitlines()[2:3] == [" file | 2 +-"]
        (ground.inside / "plain" / "file").write_text("changed")
        git(ground.inside / "plain", "add", "--all")
        git(ground.inside / "plain", "commit", "-qm", "second")
        assert git(ground.inside / "plain", "show", "--name-only", "--format=") == "0 file\n"


def test_a_work_tree_that_is_moved_beside_a_server_is_the_one_that_git_uses(tmp_path: Path) -> None:
    with served(tmp_path.resolve() / "scene") as (ground, run):
        start(run)
        place, own = ground.kinds["plain"]
        common = own / "commondir"
        assert common.exists()
        git(place, "config", "core.worktree", str(ground.inside / "tree"))
        while common.exists():  # the proxy looks several times a second
            os.sched_yield()
        assert git(place, "rev-parse", "--show-toplevel") == f"0 {ground.inside / 'tree'}\n"
