"""A compile of the shipped policy in which nothing has changed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from bench.figures import Figures, measure

from ironcurtain.enforcement.sandbox.tool_discovery import contained_launcher
from ironcurtain.servers.config import load_servers
from ironcurtain.servers.tool_lists.listing import list_tools
from ironcurtain.servers.tools import saved_document

pytestmark = pytest.mark.bench
ROOT = Path(__file__).parents[2]
INPUTS = (
    "constitution.md",
    "scenarios.yaml",
    "guarantees.yaml",
    "confirmations.yaml",
    "ironcurtain.toml",
    "mcp-servers.json",
)
PROGRAM = [sys.executable, "-c", "from ironcurtain.cli.main import main; main()", "compile"]


def copy_with_saved_tools(project: Path) -> None:
    """Copy the shipped project; its servers' tool lists are read once and then stand in files."""
    for name in INPUTS:
        shutil.copy(ROOT / name, project)
    shutil.copytree(ROOT / "generated", project / "generated")
    servers = json.loads((ROOT / "mcp-servers.json").read_text())
    for name, tools in list_tools(
        load_servers(ROOT / "mcp-servers.json"), contained_launcher(lambda _: None)
    ).items():
        (project / f"{name}.json").write_text(json.dumps(saved_document(tools)))
        servers["mcpServers"][name]["tools"] = f"{name}.json"
    (project / "mcp-servers.json").write_text(json.dumps(servers))


def test_a_locked_compile_without_changes(tmp_path: Path, figures: Figures) -> None:
    copy_with_saved_tools(tmp_path)

    # An installed program finds its byte code beside it; a shell that forbids writing it must not count.
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": str(tmp_path / "pycache")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def compile_again() -> None:
        subprocess.run(
            [*PROGRAM, "--locked", "--saved-tools", "--quiet"],
            cwd=tmp_path,
            env=environment,
            check=True,
        )

    compile_again()
    published = (tmp_path / "generated" / "bundle.tar.gz").read_bytes()
    (times,) = measure(compile_again, repetitions=3)
    assert (tmp_path / "generated" / "bundle.tar.gz").read_bytes() == published
    figures.add("compile --locked without starting servers, seconds", times.median, 5, str(times))
