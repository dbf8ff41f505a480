"""Running a program to its end: bounded in time, and never leaving a child of it behind."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from ironcurtain.system.background import ended_by, kill_group
from ironcurtain.system.structs import Struct


class ProcessOutput(Struct):
    """What a program left: its exit status (negative: the signal that ended it) and its two streams."""

    status: int
    stdout: bytes
    stderr: bytes


# In percent of what lives: a policy is small, and collecting at Go's own 100 costs as much as deciding.
# The memory limit bounds what that may take for a large one.
_GARBAGE = "1000"


def clean_environment(home: Path, *, memory: str = "1GiB") -> dict[str, str]:
    """Return an environment with nothing of ours in it: HTTP_PROXY or OPA_* would change what OPA does.

    Args:
        home: The directory that the program may take for its user's.
        memory: What Go's garbage collector aims to stay under.
    """
    return {
        "HOME": str(home),
        "TMPDIR": str(home),
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        "GOGC": _GARBAGE,
        "GOMEMLIMIT": memory,
    }


def run(
    arguments: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    timeout: float,
    stdin: bytes = b"",
) -> ProcessOutput:
    """Run a program in a process group of its own and wait for it.

    Args:
        arguments: The program's absolute path and its arguments; no shell is involved.
        cwd: Its working directory.
        environment: Its whole environment.
        timeout: Seconds after which it is killed.
        stdin: What it reads.

    Raises:
        OSError: If it cannot be started.
        TimeoutError: If it was killed for taking too long.
    """
    process = subprocess.Popen(  # noqa: S603 - the caller names the program by absolute path
        list(arguments),
        cwd=cwd,
        env=dict(environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    with process, ended_by(partial(kill_group, process)):
        try:
            stdout, stderr = process.communicate(stdin, timeout=timeout)
        except subprocess.TimeoutExpired:
            kill_group(process)
            raise TimeoutError(f"no end after {timeout:g} s") from None
        except BaseException:
            kill_group(process)
            raise
    return ProcessOutput(process.returncode, stdout, stderr)
