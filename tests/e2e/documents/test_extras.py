"""From the wheel, with no extra or with one: every command's first page, and what is missing by name."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from e2e.program import ROOT
from packaging.requirements import Requirement
from platformdirs import user_cache_path
from support.machines.installed import Installed, extras_of, installed, run_directory, wheel

from ironcurtain.system.extras import MODULES

PAGES = ROOT / "tests" / "support" / "machines" / "first_pages.py"
DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
WITHOUT = "this needs the extra `{extra}`, which is not installed\n  hint: "
SERVER = ROOT / "tests" / "fixtures" / "tiny_server.py"
YAML = ("scenarios.yaml", "confirmations.yaml", "guarantees.yaml")
NEEDED = [
    (["proxy", "--bundle", "generated/bundle", "--servers", "mcp-servers.json", "--sandbox", "work"], "mcp"),
    (["wrap", "client.json", "--bundle", "generated/bundle"], "mcp"),
    (["web"], "web"),
]


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_directory(tmp_path_factory)


def run(of: Installed, home: Path, *command: str, python: bool = False) -> subprocess.CompletedProcess[str]:
    """Run an installed program as a user who has nothing else; the engine is the one of this machine."""
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(home),
        "XDG_CACHE_HOME": str(user_cache_path()),
        "IRONCURTAIN_PERMIT_SERVERS": "all",
    }
    first = [str(of.python), "-I"] if python else [str(of.program)]
    return subprocess.run(
        [*first, *command],
        cwd=home,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a home in which the shipped project lies."""
    for name in ("constitution.md", "mcp-servers.json", "ironcurtain.toml", *YAML):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "generated", tmp_path / "generated")
    (tmp_path / "work").mkdir()
    (tmp_path / "client.json").write_text('{"mcpServers": {"notes": {"command": "/bin/cat"}}}')
    return tmp_path


def test_the_wheel_has_the_extras_that_are_declared(shared: Path) -> None:
    assert sorted(extras_of(wheel(shared))) == sorted(DECLARED)


def test_all_is_every_other_extra() -> None:
    others = sorted(set(DECLARED) - {"all"})
    assert DECLARED["all"] == [f"ironcurtain[{','.join(others)}]"]
    assert set(MODULES.values()) == set(others)


@pytest.mark.parametrize("extra", ["", *sorted(set(DECLARED) - {"all"})])
def test_first_page_of_every_command(extra: str, shared: Path, tmp_path: Path) -> None:
    ended = run(installed(shared, [extra] if extra else []), tmp_path, str(PAGES), python=True)
    assert ended.returncode == 0, ended.stderr
    pages = json.loads(ended.stdout)
    assert len(pages) > 100
    for command, err, code in pages:
        assert "Traceback" not in err, command
        assert code in ((0,) if command.endswith("--help") else (0, 1, 2, 3, 4)), f"{command}: {err}"


@pytest.mark.parametrize(("command", "extra"), NEEDED, ids=lambda each: " ".join(each)[:30])
def test_the_extra_that_is_missing_is_named(
    command: list[str], extra: str, shared: Path, project: Path
) -> None:
    before = (project / "client.json").read_bytes()
    ended = run(installed(shared), project, *command)
    assert ended.returncode == 2, ended.stderr
    named = ended.stderr.partition("error[IC1009]: " + WITHOUT.format(extra=extra))[2].splitlines()[0]
    lacking = {Requirement(need).name for need in DECLARED[extra]} - {"ironcurtain"}
    assert lacking <= {Requirement(word).name for word in shlex.split(named) if re.search("[<>=]", word)}
    assert (project / "client.json").read_bytes() == before


def test_doctor_names_the_missing_extra(shared: Path, project: Path) -> None:
    ended = run(installed(shared), project, "doctor")
    assert ended.returncode == 1
    assert re.search(r"pip install (--python )?\S* ?'httpx2>=\d", ended.stdout), ended.stdout


def test_tool_lists_are_read_without_an_extra(shared: Path, project: Path) -> None:
    of = installed(shared)
    server = {"command": str(of.python), "args": [str(SERVER), "good"], "sandbox": False}
    (project / "mcp-servers.json").write_text(json.dumps({"mcpServers": {"notes": server}}))
    ended = run(of, project, "tools", "notes")
    assert ended.returncode == 0, ended.stderr
    assert [tool["name"] for tool in json.loads(ended.stdout)["tools"]] == ["read_note", "list_tags"]


def test_what_needs_no_extra_works_without_one(shared: Path, project: Path) -> None:
    ended = run(installed(shared), project, "verify")
    assert ended.returncode == 0, ended.stderr
