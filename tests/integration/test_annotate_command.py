"""`ironcurtain annotate` as a program: the manual flow against a real MCP server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from fixtures.tiny_project import ANNOTATIONS, answer, write_project

ROOT = Path(__file__).parents[2]
PROGRAM = [sys.executable, "-c", "from ironcurtain.cli.main import main; main()"]


def run(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *arguments],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_annotations_are_asked_for_printed_and_found_by_the_compile(tmp_path: Path) -> None:
    project = write_project(tmp_path)
    asked = run(project, "annotate")
    assert (asked.returncode, asked.stdout) == (4, "")
    assert "questions/annotate-notes-1.md" in asked.stderr
    assert run(project, "annotate", "--locked").returncode == 3
    answer(project, "annotate-notes-1", ANNOTATIONS)
    told = run(project, "annotate")
    assert told.returncode == 0, told.stderr
    assert "notes read_note: side effects, contained\n    path: read-path\n" in told.stdout
    as_file = json.loads(run(project, "annotate", "notes", "--format", "json").stdout)
    assert as_file["format"] == "ironcurtain/annotations/v1"
    assert [tool["tool"] for tool in as_file["servers"]["notes"]["tools"]] == ["list_tags", "read_note"]
    assert not (project / "generated").exists()
    compiled = run(project, "compile")
    assert "rules-notes.md" in compiled.stderr
    assert "annotate-notes" not in compiled.stderr


def test_a_server_that_is_not_configured_is_named(tmp_path: Path) -> None:
    told = run(write_project(tmp_path), "annotate", "notse")
    assert told.returncode == 2
    assert '"notse"' in told.stderr
