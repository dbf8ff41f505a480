"""Runs the command line, as a program of its own or (where that says as much) inside the test."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from ironcurtain.cli.main import run as run_command

ROOT = Path(__file__).parents[2]
PROGRAM = [sys.executable, "-c", "from ironcurtain.cli.main import main; main()"]
SHIPPED = ROOT / "generated" / "bundle"


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def codes(self) -> list[str]:
        """The codes of the errors that it printed, and of what it said to wait for."""
        return re.findall(r"^(?:error|waiting)\[(IC\d{4})\]", self.err, re.MULTILINE)


def environment(**more: str) -> dict[str, str]:
    """Return the environment for a program: ours, and the package found wherever the program runs."""
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


def program(*arguments: str | bytes, cwd: Path | None = None, **more: str) -> Ended:
    """Run the command line as a program of its own."""
    ended = subprocess.run(
        [*PROGRAM, *arguments],
        cwd=cwd,
        env=environment(**more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)


@dataclass(frozen=True)
class Inside:
    """Runs command lines inside the test, in the directory of the last one or in another."""

    monkeypatch: pytest.MonkeyPatch

    def __call__(self, *arguments: str, cwd: Path | None = None) -> Ended:
        if cwd is not None:
            self.monkeypatch.chdir(cwd)
        return in_process(*arguments, cwd=Path.cwd())


def in_process(*arguments: str, cwd: Path, **more: str) -> Ended:
    """Run the command line as `program` does, inside this process: the same function that it calls."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n") for _ in range(2))
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        patch.chdir(cwd)
        for name, value in more.items():
            patch.setenv(name, value)
        code = run_command(arguments)
    texts = []
    for stream in (out, err):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode())
    return Ended(int(code), *texts)


def copy_tracked(directory: Path) -> Path:
    """Copy what is tracked into a directory, with the MCP servers where the configuration expects them."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, directory / name)
    (directory / "node_modules").symlink_to(ROOT / "node_modules")
    return directory


def assert_clear(ended: Ended, code: int, error: str) -> None:
    """Assert one kind of error, each with its page and what to do or where, and no traceback."""
    assert (ended.code, set(ended.codes)) == (code, {error}), ended.err
    assert ended.out == ""
    assert "Traceback" not in ended.err
    for block in ended.err[ended.err.index("error[") :].split("error[")[1:]:
        assert f"see: ironcurtain error {error}" in block
        assert "  --> " in block or "  hint: " in block, block
