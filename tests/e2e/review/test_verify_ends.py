"""How `verify` ends where the engine that decides its scenarios does not answer."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from pathlib import Path

from e2e.program import PROGRAM, SHIPPED, environment, program

from ironcurtain.engine.locate import find

AS_IT_DECIDES = '[ "$1" = eval ] &&'


def engine(directory: Path, condition: str, then: str) -> str:
    """Return an OPA that does something else where a condition holds."""
    made = directory / "opa"
    made.write_text(f'#!/bin/sh\n{condition} {{ {then}; }}\nexec {shlex.quote(str(find().path))} "$@"\n')
    made.chmod(0o700)
    return str(made)


def test_an_engine_that_fails_is_reported(tmp_path: Path) -> None:
    failing = engine(tmp_path, AS_IT_DECIDES, "echo broken >&2; exit 9")
    ended = program("verify", str(SHIPPED), "--opa", failing)
    assert (ended.code, ended.codes) == (3, ["IC3003"])
    assert "broken" in ended.err


def test_ctrl_c_ends_the_engine(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    waiting = engine(tmp_path, AS_IT_DECIDES, f"echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 600")
    running = subprocess.Popen(
        [*PROGRAM, "verify", str(SHIPPED), "--opa", waiting],
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    while not pid.exists():
        assert running.poll() is None
        time.sleep(0.01)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does
    assert running.communicate(timeout=60) == (b"", b"\ninterrupted\n")
    assert running.returncode == 130
    assert not Path(f"/proc/{pid.read_text().strip()}").exists()
