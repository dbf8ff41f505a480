"""What the README tells people to type, typed, in a copy of the checkout."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from e2e.program import ROOT, copy_tracked

README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
SHELL = [text for language, text in BLOCKS if language == "sh"]
PYTHON = [text for language, text in BLOCKS if language == "python"]
MAKE = next(text for text in SHELL if text.startswith("make "))


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_tracked(tmp_path_factory.mktemp("checkout"))


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Return an environment in which the command is installed and HOME is empty."""
    program = tmp_path / "bin" / "ironcurtain"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nfrom ironcurtain.cli.main import main\nmain()\n")
    program.chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    return {
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
    }


def run(command: list[str], cwd: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=250, check=False
    )


def test_the_first_screen_has_the_two_commands() -> None:
    assert re.findall(r"^make (\w+)", MAKE, re.MULTILINE) == ["demo", "test"]
    assert README.index(MAKE) < 1500
    assert len(SHELL) >= 5
    assert len(PYTHON) == 1


@pytest.mark.parametrize("text", [text for text in SHELL if text != MAKE], ids=lambda text: text.split()[1])
def test_a_shell_block(text: str, checkout: Path, environment: dict[str, str]) -> None:
    ended = run(["bash", "-euo", "pipefail", "-c", text], checkout, environment)
    assert ended.returncode == 0, ended.stderr
    assert "error" not in ended.stderr


def test_the_library_example(checkout: Path, environment: dict[str, str]) -> None:
    ended = run([sys.executable, "-c", PYTHON[0]], checkout, environment)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("True allow filesystem-allow-read-documents ")


def test_the_demo(checkout: Path, environment: dict[str, str]) -> None:
    ended = run(["sh", "docs/demo.sh"], checkout, environment)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert len(re.findall(r"^(?:ALLOW|DENY|ESCALATE) ", ended.stdout, re.MULTILINE)) == 5
    same = run(["diff", "-r", str(ROOT / "generated"), "generated"], checkout, environment)
    assert (same.returncode, same.stdout) == (0, "")
