"""Wraps that are killed at every step, and wraps that meet."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.deployments.wrapped import CORPUS

ROOT = Path(__file__).parents[4]
WRAPPED, UNWRAPPED, UNCHANGED = 10, 11, 12


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Run the program for this test on a copy of a configuration; return what it found."""
    directory = tmp_path_factory.mktemp("killed")
    path = Path(shutil.copy(CORPUS / "claude-desktop-windows.json", directory / "mcp.json"))
    ended = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "fixtures" / "killed_wrap.py"), str(path)],
        env={**os.environ, "HOME": str(directory), "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    left = [each.name for each in (directory / ".ironcurtain").rglob("*") if each.is_file()]
    assert [name for name in left if not name.endswith(".lock")] == []
    read: dict[str, Any] = json.loads(ended.stdout)
    return read


def test_a_killed_wrap_leaves_the_old_file_or_the_new_one(found: dict[str, Any]) -> None:
    steps = found["killed"]
    seen = {(act, state) for act, _, _, state, *_ in steps}
    assert seen == {
        ("wrapped", "original"),
        ("wrapped", "wrapped"),
        ("rewrapped", "wrapped"),
        ("rewrapped", "rewrapped"),
        ("unwrapped", "wrapped"),
        ("unwrapped", "original"),
    }
    assert sum(status == -9 for _, _, status, *_ in steps) > 40


def test_after_a_kill_everything_can_be_done_again_and_undone(found: dict[str, Any]) -> None:
    for act, step, _, _, again, undone, restored in found["killed"]:
        assert again in ({UNWRAPPED, UNCHANGED} if act == "unwrapped" else {WRAPPED, UNCHANGED}), step
        assert undone == (UNCHANGED if act == "unwrapped" else UNWRAPPED), (act, step)
        assert restored, (act, step)


def test_wraps_at_once_are_one_wrap(found: dict[str, Any]) -> None:
    race = found["race"]
    assert race["together"] == [WRAPPED] + [UNCHANGED] * 7
    assert set(race["mixed"]) <= {WRAPPED, UNWRAPPED, UNCHANGED}
    assert race["between"]
    assert race["end"]
