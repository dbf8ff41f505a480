"""The world of a scenario file."""

from __future__ import annotations

import pytest

from ironcurtain.decision.canonical.host_view import FileEntry, FileKind, RepositoryPlaces, UnreadableError
from ironcurtain.decision.canonical.simulated_host import SimulatedHost
from ironcurtain.errors import ScenarioError
from ironcurtain.model.scenarios import DescribedFile, DescribedWorld, Remote, Repository

DESCRIBED = DescribedWorld(
    home="/home/user",
    sandbox="/home/user/sandbox",
    protected=("~/.ironcurtain", "/etc/passwd"),
    working_roots={"git": "/srv/work/"},
    symlinks={"/home/user/link": "/etc", "/home/user/sandbox/l": "../x"},
    files={"/home/user/sandbox/two-names": DescribedFile(links=2), "/etc/passwd": DescribedFile()},
    repositories={
        "/home/user/sandbox/repo": Repository(
            remotes={
                "origin": Remote(fetch=("https://github.com/u/r",), push=("git@github.com:u/r.git",)),
                "upstream": Remote(fetch=("https://gitlab.com/u/r", "https://gitlab.com/u/r")),
                "empty": Remote(),
            },
            tracking={"main": "upstream", "work": "origin"},
        ),
        "/srv/bare.git": Repository(bare=True, remotes={"only": Remote(push=("https://example.com/r",))}),
        "/srv/work/alone": Repository(),
    },
)


def world() -> SimulatedHost:
    return SimulatedHost(DESCRIBED)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", FileKind.DIRECTORY),
        ("/home", FileKind.DIRECTORY),
        ("/home/user", FileKind.DIRECTORY),
        ("/home/user/sandbox", FileKind.DIRECTORY),
        ("/home/user/.ironcurtain", FileKind.DIRECTORY),
        ("/srv/work", FileKind.DIRECTORY),
        ("/etc", FileKind.DIRECTORY),
        ("/etc/passwd", FileKind.FILE),
        ("/home/user/link", FileKind.SYMLINK),
        ("/home/user/sandbox/two-names", FileKind.FILE),
        ("/home/user/sandbox/repo/.git", FileKind.DIRECTORY),
        ("/srv/bare.git", FileKind.DIRECTORY),
        ("/srv/bare.git/.git", None),
        ("/home/user/link/passwd", None),
        ("/etc/shadow", None),
        ("/proc", None),
    ],
)
def test_what_is_named_exists_and_nothing_else(path: str, kind: FileKind | None) -> None:
    entry = world().entry(path)
    assert (entry and entry.kind) == kind


def test_links_are_as_described_and_names_are_the_last_component() -> None:
    entries = [world().entry(f"/home/user/sandbox/{name}") for name in ("two-names", "l")]
    assert [(entry.links, entry.name) for entry in entries if entry] == [(2, "two-names"), (1, "l")]


def test_identities_are_distinct_and_the_same_for_every_reading() -> None:
    paths = ["/", "/home", "/etc", "/etc/passwd", "/home/user/sandbox/two-names", "/srv/bare.git"]
    first, second = ([entry.identity for entry in map(world().entry, paths) if entry] for _ in range(2))
    assert first == second
    assert len(set(first)) == len(paths)


def test_children_are_sorted() -> None:
    assert world().children("/home/user") == [".ironcurtain", "link", "sandbox"]
    assert world().children("/home/user/sandbox/repo") == [".git"]


@pytest.mark.parametrize("path", ["/etc/passwd", "/home/user/link", "/missing"])
def test_only_directories_have_children(path: str) -> None:
    with pytest.raises(UnreadableError):
        world().children(path)


def test_a_symlink_is_what_it_says() -> None:
    assert [world().readlink(f"/home/user/{name}") for name in ("link", "sandbox/l")] == ["/etc", "../x"]


@pytest.mark.parametrize("path", ["/etc", "/etc/passwd", "/missing"])
def test_only_symlinks_have_a_target(path: str) -> None:
    with pytest.raises(UnreadableError):
        world().readlink(path)


@pytest.mark.parametrize(
    "described",
    [
        DescribedWorld(home="home/user"),
        DescribedWorld(home="~"),
        DescribedWorld(sandbox="sandbox"),
        DescribedWorld(protected=("/a/../b",)),
        DescribedWorld(symlinks={"/a": "/b"}, files={"/a": DescribedFile()}),
        DescribedWorld(symlinks={"/a": "/b", "/a/": "/c"}),
        DescribedWorld(symlinks={"/a": "/b"}, files={"/a/x": DescribedFile()}),
        DescribedWorld(files={"/a": DescribedFile(), "/a/b": DescribedFile()}),
        DescribedWorld(files={"/a": DescribedFile()}, repositories={"/a": Repository()}),
        DescribedWorld(files={"/": DescribedFile()}),
    ],
)
def test_a_description_that_cannot_be_built_is_refused(described: DescribedWorld) -> None:
    with pytest.raises(ScenarioError):
        SimulatedHost(described)


@pytest.mark.parametrize(
    ("path", "places"),
    [
        (
            "/home/user/sandbox/repo",
            RepositoryPlaces("/home/user/sandbox/repo", "/home/user/sandbox/repo/.git"),
        ),
        (
            "/home/user/sandbox/repo/a/b",
            RepositoryPlaces("/home/user/sandbox/repo", "/home/user/sandbox/repo/.git"),
        ),
        ("/home/user/sandbox/repo/.git", RepositoryPlaces(None, "/home/user/sandbox/repo/.git")),
        ("/srv/bare.git/refs", RepositoryPlaces(None, "/srv/bare.git")),
        ("/home/user/sandbox", None),
        ("/home/user/sandbox/repo2", None),
        ("/missing", None),
    ],
)
def test_the_repository_of_a_path_is_the_nearest_one_above(
    path: str, places: RepositoryPlaces | None
) -> None:
    assert world().repository(path, server="git") == places


@pytest.mark.parametrize(
    ("repository", "remote", "urls"),
    [
        ("/home/user/sandbox/repo", "origin", ("https://github.com/u/r", "git@github.com:u/r.git")),
        ("/home/user/sandbox/repo", None, ("https://gitlab.com/u/r",)),
        ("/home/user/sandbox/repo/.git", "upstream", ("https://gitlab.com/u/r",)),
        ("/srv/bare.git", None, ("https://example.com/r",)),
        ("/srv/bare.git", "https://evil.example/x", ("https://evil.example/x",)),
        ("/srv/bare.git", "git@evil.example:x", ("git@evil.example:x",)),
        ("/srv/bare.git", "/srv/other", ("/srv/other",)),
        ("/srv/bare.git", "../other", ("/srv/bare.git/../other",)),
        ("/srv/bare.git", "./a:b", ("/srv/bare.git/./a:b",)),
        (None, "https://example.com/r", ("https://example.com/r",)),
    ],
)
def test_a_remote_is_what_the_description_says(
    repository: str | None, remote: str | None, urls: tuple[str]
) -> None:
    found = world().remote(repository, remote, server="git")
    assert (found.urls, found.unresolved) == (urls, None)


@pytest.mark.parametrize(
    ("repository", "remote"),
    [
        ("/home/user/sandbox/repo", "nobody"),
        ("/home/user/sandbox/repo", "empty"),
        ("/home/user/sandbox/repo/missing", "origin"),
        ("/home/user/sandbox", None),
        ("/home/user/sandbox", "origin"),
        ("/missing", None),
        ("/srv/work/alone", None),
        (None, "origin"),
        (None, None),
    ],
)
def test_what_the_description_does_not_say_stays_unresolved(
    repository: str | None, remote: str | None
) -> None:
    found = world().remote(repository, remote, server="git")
    assert found.urls == ()
    assert found.unresolved


@pytest.mark.parametrize(
    ("remotes", "tracking", "taken"),
    [
        (["origin", "upstream"], {}, "origin"),
        (["origin", "upstream"], {"main": "upstream"}, "upstream"),
        (["origin", "upstream"], {"other": "upstream"}, "origin"),
        (["origin", "upstream"], {"main": "deleted"}, "origin"),
        (["upstream"], {}, "upstream"),
        (["upstream"], {"main": "deleted"}, "upstream"),
        (["one", "two"], {}, None),
        (["one", "two"], {"main": "two"}, "two"),
        ([], {"main": "origin"}, None),
    ],
)
def test_the_remote_that_git_takes_by_itself(
    remotes: list[str], tracking: dict[str, str], taken: str | None
) -> None:
    described = {name: Remote(fetch=(f"https://example.com/{name}",)) for name in remotes}
    repositories = {"/r": Repository(remotes=described, tracking=tracking)}
    found = SimulatedHost(DescribedWorld(repositories=repositories)).remote("/r", None, server="git")
    assert found.urls == ((f"https://example.com/{taken}",) if taken else ())
    assert (found.unresolved is None) == (taken is not None)


def test_an_entry_is_complete() -> None:
    assert SimulatedHost(DescribedWorld(home="/h")).entry("/h") == FileEntry(
        FileKind.DIRECTORY, (0, 2), 2, "h"
    )
