"""Ctrl-C at each stage of a compile: exit 130, no partial file, no lock that blocks, no child left."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from e2e.program import PROGRAM, environment
from fixtures.tiny_project import tree

from ironcurtain.pipeline.publish import only_one

# Once the last stage has ended there is nothing left to interrupt.
STAGES = [
    "load",
    "annotate",
    "compile rules",
    "resolve lists",
    "scenarios",
    "verify and repair",
    "compare and record",
]


def processes(session: int) -> list[int]:
    """Return the living processes of a session."""
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [pid for pid in pids if _session(pid) == session]


def _session(pid: int) -> int | None:
    try:
        state, _, _, session = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:4]
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(session) if state != "Z" else None


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc")
@pytest.mark.parametrize("stage", STAGES)
def test_interrupted_after_a_stage(stage: str, project: Path) -> None:
    before = tree(project)
    with subprocess.Popen(
        [*PROGRAM, "compile", "--locked"],
        cwd=project,
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stderr
        for line in process.stderr:
            if f" {stage}: " in line:
                break
        # A terminal sends it to the whole group, `kill -INT` to the program alone.
        (os.killpg if STAGES.index(stage) % 2 else os.kill)(process.pid, signal.SIGINT)
        rest = process.stderr.read()
    assert process.returncode == 130, rest
    assert rest.endswith("interrupted\n")
    assert "Traceback" not in rest
    assert processes(process.pid) == []
    assert tree(project) == before
    with only_one(project / "generated"):
        pass
