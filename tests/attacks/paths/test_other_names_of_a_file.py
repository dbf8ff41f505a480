"""Attack: a file that rules deny is reached by another name, which they allow.

Held by: resolving links, and mounts that hide the denied place. docs/sandbox.md has what neither holds.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.machines.contained import NEEDS_SANDBOX, Scene
from support.projects.policies import rule, tool, write_bundle

from ironcurtain.policy import Policy

SECRET = "the denied file"


class Ground:
    """A workspace with a denied directory, and names in the workspace for the file in it."""

    def __init__(self, root: Path) -> None:
        self.scene = Scene(root)
        self.inside, self.denied = self.scene.inside, self.scene.inside / "private"
        self.denied.mkdir()
        self.secret = self.denied / "secret"
        self.secret.write_text(SECRET)
        rules = [
            rule("private", "deny", paths={"roles": ["read-path"], "within": [str(self.denied)]}),
            rule("work", "allow", paths={"roles": ["read-path"], "within": [str(self.inside)]}),
        ]
        self.bundle = write_bundle(root, {"s": [tool("read", path=["read-path"])]}, rules)

    def decides(self, path: Path) -> str:
        with Policy.load(self.bundle, home=str(self.scene.home)) as policy:
            return str(policy.decide("s", "read", {"path": str(path)}).verdict)

    def reads(self, path: Path) -> bool:
        """Tell whether a contained server gets the text by that name, the denied place being hidden."""
        said = self.scene.run(
            f"timeout 20 cat {path} >&2; echo >&2", sandbox={"filesystem": {"denyRead": [str(self.denied)]}}
        )
        return SECRET in "".join(said)


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path.resolve() / "scene")


def _itself(ground: Ground) -> Path:
    return ground.secret


def _symbolic_link(ground: Ground) -> Path:
    (ground.inside / "link").symlink_to(ground.secret)
    return ground.inside / "link"


def _hard_link(ground: Ground) -> Path:
    (ground.inside / "twin").hardlink_to(ground.secret)
    return ground.inside / "twin"


def _copy(ground: Ground) -> Path:
    (ground.inside / "copy").write_text(ground.secret.read_text())
    return ground.inside / "copy"


def _pipe(ground: Ground) -> Path:
    """A program of the user's writes the file into a pipe, for whoever opens it."""
    pipe = ground.inside / "pipe"
    os.mkfifo(pipe)
    threading.Thread(target=pipe.write_text, args=(SECRET,), daemon=True).start()
    return pipe


NAMES: dict[str, tuple[Callable[[Ground], Path], str, bool]] = {
    "its own name": (_itself, "deny", False),
    "a symbolic link": (_symbolic_link, "deny", False),
    "a hard link": (_hard_link, "allow", True),
    "a copy": (_copy, "allow", True),
    "a pipe": (_pipe, "allow", True),
}
"""By name: how it is made, what rules about paths decide, and whether a contained server reads the text."""


@NEEDS_SANDBOX
@pytest.mark.parametrize("name", NAMES)
def test_what_rules_and_mounts_make_of_a_name(ground: Ground, name: str) -> None:
    make, decided, is_read = NAMES[name]
    path = make(ground)
    assert ground.decides(path) == decided
    assert ground.reads(path) is is_read


@pytest.fixture
def mounted(ground: Ground) -> Iterator[Path]:
    """Show the denied directory at another place, as only root can."""
    place = ground.inside / "mounted"
    place.mkdir()
    words = ["mount", "--bind", str(ground.denied), str(place)]
    made = subprocess.run(words, capture_output=True, check=False)
    if made.returncode != 0:
        pytest.skip("this user may not mount")
    yield place
    subprocess.run(["umount", place], check=True)


@NEEDS_SANDBOX
def test_a_bind_mount_of_a_denied_directory_is_another_place(ground: Ground, mounted: Path) -> None:
    assert ground.decides(mounted / "secret") == "allow"
    assert ground.reads(mounted / "secret")


@NEEDS_SANDBOX
def test_a_contained_server_makes_no_other_name_itself(ground: Ground) -> None:
    tries = (
        f"ln {ground.secret} {ground.inside}/new-link",
        f"ln -s {ground.secret} {ground.inside}/new-symlink && cat {ground.inside}/new-symlink",
        f"mkdir {ground.inside}/new && mount --bind {ground.denied} {ground.inside}/new",
        f"cp {ground.secret} {ground.inside}/new-copy",
        f"cat /proc/1/root{ground.secret}",
        f"unshare -Urm umount {ground.denied}; unshare -Urm cat {ground.secret}",
    )
    script = "; ".join(f"{{ {each}; }} >&2" for each in tries) + "; echo done >&2"
    said = ground.scene.run(script, sandbox={"filesystem": {"denyRead": [str(ground.denied)]}})
    assert said[-1] == "done"
    assert SECRET not in "".join(said)
    found = [path for path in ground.inside.rglob("new*") if path.is_file() and path.read_text() == SECRET]
    assert [path.name for path in found] == ["new-symlink"], "only a person follows that"
