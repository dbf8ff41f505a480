"""The described world and the disk are one: random descriptions, made real, give the same answers."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples

from ironcurtain.decision.canonical.host_view import FileEntry, FileKind, HostView, UnreadableError
from ironcurtain.decision.canonical.paths import Resolver, is_within
from ironcurtain.decision.canonical.simulated_host import SimulatedHost
from ironcurtain.decision.canonical.this_host import ThisHost
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.model.scenarios import DescribedFile, DescribedWorld, Remote, Repository

Value = TypeVar("Value")

# Directories, links and files have names of their own, so that no description contradicts itself.
DIRECTORIES = st.lists(st.sampled_from(["d1", "d2"]), max_size=3).map(
    lambda names: "".join(f"/{n}" for n in names)
)
STEPS = st.sampled_from(["d1", "d2", "l1", "l2", "f1", "é", "e\u0301", "..", ".", "", "none"])
TEXTS = st.lists(STEPS, min_size=1, max_size=8).map("/".join)
LINKS = st.dictionaries(
    st.tuples(DIRECTORIES, st.sampled_from(["l1", "l2", "é"])).map("/".join), TEXTS.filter(bool), max_size=5
)
FILES = st.dictionaries(
    st.tuples(DIRECTORIES, st.sampled_from(["f1", "f2"])).map("/".join), st.integers(1, 3), max_size=4
)


def describe(
    top: str, directories: list[str], links: dict[str, str], files: dict[str, int]
) -> DescribedWorld:
    return DescribedWorld(
        home=f"{top}/home",
        protected=tuple(top + place for place in directories),
        symlinks={top + place: top + text if text.startswith("/") else text for place, text in links.items()},
        files={top + place: DescribedFile(links=count) for place, count in files.items()},
    )


def make(described: DescribedWorld, spare: str) -> None:
    """Build the description on disk; further links of a file go to the spare directory."""
    for place in (described.home, *described.protected):
        Path(place).mkdir(parents=True, exist_ok=True)
    for place, target in described.symlinks.items():
        Path(place).parent.mkdir(parents=True, exist_ok=True)
        Path(place).symlink_to(target)
    for number, (place, file) in enumerate(described.files.items()):
        Path(place).parent.mkdir(parents=True, exist_ok=True)
        Path(place).touch()
        for link in range(1, file.links):
            os.link(place, f"{spare}/{number}-{link}")


def answer(question: Callable[..., Value], *arguments: str) -> Value | str:
    try:
        return question(*arguments)
    except (UnrepresentableError, UnreadableError) as refusal:
        return type(refusal).__name__


def facts(entry: FileEntry | None) -> tuple[FileKind, str, int | None] | None:
    if entry is None:
        return None
    return entry.kind, entry.name, entry.links if entry.kind is FileKind.FILE else None


def told(world: HostView, text: str, home: str, top: str) -> list[object]:
    """Return all that a world says about a path and, below the top, about the place it leads to."""
    real = answer(Resolver(world, home=home).resolve, text, home)
    if not is_within(real, top):
        return [real]
    return [real, facts(world.entry(real)), answer(world.children, real), answer(world.readlink, real)]


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(DIRECTORIES, max_size=3), LINKS, FILES, st.lists(TEXTS, min_size=1, max_size=8))
def test_the_twins_agree_on_paths(
    directories: list[str], links: dict[str, str], files: dict[str, int], asked: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as made, tempfile.TemporaryDirectory() as spare:
        top = os.path.realpath(made) + "/z" * 12  # so deep that no `..` leaves the temporary directory
        described = describe(top, directories, links, files)
        make(described, spare)
        memory, disk = SimulatedHost(described), ThisHost(home=described.home)
        for text in asked:
            for form in (f"{top}/{text}", f"./{text}", f"~/{text}"):
                assert told(memory, form, described.home, top) == told(disk, form, described.home, top)
        for place in (*described.symlinks, *described.files, *described.protected):
            assert facts(memory.entry(place)) == facts(disk.entry(place))


REMOTES = st.dictionaries(
    st.sampled_from(["origin", "upstream", "fork"]),
    st.builds(
        Remote,
        fetch=st.tuples(st.sampled_from(["https://github.com/u/r", "git@gitlab.com:u/r.git"])),
        push=st.lists(st.sampled_from(["https://a.example/r", "ssh://b.example/r"]), max_size=2).map(tuple),
    ),
    max_size=3,
)
ARGUMENTS = (
    None,
    "origin",
    "fork",
    "nobody",
    "https://github.com/u/r",
    "git@x.example:y",
    "../beside",
    "/srv/x",
)


def git(*arguments: str) -> None:
    environ = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *arguments], check=True, capture_output=True, env=environ)


def make_repository(place: str, repository: Repository) -> None:
    git("init", "--quiet", f"--initial-branch={repository.branch}", *(["--bare"] * repository.bare), place)
    for name, remote in repository.remotes.items():
        for url in remote.fetch:
            git("-C", place, "config", "--add", f"remote.{name}.url", url)
        for url in remote.push:
            git("-C", place, "config", "--add", f"remote.{name}.pushurl", url)
    for branch, name in repository.tracking.items():
        git("-C", place, "config", f"branch.{branch}.remote", name)


@settings(max_examples=examples(10), deadline=None)
@given(
    REMOTES,
    st.sampled_from([{}, {"main": "upstream"}, {"main": "deleted"}, {"other": "fork"}]),
    st.booleans(),
)
def test_the_twins_agree_on_repositories(
    remotes: dict[str, Remote],
    tracking: dict[str, str],
    bare: bool,
) -> None:
    with tempfile.TemporaryDirectory() as made:
        top = os.path.realpath(made) + "/r"
        repository = Repository(remotes=remotes, tracking=tracking, bare=bare)
        make_repository(top, repository)
        memory = SimulatedHost(DescribedWorld(home="/nonexistent", repositories={top: repository}))
        disk = ThisHost(home="/nonexistent")
        for path in (top, f"{top}/missing", *([] if bare else [f"{top}/.git"]), os.path.dirname(top)):  # noqa: PTH120 - text
            assert memory.repository(path, server="git") == disk.repository(path, server="git")
        for argument in ARGUMENTS:
            one, other = (w.remote(top, argument, server="git") for w in (memory, disk))
            assert (set(one.urls), one.unresolved is None) == (set(other.urls), other.unresolved is None), (
                argument
            )
