"""What the pages about audit, replay and forecast tell people to type, typed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from e2e.program import ROOT

PAGES = ("audit", "replay", "forecast")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / "docs" / f"{page}.md").read_text()
    return [block for kind, block in BLOCK.findall(text) if kind == language]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with the shipped bundle, the profile of the page and the log of the program."""
    place = tmp_path_factory.mktemp("docs")
    (place / "generated").symlink_to(ROOT / "generated")
    (place / "home").mkdir()
    (place / "profile.yaml").write_text(blocks("forecast", "yaml")[0])
    program = place / "bin" / "ironcurtain"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nfrom ironcurtain.cli.main import main\nmain()\n")
    program.chmod(0o755)
    (code,) = blocks("audit", "python")
    ended = run([sys.executable, "-c", code], place)
    assert (ended.returncode, ended.stderr) == (0, "")
    return place


@pytest.mark.parametrize(
    ("page", "number"),
    [(page, number) for page in PAGES for number in range(len(blocks(page, "sh")))],
    ids=str,
)
def test_a_shell_block(page: str, number: int, place: Path) -> None:
    ended = run(["bash", "-euo", "pipefail", "-c", blocks(page, "sh")[number]], place)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout


def run(command: list[str], place: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(place / "home"),
        "PYTHONPATH": str(ROOT),
        "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
    }
    return subprocess.run(
        command, cwd=place, env=environment, capture_output=True, text=True, timeout=250, check=False
    )
