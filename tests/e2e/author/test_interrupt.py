"""Ctrl-C at each stage of a compile: exit 130, no partial file, no lock that blocks, no child left."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable
from enum import Enum
from pathlib import Path

import pytest
from e2e.program import PROGRAM, environment
from fixtures.tiny_project import tree
from pydantic_core import SchemaValidator

from ironcurtain.cli import main
from ironcurtain.compiler.publish.publish import only_one
from ironcurtain.errors import Exit

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


def interrupted(stage: str, project: Path) -> int:
    """Compile, and interrupt that once a stage has ended; return the exit code. Nothing is left running."""
    # Once its first stage has ended a compile lists live servers.
    tools = [] if stage == "load" else ["--saved-tools"]
    with subprocess.Popen(
        [*PROGRAM, "compile", "--locked", *tools],
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
        if process.poll() is None:
            (os.killpg if STAGES.index(stage) % 2 else os.kill)(process.pid, signal.SIGINT)
        rest = process.stderr.read()
    assert processes(process.pid) == []
    assert process.returncode == 0 or ("Traceback" not in rest and rest.endswith("interrupted\n")), rest
    return process.returncode


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc")
@pytest.mark.parametrize("stage", STAGES)
def test_interrupted_after_a_stage(stage: str, project: Path) -> None:
    before = tree(project)
    # What is left to do after the last of them may be done before the interrupt comes.
    for _ in range(20):
        code = interrupted(stage, project)
        if code != 0:
            break
    assert code == 130
    assert tree(project) == before
    with only_one(project / "generated"):
        pass


def test_interrupted_while_a_model_is_built(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Pydantic tells of an interrupt in there as of a mistake in the model."""

    class Interrupted:
        @property
        def value(self) -> str:
            raise KeyboardInterrupt

    def build(**_: object) -> None:
        SchemaValidator({"type": "enum", "cls": Enum, "members": [Interrupted()]})

    monkeypatch.setattr(main.cli, "main", build)
    assert main.run([]) == Exit.INTERRUPTED
    assert capsys.readouterr().err == "\ninterrupted\n"


class Finalized:
    """Python can raise nothing where this is interrupted: it prints that, and goes on."""

    def __del__(self) -> None:
        raise KeyboardInterrupt


def waits_on_a_lock_that_was_given_up() -> None:
    """Do as `threading.Condition` when an interrupt comes at the moment from which it waits."""
    lock = threading.Lock()
    with lock:
        lock.release()
        raise KeyboardInterrupt


def finalizes_and_waits() -> None:
    Finalized()
    threading.Event().wait(60)


@pytest.mark.parametrize("interrupted", [finalizes_and_waits, Finalized, waits_on_a_lock_that_was_given_up])
def test_interrupted_where_it_cannot_be_raised(
    interrupted: Callable[[], object], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def command(**_: object) -> None:
        interrupted()

    monkeypatch.setattr(main.cli, "main", command)
    assert main.run([]) == Exit.INTERRUPTED
    assert capsys.readouterr().err == "\ninterrupted\n"
