"""Attack: a contained server plants what the next git of a person runs, beside hooks and configuration.

Held by: read-only mounts of what is code in a repository, whether it is there or not.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support.machines.contained import NEEDS_SANDBOX, Scene

pytestmark = NEEDS_SANDBOX
EVIL = "[core]\n\tfsmonitor = touch {ran}\n"


def git(place: Path, *arguments: str) -> str:
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(place),
        "GIT_CONFIG_COUNT": "3",
        "GIT_CONFIG_KEY_0": "protocol.file.allow",
        "GIT_CONFIG_VALUE_0": "always",
        "GIT_CONFIG_KEY_1": "user.name",
        "GIT_CONFIG_VALUE_1": "x",
        "GIT_CONFIG_KEY_2": "user.email",
        "GIT_CONFIG_VALUE_2": "x@x",
    }
    run = subprocess.run(
        ["git", *arguments], cwd=place, env=environment, check=True, capture_output=True, text=True
    )
    return run.stdout


class Yard:
    """A repository in the sandbox with a submodule, a work tree beside it, and configuration it includes."""

    def __init__(self, scene: Scene) -> None:
        self.scene, self.place, self.ran = scene, scene.repository, scene.root / "ran"
        git(self.place, "commit", "-q", "--allow-empty", "-m", "first")
        library = scene.inside / "library"
        git(scene.inside, "clone", "-q", str(self.place), "library")
        git(self.place, "submodule", "--quiet", "add", str(library), "name/of/module")
        git(self.place, "commit", "-q", "-m", "module")
        self.tree = scene.inside / "tree"
        git(self.place, "worktree", "add", "-q", str(self.tree))
        git(self.place, "config", "extensions.worktreeConfig", "true")
        git(self.place, "config", "include.path", "../team.gitconfig")
        git(self.place, "config", "--add", "include.path", "../own/gitconfig")
        (self.place / "team.gitconfig").write_text("[core]\n")
        (self.place / "own").mkdir()

    @property
    def aims(self) -> list[Path]:
        """What a server would write so that the next `git status` runs a program."""
        own = self.place / ".git"
        module, tree = own / "modules/name/of/module", own / "worktrees/tree"
        return [
            own / "commondir",
            own / "config.worktree",
            module / "config",
            module / "commondir",
            module / "hooks" / "post-checkout",
            tree / "commondir",
            tree / "gitdir",
            tree / "config.worktree",
            self.place / "team.gitconfig",
            self.place / "own" / "gitconfig",
            self.place / "name/of/module/.git",
            self.tree / ".git",
        ]


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Yard:
    return Yard(Scene(tmp_path_factory.mktemp("repositories") / "scene"))


def test_what_git_runs_cannot_be_planted(yard: Yard) -> None:
    evil = yard.scene.inside / "evil"
    evil.write_text(EVIL.format(ran=yard.ran))
    before = {path: path.read_bytes() if path.exists() else None for path in yard.aims}
    tries = "; ".join(
        f"{{ cp {evil} {path} || {{ rm -rf {path} && cp {evil} {path}; }}; }} 2>/dev/null && echo {path} >&2"
        for path in yard.aims
    )
    assert yard.scene.run(f"{tries}; echo done >&2") == ["done"]
    assert {path: path.read_bytes() if path.exists() else None for path in yard.aims} == before


def test_a_git_directory_that_leads_elsewhere_is_not_followed(yard: Yard) -> None:
    """The whole attack: the next `git status` of a person would run the program."""
    evil = yard.scene.inside / "evil.git"
    script = (
        f"git init -q --bare {evil}; git -C {evil} config core.fsmonitor 'touch {yard.ran}';"
        f"git -C {evil} config core.bare false; echo {evil} > {yard.place}/.git/commondir; echo tried >&2"
    )
    assert yard.scene.run(script)[-1] == "tried"
    git(yard.place, "status")
    assert not yard.ran.exists()


def test_git_works_where_all_that_is_held(yard: Yard) -> None:
    """What stands in for files that must not come into being does not stop git, in there or outside."""
    script = (
        f"cd {yard.place}; git -c user.name=x -c user.email=x@x commit -q --allow-empty -m inside;"
        "git status --short >&2; git log -1 --format=%s >&2; git worktree list | wc -l >&2;"
        f"cd {yard.tree}; git log -1 --format=%s >&2"
    )
    assert yard.scene.run(script) == ["?? own/", "?? team.gitconfig", "inside", "2", "module"]
    assert git(yard.place, "log", "-1", "--format=%s") == "inside\n"
    assert not (yard.place / ".git" / "commondir").exists()


@pytest.mark.parametrize("setting", ["core.worktree", "core.bare"])
def test_a_repository_that_git_would_take_for_another_is_not_written_at_all(
    tmp_path: Path, setting: str
) -> None:
    """Nothing can stand in for `commondir` there: git would leave that setting aside."""
    scene = Scene(tmp_path / "scene")
    own = scene.repository / ".git"
    git(scene.repository, "config", setting, str(scene.inside) if setting == "core.worktree" else "true")
    script = f"echo {scene.outside} > {own}/commondir; touch {own}/index {own}/refs/new; echo tried >&2"
    assert scene.run(script)[-1] == "tried"
    assert not [name for name in ("commondir", "index", "refs/new") if (own / name).exists()]
    opened = {"sandbox": {"filesystem": {"allowWrite": [str(own)]}}}
    script = f"touch {own}/index {own}/config {own}/hooks/new; echo tried >&2"
    assert scene.run(script, **opened)[-1] == "tried"
    assert (own / "index").exists(), "its configuration may say so"
    assert not (own / "hooks" / "new").exists(), "code stays held"
