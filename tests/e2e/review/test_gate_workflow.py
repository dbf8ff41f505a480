"""The gate as pipelines run it: the documented workflow, the action's own steps, the pre-commit hooks."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest
from e2e.program import ROOT, environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from support.documentation.gate_story import GUARANTEES, TRANSCRIPT, Story, tell
from support.machines.installed import locked, with_packages
from support.machines.workflow import Runner


def test_a_pull_request_that_loosens_its_approval_and_the_pass(tmp_path: Path) -> None:
    transcript, refused, passed = tell(tmp_path)
    names = ["Find or install OPA", "Verify the policy", "Comment"]
    assert [(step.name, step.code) for step in refused] == list(zip(names, (0, 1, 0), strict=True))
    assert [(step.name, step.code) for step in passed] == list(zip(names, (0, 0, 0), strict=True))
    assert transcript == TRANSCRIPT.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "bundle", ["$(touch owned)'; touch owned; '\ntouch owned", "--help", "-"], ids=["shell", "option", "dash"]
)
def test_an_input_of_the_action_is_never_read_as_shell_or_option(tmp_path: Path, bundle: str) -> None:
    given = {"install": "false", "bundle": bundle, "against": "`touch owned`"}
    runner = Runner(tmp_path, environment(), {}, frozenset(), lambda _: False, ROOT)
    *_, last = runner.run_action(given)
    assert (last.name, last.code) == ("Verify the policy", 3)
    assert "error[IC3101]" in last.err
    assert not list(tmp_path.iterdir())


def test_the_lock_of_what_runs_holds_nothing_that_only_tests_need() -> None:
    everything, run = (locked(ROOT / name) for name in ("requirements.txt", "requirements-run.txt"))
    assert run.items() <= everything.items()
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups, project = declared["dependency-groups"], declared["project"]
    optional = project["optional-dependencies"]
    needed = {
        canonicalize_name(Requirement(need).name)
        for need in (*groups["build"], *project["dependencies"], *optional["mcp"])
    }
    assert needed <= run.keys()
    extras = [need for needs in optional.values() for need in needs]
    others = [need for need in (*groups["dev"], *extras) if isinstance(need, str)]
    assert len(others) > len(run) / 2
    unneeded = {canonicalize_name(Requirement(need).name) for need in others} - needed - {"ironcurtain"}
    assert not unneeded & run.keys()


def test_the_action_installs_what_is_locked_to_run_and_then_verifies(tmp_path: Path) -> None:
    """It installed what the tests need. Its steps run where nothing is but the packages of that lock."""
    home = tmp_path / "venv"
    packages = with_packages(home, [*locked(ROOT / "requirements-run.txt"), "pip"]).packages
    clean = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    path = f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}"
    # Two programs are started from what is installed: compiling all of it costs more. What is there already
    # is not looked for elsewhere.
    bare = {**clean, "PATH": path, "PIP_NO_COMPILE": "1", "PIP_NO_INDEX": "1"}
    runner = Runner(tmp_path, bare, {}, frozenset(), lambda _: False, ROOT)
    steps = runner.run_action({"bundle": str(ROOT / "generated" / "bundle")})
    assert [step.name for step in steps] == [
        "Install IronCurtain",
        "Find or install OPA",
        "Verify the policy",
    ], steps[-1]
    assert [step.code for step in steps] == [0, 0, 0], steps
    assert (home / "bin" / "ironcurtain").exists()
    assert (packages / "ironcurtain" / "_assets" / "rego").is_dir()
    assert (packages / "ironcurtain" / "_assets" / "docs" / "errors" / "IC3201.md").is_file()
    assert (tmp_path / "gate.md").read_text().startswith("# The policy is verified")
    assert (tmp_path / "gate.sarif").exists()


HOOKS = """\
repos:
  - repo: {hooks}
    rev: {rev}
    hooks:
      - {{id: ironcurtain-lint, language: system}}
      - {{id: ironcurtain-verify, language: system}}
"""


def test_the_hooks_run_before_a_commit(project: Path, waivers: str, tmp_path: Path) -> None:
    """Run them by pre-commit itself, with the program that is here instead of one that it would install."""
    (project / "waivers.yaml").write_text(waivers)
    (project / "guarantees.yaml").write_text(GUARANTEES)
    story = Story(tmp_path)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / ".pre-commit-hooks.yaml").write_text((ROOT / ".pre-commit-hooks.yaml").read_text())
    who = {**story.environment, "PRE_COMMIT_HOME": str(tmp_path / "cache")}

    def run(*command: str, cwd: Path = project) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=cwd, env=who, capture_output=True, text=True, timeout=250, check=False
        )

    for command in (["init", "-q", "-b", "main", "."], ["add", "-A"], ["commit", "-qm", "x"]):
        assert run("git", *command, cwd=hooks).returncode == 0
    assert run("git", "init", "-q", ".").returncode == 0
    rev = run("git", "rev-parse", "HEAD", cwd=hooks).stdout.strip()
    config = project / ".pre-commit-config.yaml"
    config.write_text(HOOKS.format(hooks=hooks, rev=rev))
    assert run("git", "add", "-A").returncode == 0

    def hooked(*files: str) -> Mapping[str, str]:
        ended = run(sys.executable, "-m", "pre_commit", "run", "--color=never", "--files", *files)
        lines = [line for line in ended.stdout.splitlines() if "..." in line]
        found = {line.partition(".")[0]: line.rpartition(")")[2].rpartition(".")[2] for line in lines}
        assert found, ended.stdout + ended.stderr
        assert (ended.returncode == 0) == ("Failed" not in found.values()), ended.stdout
        return found

    lint, verify = "read the constitution", "verify the policy"
    assert hooked("README.md") == {lint: "Skipped", verify: "Skipped"}
    assert hooked("constitution.md") == {lint: "Passed", verify: "Passed"}
    assert hooked("guarantees.yaml") == {lint: "Skipped", verify: "Passed"}
    (project / "guarantees.yaml").write_text("format: ironcurtain/guarantees/v1\nguarantees: []\n")
    with (project / "constitution.md").open("a") as text:
        text.write("\n- Tags may not be listed.\n")
    assert hooked("constitution.md", "guarantees.yaml") == {lint: "Failed", verify: "Failed"}
