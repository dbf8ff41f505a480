"""The one place of what runs: whose it is, and what dead owners leave in it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ironcurtain.errors import FileError
from ironcurtain.system.private_runtime import private_directory, runtime_directory


@pytest.fixture(autouse=True)
def root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Give what runs a place of its own; it is not there yet."""
    monkeypatch.setattr("ironcurtain.system.private_runtime.PARENT", tmp_path)
    return runtime_directory()


def test_a_directory_is_private_and_goes_at_the_end(root: Path) -> None:
    before = os.umask(0)
    try:
        with private_directory("engine") as place:
            assert place.parent == root
            assert [path.stat().st_mode & 0o777 for path in (root, place)] == [0o700, 0o700]
    finally:
        os.umask(before)
    assert not list(root.iterdir())


def test_where_the_system_lets_us_write_nothing_the_environments_directory_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("ironcurtain.system.private_runtime.PARENT", tmp_path / "missing")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with private_directory("engine") as place:
        assert place.parent.parent == tmp_path


def _link(root: Path) -> None:
    root.with_name("elsewhere").mkdir(mode=0o700)
    root.symlink_to("elsewhere")


def _file(root: Path) -> None:
    root.touch(mode=0o700)


def _open(root: Path) -> None:
    root.mkdir()
    root.chmod(0o770)


def _foreign(root: Path) -> None:
    root.mkdir(mode=0o700)
    if os.geteuid() != 0:
        pytest.skip("only root gives directories away")
    os.chown(root, 12345, 12345)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (_link, "is no directory"),
        (_file, "is no directory"),
        (_open, "has mode 0770"),
        (_foreign, "belongs to another user"),
    ],
)
def test_attack_a_place_that_somebody_else_prepared_is_refused(
    root: Path, make: Callable[[Path], None], said: str
) -> None:
    make(root)
    with pytest.raises(FileError, match=said), private_directory("engine"):
        pass


OWNER = """
import os, signal, sys
from pathlib import Path
from ironcurtain.system import private_runtime

private_runtime.PARENT = Path(sys.argv[1])
with private_runtime.private_directory("engine") as place:
    (place / "policy").write_text("left")
    print(place, flush=True)
    if sys.argv[2] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    input()
"""


def test_what_a_killed_owner_left_goes_with_the_next_start_and_nothing_of_the_living(root: Path) -> None:
    command = [sys.executable, "-c", OWNER, str(root.parent)]
    with subprocess.Popen(
        [*command, "lives"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as living:
        assert living.stdout is not None
        lives = Path(living.stdout.readline().strip())
        killed = subprocess.run([*command, "killed"], stdout=subprocess.PIPE, text=True, check=False)
        left = Path(killed.stdout.strip())
        assert (left / "policy").exists()
        with private_directory("server"):
            assert left.exists(), "it is of another kind"
        with private_directory("engine"):
            assert not left.exists()
            assert (lives / "policy").exists()
        living.communicate("\n")
    assert not list(root.iterdir())


def test_attack_what_a_server_nested_without_end_is_removed_all_the_same(root: Path) -> None:
    with private_directory("server") as place:
        here = os.open(place, os.O_RDONLY)
        for _ in range(1500):
            os.mkdir("d", dir_fd=here)
            below = os.open("d", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        os.close(here)
    assert not list(root.iterdir())
