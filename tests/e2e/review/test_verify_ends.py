"""How `verify` ends where the fork that decides its scenarios ends: no check is silently missed."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from pathlib import Path

from e2e.program import PROGRAM, SHIPPED, environment, program

from ironcurtain.engine.locate import find

IN_THE_FORK = f"""
read -r _ _ _ above _ < /proc/$PPID/stat
[ "$1" = eval ] && [ "$above" != {os.getpid()} ] &&"""


def engine(directory: Path, condition: str, then: str) -> str:
    """Return an OPA that does something else where a condition holds."""
    made = directory / "opa"
    made.write_text(f'#!/bin/sh\n{condition} {{ {then}; }}\nexec {shlex.quote(str(find().path))} "$@"\n')
    made.chmod(0o700)
    return str(made)


def test_a_fork_that_is_killed_is_a_failure(tmp_path: Path) -> None:
    killing = engine(tmp_path, IN_THE_FORK, "kill -9 $PPID")
    ended = program("verify", str(SHIPPED), "--opa", killing)
    assert (ended.code, ended.codes, ended.out) == (3, ["IC3403"], "")


def test_an_engine_that_fails_in_the_fork_is_told_as_anywhere(tmp_path: Path) -> None:
    failing = engine(tmp_path, IN_THE_FORK, "echo broken >&2; exit 9")
    ended = program("verify", str(SHIPPED), "--opa", failing)
    assert (ended.code, ended.codes) == (3, ["IC3003"])
    assert "broken" in ended.err


def test_ctrl_c_ends_the_fork_and_its_engine(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    waiting = engine(tmp_path, IN_THE_FORK, f"echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 600")
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
