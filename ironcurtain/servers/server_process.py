"""The process of one MCP server over stdio: how it is started and ended, apart from what is said to it.

It needs nothing of the SDK, so that a server can start while that is loaded. A server ends with us: see
`process_tree.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio

from ironcurtain.errors import ServerFailedError
from ironcurtain.system.structs import SecretStruct, Struct
from ironcurtain.system.text import visible

_LAUNCHER = Path(__file__).with_name("process_tree.py")
_POLL = 0.01


class ServerStart(SecretStruct):
    """How a server is started.

    Attributes:
        command: Its program, by path or by name.
        args: Its arguments.
        env: Its whole environment; None for ours.
        cwd: Its working directory; None for ours.
    """

    secret_fields = frozenset({"env"})

    command: str
    args: Sequence[str] = ()
    env: Mapping[str, str] | None = None
    cwd: Path | None = None


class PipeLimits(Struct):
    """Bounds on what a server may do to us.

    Attributes:
        line: Bytes of one message.
        values: Values in one message: what it takes to hold it is in proportion to these.
        unasked: Requests and notifications of the server, answers to nothing that it was asked, and lines
            that are no message, in any `window` seconds; `unasked_line` and `unasked_bytes` are the bytes of
            one and of all of them.
        grace: Seconds that the process has to end after its input has.
        killing: Seconds that our launcher has then to kill whatever the server started: it alone can find
            what left the server's session.
    """

    line: int = 32 << 20
    values: int = 250_000
    unasked: int = 5_000
    unasked_line: int = 1 << 20
    unasked_bytes: int = 16 << 20
    window: float = 10.0
    grace: float = 1.5
    killing: float = 15.0


DEFAULT_LIMITS = PipeLimits()


class ServerProcess:
    """A server's process with its pipes. Until it is listened to, nothing is said to it or read of it.

    Attributes:
        process: The process.
        stdin: What its input is written to.
        limits: Bounds on what it may do to us.
    """

    def __init__(
        self, process: asyncio.subprocess.Process, stdin: asyncio.StreamWriter, limits: PipeLimits
    ) -> None:
        self.process, self.stdin, self.limits = process, stdin, limits
        pipe = process._transport.get_pipe_transport  # type: ignore[attr-defined]  # noqa: SLF001 - asyncio has no other way
        self._outputs = [pipe(number) for number in (1, 2)]
        for output in self._outputs:
            output.pause_reading()  # of a flood that nobody reads yet, the kernel keeps less than asyncio

    @classmethod
    async def start(cls, start: ServerStart, limits: PipeLimits = DEFAULT_LIMITS) -> ServerProcess:
        """Start a server.

        Its input is a pipe of our own: asyncio would make a pair of sockets, by which bash takes itself for a
        remote shell and runs `~/.bashrc`.

        Raises:
            ServerFailedError: If it cannot be started.
        """
        with anyio.CancelScope(shield=True):  # cancelled within it, it would leave what it has started
            started = await cls._start(start, limits)
        return started  # noqa: RET504 - type checkers take a scope for what may swallow an error

    @classmethod
    async def _start(cls, start: ServerStart, limits: PipeLimits) -> ServerProcess:
        theirs, ours = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", str(_LAUNCHER), str(os.getpid())),
                *(start.command, *start.args),
                cwd=start.cwd,
                env=start.env,
                stdin=theirs,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
                limit=limits.line,
            )
        except (OSError, ValueError) as error:
            os.close(ours)
            raise ServerFailedError(f"the server cannot be started: {visible(str(error))}") from error
        finally:
            os.close(theirs)
        loop = asyncio.get_running_loop()
        written = os.fdopen(ours, "wb", 0)
        transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, written)
        return cls(process, asyncio.StreamWriter(transport, protocol, None, loop), limits)

    def listen(self) -> None:
        """Take what it writes, from now on."""
        for output in self._outputs:
            output.resume_reading()

    async def stop(self) -> None:
        """End the process: its input first, then a signal, then a kill; return when it is gone."""
        with anyio.CancelScope(shield=True):
            self.stdin.close()
            bounds = ((self.limits.grace, signal.SIGTERM), (self.limits.killing, signal.SIGKILL))
            for seconds, number in bounds:
                if await self._ended(seconds):
                    break
                self.signal(number)
                self.signal(signal.SIGCONT)  # the server may have stopped its launcher
            else:
                await self._ended(self.limits.grace)
            # Whoever still holds an end of the pipes (a process that left its session) must not hold us.
            self.process._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001 - asyncio has no other way

    async def _ended(self, seconds: float) -> bool:
        """Tell whether it ends in time; `wait` would wait for everybody who inherited its pipes, too."""
        deadline = anyio.current_time() + seconds
        while self.process.returncode is None and anyio.current_time() < deadline:  # noqa: ASYNC110 - it is told of in no other way
            await anyio.sleep(_POLL)
        return self.process.returncode is not None

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process and its group; the launcher kills all that the server started."""
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)
