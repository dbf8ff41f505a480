"""Attack: ten ways out of a sandbox, on a real disk.

Held by: resolving paths as the kernel does, links and mounts included.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support.called import answering, bundle, decide_with, described, load
from support.projects.policies import tool

from ironcurtain.decision.canonical.this_host import ThisHost
from ironcurtain.decision.decide import Call

TOOLS = [
    tool("read", path=["read-path"]),
    tool("write", path=["write-path"]),
    tool("delete", path=["delete-path"]),
    tool("tree", path={"roles": ["read-path"], "recursive": True}),
]
ALLOWED, DENIED = ("allow", "structural-sandbox-allow"), "deny"


class Place:
    """A home, a sandbox in it, a secret outside, and protected configuration."""

    def __init__(self, base: Path) -> None:
        self.home, self.sandbox, self.outside = base / "home", base / "home" / "work", base / "outside"
        for directory in (self.sandbox, self.outside, self.home / ".ironcurtain"):
            directory.mkdir(parents=True)
        self.secret = self.outside / "secret"
        self.secret.write_text("secret")
        self.key = self.home / ".ironcurtain" / "key"
        self.key.write_text("key")

    def decide(self, name: str, path: str) -> tuple[str, str]:
        world = described(home=str(self.home), sandbox=str(self.sandbox))
        policy = load(bundle({"s": TOOLS}), world, ThisHost(home=str(self.home)))
        decision = decide_with(policy, Call("s", name, {"path": path}), answering([]))
        return decision.verdict, decision.rule


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def _dot_dot(_: Place) -> str:
    return "../../outside/secret"


def _symlink(place: Place) -> str:
    (place.sandbox / "link").symlink_to(place.secret)
    return "link"


def _linked_directory(place: Place) -> str:
    (place.sandbox / "dir").symlink_to(place.outside)
    return "dir/secret"


def _dangling(place: Place) -> str:
    (place.sandbox / "new").symlink_to(place.outside / "not-yet" / "there")
    return "new"


def _chain(place: Place) -> str:
    previous = place.outside
    for number in range(30):
        link = place.sandbox / f"l{number}"
        link.symlink_to(previous)
        previous = link
    return "l29/secret"


def _dot_dot_after_link(place: Place) -> str:
    (place.sandbox / "dir").symlink_to(place.outside)
    return "dir/../outside/secret"


def _deep_missing(place: Place) -> str:
    (place.sandbox / "ln").symlink_to(place.outside)
    return "ln" + "/n" * 70


def _sibling(place: Place) -> str:
    return f"{place.sandbox}-evil/x"


def _tilde(_: Place) -> str:
    return "~/../outside/secret"


def _absolute_link_to_root(place: Place) -> str:
    (place.sandbox / "root").symlink_to("/")
    return f"root{place.secret}"


WAYS = [
    _dot_dot, _symlink, _linked_directory, _dangling, _chain, _dot_dot_after_link, _deep_missing, _sibling,
    _tilde, _absolute_link_to_root,
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__.strip("_"))
@pytest.mark.parametrize("name", ["read", "write", "delete", "tree"])
def test_ten_ways_out(way: Callable[[Place], str], name: str, place: Place) -> None:
    assert place.decide(name, way(place))[0] == DENIED


@pytest.mark.parametrize("path", ["x", "./x", "d/../x", "//x"[1:], "new/deep/x", ".", "trailing/", "x."])
def test_what_stays_inside_is_allowed(path: str, place: Place) -> None:
    inside = path if not path.startswith("/") else f"{place.sandbox}{path}"
    assert place.decide("read", inside) == ALLOWED


PROCESS = [
    "/proc/self/cwd/x",
    "/proc/self/root/etc/passwd",
    "/dev/fd/0",
    "/dev/stdin",
    f"/proc/{os.getpid()}/cwd",
]


@pytest.mark.parametrize("path", PROCESS, ids=["cwd", "root", "fd", "stdin", "pid"])
def test_places_of_a_process(path: str, place: Place) -> None:
    (place.sandbox / "p").symlink_to(path)
    for spelled in (path, "p"):
        assert place.decide("read", spelled) == (DENIED, "structural-unrepresentable-argument")


# -- hard links --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "expected"), [("read", "allow"), ("write", DENIED), ("delete", DENIED)])
def test_a_hard_link_to_a_file_outside(name: str, expected: str, place: Place) -> None:
    """Reading it is the sandbox's own business; writing it would change the file outside."""
    (place.sandbox / "twin").hardlink_to(place.secret)
    assert place.decide(name, "twin")[0] == expected


@pytest.mark.parametrize("name", ["read", "write", "delete", "tree"])
def test_a_hard_link_to_a_protected_file(name: str, place: Place) -> None:
    (place.sandbox / "twin").hardlink_to(place.key)
    assert place.decide(name, "twin") == (DENIED, "structural-protected-path")


def test_a_symlink_to_a_hard_link_to_a_protected_file(place: Place) -> None:
    (place.sandbox / "twin").hardlink_to(place.key)
    (place.sandbox / "to-twin").symlink_to("twin")
    assert place.decide("read", "to-twin") == (DENIED, "structural-protected-path")


@pytest.fixture
def mounted(place: Place) -> object:
    target = place.sandbox / "mounted"
    target.mkdir()
    run = subprocess.run(
        ["mount", "--bind", str(place.home / ".ironcurtain"), str(target)], capture_output=True, check=False
    )
    if run.returncode:
        pytest.skip("this machine allows no bind mounts")
    yield target
    subprocess.run(["umount", str(target)], check=True)


@pytest.mark.usefixtures("mounted")
@pytest.mark.parametrize("path", ["mounted/key", "mounted", "mounted/new"])
def test_a_protected_directory_bind_mounted_into_the_sandbox(path: str, place: Place) -> None:
    assert place.decide("read", path) == (DENIED, "structural-protected-path")
