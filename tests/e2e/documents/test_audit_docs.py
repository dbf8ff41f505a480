"""What the pages about audit, replay and advice tell people to type, typed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from e2e.program import ROOT
from support.people.typed import typed

PAGES = ("audit", "replay", "advise")
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
    (place / "profile.yaml").write_text(blocks("advise", "yaml")[0])
    (code,) = blocks("audit", "python")
    ended = subprocess.run(
        [sys.executable, "-c", code],
        cwd=place,
        env=environment(place),
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    return place


@pytest.mark.parametrize(
    ("page", "number"),
    [(page, number) for page in PAGES for number in range(len(blocks(page, "sh")))],
    ids=str,
)
def test_a_shell_block(page: str, number: int, place: Path) -> None:
    for command in blocks(page, "sh")[number].splitlines():
        ended = typed(command, place, environment(place))
        assert (ended.code, ended.err) == (0, "")
        assert ended.out


@pytest.mark.parametrize("told", ["audit tail demo --directory audit", "forecast --profile profile.yaml"])
def test_the_calls_of_an_example_come_as_far_as_the_policy(told: str, place: Path) -> None:
    ended = typed(f"ironcurtain {told}", place, environment(place))
    assert "git/git_push" in ended.out
    assert "structural-" not in ended.out.replace("structural-sandbox-allow", "")


def environment(place: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(place / "home"),
        "PYTHONPATH": str(ROOT),
        "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
    }
