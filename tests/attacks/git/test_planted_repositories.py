"""Attack: a contained server makes a repository, or plants in one, what the next git of a person runs.

Held by: read-only mounts of whole git directories, and of the `.git` that would make a writable place a
repository, for servers without a tool for repositories; elsewhere a new repository cannot be held, so it is
looked for while the server runs and when it ends, and told and recorded with what to do.
"""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support.machines.contained import NEEDS_SANDBOX, Scene
from support.projects.policies import rule, tool, write_bundle

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.enforcement.sandbox.launcher import SandboxLauncher
from ironcurtain.enforcement.sandbox.profile import SandboxInputs
from ironcurtain.enforcement.sandbox.reach.reach import Reach, reach_of
from ironcurtain.enforcement.sandbox.report import Observation
from ironcurtain.servers.config import ServerConfig
from ironcurtain.servers.connect import parameters
from ironcurtain.servers.stdio_transport import connect_pipes
from ironcurtain.system.structs import replace

pytestmark = NEEDS_SANDBOX
TOOLS = {
    "files": [tool("write", path=["write-path", "delete-path"])],
    "git": [tool("commit", path={"roles": ["read-path", "write-path"], "repository": True})],
}
RULES = [rule("sandbox", "allow", paths={"roles": ["read-path", "write-path"], "within": ["~/notes"]})]
ME = ("-c", "user.name=x", "-c", "user.email=x@x")


def git(place: Path, *arguments: str) -> str:
    """Run git as a person does, with nothing switched off."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(place)}
    run = subprocess.run(
        ["git", *ME, *arguments], cwd=place, env=environment, check=False, capture_output=True, text=True
    )
    return run.stdout + run.stderr


class Planting(Scene):
    """A session in which one server, of files or of git, runs shell scripts."""

    reach: Reach
    on_seen: Callable[[Observation], None] = staticmethod(lambda _: None)

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.ran, self.seen = self.inside / "ran", list[Observation]()
        (self.home / "notes").mkdir()
        content = PolicyContent.of(Bundle.read(write_bundle(root, TOOLS, RULES)))
        self.files, self.git = (reach_of(content, name) for name in TOOLS)
        self.reach = self.files
        git(self.repository, "commit", "-q", "--allow-empty", "-m", "first")

    def grounds(self, config: ServerConfig) -> SandboxInputs:
        return replace(super().grounds(config), reaches={"escaping": self.reach})

    async def _run(self, config: ServerConfig) -> list[str]:
        words: list[str] = []
        ended = asyncio.Event()

        async def tell(_name: str, seen: Observation) -> None:
            self.seen.append(seen)
            self.on_seen(seen)

        start = parameters("escaping", config)
        async with SandboxLauncher.open(config, self.grounds(config)).connect(
            "escaping",
            start,
            on_words=words.append,
            on_end=lambda _: ended.set(),
            tell=tell,
            opened=connect_pipes,
        ):
            await asyncio.wait_for(ended.wait(), 60)
        return words

    def told(self, kind: str) -> list[str]:
        """Return the new repositories that were told of as one kind."""
        return [
            seen.text.split('"')[1]
            for seen in self.seen
            if seen.kind == kind and seen.text.startswith("new repository")
        ]

    def plant(self, place: Path) -> str:
        """Return a script that makes a work tree whose monitor leaves a mark."""
        return f"git init -q {place} 2>/dev/null; git -C {place} config core.fsmonitor 'touch {self.ran}';"


@pytest.fixture
def scene(tmp_path: Path) -> Planting:
    return Planting(tmp_path / "scene")


def test_the_attack_works_where_nothing_holds_it(scene: Planting) -> None:
    """So that the others can fail: what is planted here runs in a person's `git status`."""
    scene.reach = scene.git
    scene.run(f"{scene.plant(scene.inside)} true")
    git(scene.inside, "status")
    assert scene.ran.exists()


@pytest.mark.parametrize("name", ["work", "home/notes"])
def test_a_writable_place_cannot_be_made_a_repository(scene: Planting, name: str) -> None:
    place = scene.root / name
    other = place / "other"
    script = (
        f"{scene.plant(place)} {scene.plant(other)} rmdir {place}/.git; mv {place}/.git {place}/away;"
        f"cp -r {other}/.git {place}/; echo 'gitdir: {other}/.git' > {place}/.git; rm -rf {other};"
        "echo tried >&2"
    )
    assert scene.run(script)[-1] == "tried"
    git(place, "status")
    assert not scene.ran.exists()
    assert not (place / ".git").exists(), "what stood in for it goes with the server"


def test_git_of_a_person_works_while_a_stand_in_is_there(scene: Planting) -> None:
    def init(seen: Observation) -> None:
        if seen.kind == "observed":
            scene.said += [git(scene.inside, "status"), git(scene.inside, "init", "-q")]
            (scene.inside / "go").touch()

    scene.on_seen = init
    scene.run(f"while [ ! -e {scene.inside}/go ]; do sleep 0.1; done; touch {scene.inside}/.git/planted")
    assert scene.said == ["fatal: not a git repository (or any of the parent directories): .git\n", ""]
    assert git(scene.inside, "rev-parse", "--git-dir") == ".git\n"
    assert not (scene.inside / ".git" / "planted").exists()


def test_nothing_is_planted_in_a_repository_that_is_there(scene: Planting) -> None:
    """The list of a begun rebase, work trees, another place for it all, a submodule recorded in the index."""
    own = scene.repository / ".git"
    before = sorted(own.rglob("*")), (own / "HEAD").read_bytes()
    names = [
        "rebase-merge/git-rebase-todo",
        "rebase-apply/0001",
        "sequencer/todo",
        "worktrees/new/commondir",
        "modules/new/config",
        "commondir",
        "index",
        "HEAD",
    ]
    tries = "; ".join(
        f"mkdir -p {own / name}/..; echo exec touch {scene.ran} > {own / name}" for name in names
    )
    assert scene.run(f"({tries}) 2>/dev/null; rm -rf {own} 2>/dev/null; echo tried >&2")[-1] == "tried"
    assert (sorted(own.rglob("*")), (own / "HEAD").read_bytes()) == before


def test_a_nested_repository_is_not_recorded_as_a_submodule(scene: Planting) -> None:
    """The whole attack: `git status` around it would run what its configuration names."""
    nested = scene.repository / "nested"
    head = git(scene.repository, "rev-parse", "HEAD").strip()
    script = (
        f"{scene.plant(nested)} cd {scene.repository};"
        f"git update-index --add --cacheinfo 160000,{head},nested; echo tried >&2"
    )
    assert scene.run(script)[-1] == "tried"
    git(scene.repository, "status")
    assert not scene.ran.exists()
    assert scene.told("violation") == [str(nested / ".git")]


def test_a_link_to_a_git_directory_is_not_replaced_unseen(scene: Planting) -> None:
    """What it leads to is held, and the link cannot be."""
    own, kept = scene.repository / ".git", scene.repository / "kept"
    own.rename(kept)
    own.symlink_to("kept")
    script = f"touch {kept}/planted 2>/dev/null || rm {own}; {scene.plant(scene.repository)} echo tried >&2"
    assert scene.run(script)[-1] == "tried"
    assert scene.told("violation") == [str(own)]
    assert not (kept / "planted").exists()


def test_a_repository_is_not_moved_aside(scene: Planting) -> None:
    """So that another one could take its place."""
    aside, own = scene.repository.with_name("aside"), scene.repository / ".git"
    before = own.stat().st_ino
    script = f"mv {scene.repository} {aside}; mkdir {scene.repository}; {scene.plant(scene.repository)}"
    assert scene.run(f"{script} echo tried >&2")[-1] == "tried"
    git(scene.repository, "status")
    assert not scene.ran.exists()
    assert own.stat().st_ino == before


def test_a_new_repository_is_told_of_when_the_server_ends(scene: Planting) -> None:
    there, bare, linked = scene.inside / "new", scene.inside / "like.any", scene.inside / "tree"
    pointer = scene.home / "notes" / "one" / ".git"
    script = (
        f"{scene.plant(there)} git init -q --bare {bare}; mkdir -p {linked} {pointer.parent};"
        f"cp {bare}/HEAD {linked}/; echo {bare} > {linked}/commondir; echo 'gitdir: {bare}' > {pointer}"
    )
    scene.run(script)
    assert sorted(scene.told("violation")) == sorted(map(str, (there / ".git", bare, linked, pointer)))
    words = [seen.text for seen in scene.seen if seen.text.startswith("new repository")]
    assert all("run no git in it or around it" in text for text in words)


def test_a_new_repository_is_told_of_while_the_server_runs(scene: Planting) -> None:
    scene.on_seen = lambda seen: (scene.inside / "told").touch() if seen.kind == "violation" else None
    new = scene.inside / "new"
    scene.run(f"{scene.plant(new)} while [ ! -e {scene.inside}/told ]; do sleep 0.1; done")
    assert scene.told("violation") == [str(new / ".git")], "it is told of once"


def test_many_directories_do_not_hide_a_new_repository_above_them(scene: Planting) -> None:
    many, new, deep = scene.inside / "many", scene.inside / "new", scene.inside / "many" / "1" / "new"
    scene.run(f"mkdir {many}; cd {many}; seq 20000 | xargs mkdir; {scene.plant(new)} {scene.plant(deep)}")
    assert str(new / ".git") in scene.told("violation"), "the deep one may be beyond what is looked at"
    assert [seen.kind for seen in scene.seen].count("unexamined") == 1, (
        "it is said that not all was looked at"
    )


def test_repositories_that_were_there_are_not_told_of(scene: Planting) -> None:
    scene.run(f"mkdir {scene.inside}/empty {scene.inside}/empty/.git; touch {scene.inside}/file")
    assert not scene.told("violation") + scene.told("repository")


def test_a_server_with_tools_for_repositories_makes_them_and_is_told_of(scene: Planting) -> None:
    scene.reach = scene.git
    script = (
        f"git init -q {scene.inside}; git -C {scene.repository} -c user.name=x -c user.email=x@x"
        " commit -q --allow-empty -m inside; echo $? >&2"
    )
    assert scene.run(script)[-1] == "0"
    assert git(scene.repository, "log", "-1", "--format=%s") == "inside\n"
    assert scene.told("repository") == [str(scene.inside / ".git")]
    assert not scene.told("violation")
