from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from e2e.program import ROOT

MAKE = shutil.which("make")
NEEDED = {
    "python3": "IronCurtain needs Python 3.11 or newer",
    "git": "IronCurtain needs git",
    "node": "need Node.js 20 or newer with npm",
    "npm": "need Node.js 20 or newer with npm",
}
pytestmark = pytest.mark.skipif(MAKE is None, reason="make is not installed")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a directory that alone is PATH and holds what is needed, and nothing else."""
    for name in NEEDED:
        (tmp_path / name).write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        (tmp_path / name).chmod(0o755)
    return tmp_path


def make(target: str, path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(MAKE), target], cwd=ROOT, env={"PATH": str(path)}, capture_output=True, text=True, check=False
    )


def test_nothing_is_missing(path: Path) -> None:
    ended = make("need", path)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("name", NEEDED)
@pytest.mark.parametrize("target", ["need", "setup", "demo", "test"])
def test_one_sentence_for_what_is_missing(name: str, target: str, path: Path) -> None:
    (path / name).unlink()
    ended = make(target, path)
    assert ended.returncode == 2
    sentence, stop = ended.stderr.splitlines()
    assert NEEDED[name] in sentence
    assert stop.startswith("make: ***")


def test_an_old_python_is_none(path: Path) -> None:
    (path / "python3").write_text("#!/bin/sh\nexit 1\n")
    assert NEEDED["python3"] in make("need", path).stderr


def test_the_targets_that_are_promised_exist() -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert targets >= {"demo", "test", "check", "fmt", "bench", "clean", "setup"}
    assert "make test" in (ROOT / ".ci" / "run").read_text()
