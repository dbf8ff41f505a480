"""The operating system's side of an engine: one OPA process, its output, its end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from ironcurtain.errors import EngineFailedError
from ironcurtain.system.text import visible

_LAUNCHER = Path(__file__).with_name("parent_death.py")
_TAIL_BYTES = 4096


class OpaProcess:
    """A running OPA server that dies with its owner; its output is drained and its last words are kept."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._tail = b""
        self._drain = asyncio.create_task(self._read_output())

    @classmethod
    async def start(cls, command: Sequence[str], *, cwd: Path, environment: Mapping[str, str]) -> OpaProcess:
        """Start the command (an absolute path and its arguments).

        Raises:
            EngineFailedError: If it cannot be started.
        """
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", str(_LAUNCHER), str(os.getpid())),
                *command,
                cwd=cwd,
                env=dict(environment),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise EngineFailedError(f"OPA could not be started: {visible(str(error))}") from error
        return cls(process)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process has not ended, as far as is known."""
        return self._process.returncode is None

    @property
    def last_words(self) -> str:
        """The end of what it wrote, on one line and safe to show."""
        lines = self._tail.decode("utf-8", "replace").splitlines()
        return "; ".join(visible(line.strip()) for line in lines if line.strip())

    async def ended(self, within: float) -> bool:
        """Wait at most `within` seconds for its end; tell whether it has ended."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self._process.wait()
        return not self.alive

    async def stop(self, grace: float) -> None:
        """End the process: ask, wait `grace` seconds, then kill. Returns when it is gone."""
        try:
            self._signal(signal.SIGTERM)
            await self.ended(grace)
        finally:
            self._signal(signal.SIGKILL)
            await self._process.wait()
            await self._drain

    def _signal(self, number: signal.Signals) -> None:
        if self.alive:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)

    async def _read_output(self) -> None:
        stream = self._process.stdout
        while stream is not None and (chunk := await stream.read(_TAIL_BYTES)):
            self._tail = (self._tail + chunk)[-_TAIL_BYTES:]
