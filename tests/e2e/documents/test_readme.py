"""What README.md and docs/install.md tell people to type, typed as it stands, in a copy of the checkout."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from e2e.program import ROOT, copy_tracked

from ironcurtain.cli.main import GROUPS

README = (ROOT / "README.md").read_text()
INSTALLING = (ROOT / "docs" / "install.md").read_text()
COMMANDS = (ROOT / "docs" / "commands.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README + INSTALLING, re.MULTILINE | re.DOTALL)
SHELL = [text for language, text in BLOCKS if language == "sh"]
PYTHON = [text for language, text in BLOCKS if language == "python"]
# `make test` is what runs this.
MAKE = next(text for text in SHELL if text.startswith("make demo"))
OTHERS = [text for text in SHELL if text != MAKE]
# What make compares with what it has installed: as old as can be, so that it installs nothing anew.
INSTALLED = ("requirements.txt", "requirements-run.txt", "pyproject.toml", "package-lock.json")
NEEDS_MAKE = pytest.mark.skipif(not (ROOT / ".venv" / "bin" / "activate").exists(), reason="make has not run")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a checkout in which `make` has run."""
    made = copy_tracked(tmp_path_factory.mktemp("checkout"))
    (made / ".venv").symlink_to(ROOT / ".venv")
    for name in INSTALLED:
        os.utime(made / name, (0, 0))
    return made


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Return an environment in which the command is installed and HOME is empty."""
    program = tmp_path / "bin" / "ironcurtain"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nfrom ironcurtain.cli.main import main\nmain()\n")
    program.chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    caches = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return {
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "XDG_CACHE_HOME": str(caches),
        "SYSTEM_PACKAGES": "no",
    }


def run(command: list[str], cwd: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=550,
        check=False,
    )


def test_the_first_screen_has_the_two_commands() -> None:
    assert re.findall(r"^make (\w+)", MAKE, re.MULTILINE) == ["demo", "test"]
    assert README.index(MAKE) < 1500
    assert len(SHELL) >= 5
    assert len(PYTHON) == 1


@NEEDS_MAKE
@pytest.mark.timeout(600)
@pytest.mark.parametrize("text", OTHERS, ids=lambda text: "-".join(re.findall(r"\w+", text)[:3]))
def test_a_shell_block(text: str, checkout: Path, environment: dict[str, str]) -> None:
    if "pip install" in text:  # a package is installed into an environment of its own, not found beside it
        environment = {name: value for name, value in environment.items() if name != "PYTHONPATH"}
    ended = run(["bash", "-euo", "pipefail", "-c", text], checkout, environment)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "error[" not in ended.stderr


def test_the_library_example(checkout: Path, environment: dict[str, str]) -> None:
    ended = run([sys.executable, "-c", PYTHON[0]], checkout, environment)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("True allow filesystem-allow-read-documents ")


@NEEDS_MAKE
@pytest.mark.timeout(900)
def test_the_demo_and_the_commands_that_it_prints(checkout: Path, environment: dict[str, str]) -> None:
    ended = run(["bash", "-c", MAKE.splitlines()[0]], checkout, environment)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    said = ended.stdout
    assert len((said + ended.stderr).splitlines()) <= 70
    assert "  - The agent may read files in the Documents folder.\n" in said
    assert '  \tids := input.within["read-path"]["~/Documents"]\n' in said
    assert re.search(r"^  Loosened: \d+\n.* escalate → allow for 10 tools", said, re.MULTILINE)
    assert re.findall(r"^it (is done|is refused|waits)", said, re.MULTILINE) == [
        "is done",
        "is refused",
        "waits",
        "is done",
    ]
    assert '"The agent must not add, change or move away anything in the Documents folder."' in said
    assert re.search(r'^      \| /path = "/\S+', said, re.MULTILINE)
    assert "no model" in said
    assert ("NOT CONTAINED" in said) is not ("runs contained" in said)
    first, *printed = re.findall(r"^\$ (.*)$", said, re.MULTILINE)
    assert len(printed) == 10
    for command in printed:
        if " compile " in command or " proxy " in command:
            continue  # they have just run as they were printed; a second copy would lie inside the first
        again = run(["bash", "-c", f"{first} && {command}"], checkout, environment)
        # A verdict may be no, and what was approved is gone; nothing is wrong with the command.
        assert again.returncode in {0, 1, 4}, (command, again.stderr)
        assert "error[" not in again.stderr, command
    everything = run(["bash", "-c", "make demo VERBOSE=1"], checkout, environment)
    assert everything.returncode == 0, everything.stdout + everything.stderr
    assert "3/8 compile rules: 6 rules" in everything.stdout
    assert "  answer by: " in everything.stdout


def test_six_commands_with_a_page_each() -> None:
    section = README.split("## Six commands\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `ironcurtain (\w+).*?` \| .*\]\((docs/\w+\.md)\)", section, re.MULTILINE)
    assert len(rows) == 6
    assert {name for name, _ in rows} < {name for names in GROUPS.values() for name in names}
    assert all((ROOT / page).is_file() for _, page in rows)


def test_commands_stand_in_the_groups_of_the_help() -> None:
    rows = re.findall(r"^\| (\w[^|]*\w) \| (.*`.*) \|$", COMMANDS.split("\n## ")[0], re.MULTILINE)
    listed = {group: sorted(re.findall(r"`(\w+)`", names)) for group, names in rows}
    assert listed == {group: sorted(names) for group, names in GROUPS.items()}


def test_every_extra_is_told_of() -> None:
    named = re.findall(
        r"^(\w+) = \[",
        (ROOT / "pyproject.toml").read_text().split("[project.optional-dependencies]")[1].split("\n[")[0],
        re.MULTILINE,
    )
    section = INSTALLING.split("| extra | brings | for |")[1].split("\n\n")[0]
    assert sorted(
        re.findall(r"`(\w+)`", "".join(line.split("|")[1] for line in section.splitlines()[2:]))
    ) == sorted(named)
