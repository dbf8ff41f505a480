"""Protected places: the deepest of sandbox and protected entries decides; identity counts, not spelling."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ironcurtain.decision.canonical.paths import Resolver
from ironcurtain.decision.canonical.simulated_host import SimulatedHost
from ironcurtain.decision.canonical.this_host import ThisHost
from ironcurtain.decision.protected_paths import PathGuard, Protection
from ironcurtain.model.scenarios import DescribedWorld


def guard(protected: list[str], sandbox: str | None = None) -> PathGuard:
    world = SimulatedHost(DescribedWorld(sandbox=sandbox, protected=tuple(protected)))
    return Protection(protected, sandbox, world).guard(Resolver(world, home="/home/user"))


@pytest.mark.parametrize(
    ("path", "protected", "sandbox", "refused"),
    [
        ("/a/secret", ["/a/secret"], None, True),
        ("/a/secret/x/y", ["/a/secret"], None, True),
        ("/a/secret2", ["/a/secret"], None, False),
        ("/a/SECRET", ["/a/secret"], None, False),
        ("/a", ["/a/secret"], None, False),
        ("/p/s/x", ["/p"], "/p/s", False),
        ("/p/s", ["/p"], "/p/s", False),
        ("/p/other", ["/p"], "/p/s", True),
        ("/p/s2", ["/p"], "/p/s", True),
        ("/p/s/.env", ["/p", "/p/s/.env"], "/p/s", True),
        ("/p/s/d/x", ["/p/s/d"], "/p/s", True),
        ("/p/s/x", ["/p/s"], "/p/s", True),
        ("/p/q/s/x", ["/p", "/p/q"], "/p/q/s", False),
    ],
)
def test_the_deepest_entry_decides(
    path: str,
    protected: list[str],
    sandbox: str | None,
    refused: bool,
) -> None:
    assert guard(protected, sandbox).refuses(path) is refused


@pytest.mark.parametrize(
    ("path", "refused"),
    [
        ("/x/.git/config", True),
        ("/x/.GIT", True),
        ("/x/.Git/hooks/post-commit", True),
        ("/x/.gitignore", False),
        ("/x/git/config", False),
        ("/x/a.git/config", False),
    ],
)
def test_a_git_directory_in_any_case(path: str, refused: bool) -> None:
    assert guard([]).refuses_change(path) is refused


@pytest.mark.parametrize(("path", "below"), [("/a", True), ("/a/secret", True), ("/a/b", False), ("/", True)])
def test_below(path: str, below: bool) -> None:
    assert guard(["/a/secret"]).refuses_below(path) is below


def on_disk(protected: list[Path], sandbox: Path | None, home: Path) -> PathGuard:
    world = ThisHost(home=str(home))
    made = Protection([str(p) for p in protected], str(sandbox) if sandbox else None, world)
    return made.guard(Resolver(world, home=str(home)))


def test_a_place_inside_a_bare_repository(tmp_path: Path) -> None:
    for name in ("HEAD", "objects", "refs", "hooks"):
        (tmp_path / "r.git" / name).mkdir(parents=True)
    found = on_disk([], None, tmp_path)
    assert found.refuses_change(f"{tmp_path}/r.git/config")
    assert found.refuses_change(f"{tmp_path}/r.git/hooks/post-receive")
    assert not found.refuses_change(f"{tmp_path}/other")


def test_another_name_of_a_protected_file(tmp_path: Path) -> None:
    secret = tmp_path / "state" / "deep" / "key"
    secret.parent.mkdir(parents=True)
    secret.write_text("k")
    (tmp_path / "innocent").hardlink_to(secret)
    (tmp_path / "own").write_text("x")
    (tmp_path / "own-too").hardlink_to(tmp_path / "own")
    for protected in (secret, tmp_path / "state"):
        found = on_disk([protected], None, tmp_path)
        assert found.refuses(f"{tmp_path}/innocent")
        assert not found.refuses(f"{tmp_path}/own-too")


def test_the_sandbox_inside_a_protected_directory_is_not_searched(tmp_path: Path) -> None:
    sandbox = tmp_path / "state" / "sandbox"
    sandbox.mkdir(parents=True)
    (sandbox / "a").write_text("x")
    (tmp_path / "b").hardlink_to(sandbox / "a")
    assert not on_disk([tmp_path / "state"], sandbox, tmp_path).refuses(f"{tmp_path}/b")


class Mounted(ThisHost):
    """A disk on which `/mounted` is the same directory as another one, as a bind mount makes it."""

    def __init__(self, real: Path) -> None:
        super().__init__(home="/home/user")
        self.real = str(real)

    def entry(self, path: str):  # type: ignore[no-untyped-def]
        if path == "/mounted" or path.startswith("/mounted/"):
            path = self.real + path.removeprefix("/mounted")
        return super().entry(path)


@pytest.mark.parametrize(
    ("path", "sandbox", "refused"),
    [
        ("/mounted/key", None, True),
        ("/mounted", None, True),
        ("/mounted/other", "/mounted/s", True),
        ("/mounted/s/x", "/mounted/s", False),
        ("/mounted/x", "/mounted", True),
        ("/elsewhere", "/mounted/s", False),
    ],
)
def test_a_protected_directory_mounted_a_second_time(
    path: str,
    sandbox: str | None,
    refused: bool,
    tmp_path: Path,
) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "key").write_text("k")
    world = Mounted(tmp_path)
    made = Protection([str(tmp_path)], sandbox, world).guard(Resolver(world, home="/home/user"))
    assert made.refuses(path) is refused


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_protected_directory_that_cannot_be_searched_refuses(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir()
    (tmp_path / "a").write_text("x")
    (tmp_path / "b").hardlink_to(tmp_path / "a")
    closed.chmod(0)
    with pytest.raises(Exception, match="Permission"):
        on_disk([closed], None, tmp_path).refuses(f"{tmp_path}/b")
