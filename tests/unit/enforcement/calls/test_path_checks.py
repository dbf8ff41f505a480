"""Which judged paths are looked at on the spot, and which in a thread that nobody has to wait for."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ironcurtain.enforcement.calls.path_checks import are_near
from ironcurtain.enforcement.calls.path_locks import CallPaths

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="kinds of file systems are known on Linux")


def paths(*places: Path | str) -> CallPaths:
    return CallPaths(frozenset(map(str, places)), frozenset(), frozenset())


def system_of(place: Path) -> str:
    """The kind of file system that a place lies on, by the longest mount point above it."""
    mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    above = [words for words in mounts if place.is_relative_to(words[4])]
    return max(above, key=lambda words: len(words[4]))[above[0].index("-") + 1]


def test_what_lies_on_a_disk_of_this_machine_is_near(tmp_path: Path) -> None:
    if system_of(tmp_path) not in {"ext2", "ext3", "ext4", "xfs", "f2fs", "tmpfs", "btrfs", "overlay"}:
        pytest.skip("temporary files lie on another kind of file system here")
    assert are_near(paths(tmp_path, tmp_path / "new"))


def test_a_single_path_on_another_kind_of_file_system_makes_all_far(tmp_path: Path) -> None:
    assert not are_near(paths("/proc/self"))
    assert not are_near(paths(tmp_path, "/proc/version"))


def test_what_leads_through_a_link_is_not_near(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    assert not are_near(paths(tmp_path / "link" / "x"))
