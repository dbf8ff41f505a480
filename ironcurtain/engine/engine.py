"""The embedded engine: one OPA server of our own, asked for one decision at a time or many at once.

Security rests on these:

1. The server listens on a Unix socket in a directory of mode 0700 and answers the holder of a token that
   is new for every start; OPA is given the token's digest in a file, so that neither its arguments nor its
   environment hold it. `system.authz` serves the one decision and the health check, nothing else.
2. Nothing of our environment reaches OPA, and nothing but this bundle is loaded.
3. Its life is tied to its owner's: see `parent_death.py`. On Linux the *thread* that enters the engine must
   live as long as the engine.
4. The bundle uses no built-in but those that a policy may use: nothing is asked before that is known.
5. Everything but a decision object from the expected revision raises; there is no fallback.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import secrets
import shutil
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import anyio
from anyio import CapacityLimiter, to_thread

from ironcurtain.engine.answer import BUNDLE_NAME, HTTP_OK, EngineAnswer, EngineAnswerError, read_answer
from ironcurtain.engine.blocking_client import BlockingClient
from ironcurtain.engine.locate import Opa
from ironcurtain.engine.rest_api import CONNECTIONS
from ironcurtain.errors import BundleIntegrityError, EngineFailedError
from ironcurtain.model.reserved_rules import ReservedRule
from ironcurtain.system import assets
from ironcurtain.system.background import process_scope
from ironcurtain.system.private_runtime import private_directory
from ironcurtain.system.structs import Struct
from ironcurtain.system.subprocess_runner import clean_environment
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
            # Cancelled within it, asyncio would leave a task and the program to whoever ends the loop.
            with anyio.CancelScope(shield=True):
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
            # A scope that is cancelled ends each wait in it, and the loop could be over before this is.
            with anyio.move_on_after(_KILLING, shield=True):
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


_KIND = "engine"
_SOCKET = "s"
_POLL = 0.005
_KILLING = 5.0
"""Seconds that the kernel has to end a process that is killed; nothing but that is waited for."""
# How long the news of a process's end may take to reach us after its connections broke.
_DEATH_NOTICE = 0.5


class EngineLimits(Struct):
    """Bounds of one engine, in seconds; `memory` is what OPA's garbage collector aims to stay under."""

    start: float = 60.0
    query: float = 15.0
    stop: float = 2.0
    memory: str = "1GiB"


_DEFAULT_LIMITS = EngineLimits()


class Engine:
    """An async context manager that owns one OPA server with one bundle.

    Use it from one event loop, whose thread lives as long as the engine; `query_blocking` alone may be called
    from any thread. Queries may run side by side.

    Args:
        opa: The executable.
        archive: The bundle, a `.tar.gz`. Its signature, if it has one, has been verified by whoever read it.
        revision: The revision in the bundle's manifest; an answer from any other is refused.
        limits: Time and memory bounds.
    """

    def __init__(
        self, opa: Opa, archive: bytes, revision: str, *, limits: EngineLimits = _DEFAULT_LIMITS
    ) -> None:
        self._opa = opa
        self._archive = archive
        self._revision = revision
        self._limits = limits
        self._stack = AsyncExitStack()
        self._process: OpaProcess | None = None
        self._client: BlockingClient | None = None
        self._threads = CapacityLimiter(CONNECTIONS)
        self._owner = os.getpid()

    async def __aenter__(self) -> Self:
        """Start the server and wait until it serves the bundle.

        Raises:
            EngineFailedError: If it does not start, in OPA's own words.
            BundleIntegrityError, SeveralErrors: If the bundle is of another revision, or uses built-ins that
                a policy may not use.
        """
        async with AsyncExitStack() as stack:
            token = secrets.token_urlsafe(32)
            directory = self._prepare(stack, token)
            checked = asyncio.create_task(self._check_built_ins())
            stack.push_async_callback(_ended, checked)
            process = await OpaProcess.start(
                _command(self._opa, directory),
                cwd=directory,
                environment=clean_environment(directory, memory=self._limits.memory),
            )
            stack.push_async_callback(process.stop, self._limits.stop)
            client = BlockingClient(directory / _SOCKET, token, self._limits.query)
            stack.callback(client.close)
            await self._until_healthy(process, client)
            await checked
            await self._check_bundle(process, client)
            self._process, self._client = process, client
            self._owner, self._stack = os.getpid(), stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop the server and remove its directory."""
        self._process = self._client = None
        await self._stack.aclose()

    @property
    def pid(self) -> int | None:
        """The server's process id; None when it was not started or has been closed."""
        return self._process.pid if self._process else None

    async def query(self, policy_input: bytes) -> EngineAnswer:
        """Ask for the decision on a policy input.

        Args:
            policy_input: The JSON text of one object, UTF-8, at most 8 MiB, sent unchanged.

        Raises:
            EngineAnswerError: If anything but a decision object from the expected revision comes back.
        """
        # Whoever is cancelled goes on at once; the thread ends with its answer, or with its time.
        return await to_thread.run_sync(
            self.query_blocking, policy_input, abandon_on_cancel=True, limiter=self._threads
        )

    def query_blocking(self, policy_input: bytes) -> EngineAnswer:
        """Ask as `query` does, from any thread, which waits for the answer.

        Raises:
            EngineAnswerError: As `query` does; also in a process that was forked from the engine's owner,
                since both would read from the same connections.
        """
        process, client = self._process, self._client
        if process is None or client is None or not process.alive or os.getpid() != self._owner:
            raise EngineAnswerError(ReservedRule.ENGINE_DEAD, "the engine is not running")
        try:
            status, body = client.decide(policy_input)
        except EngineAnswerError as error:
            if error.rule == ReservedRule.ENGINE_UNREACHABLE and self._ended(process):
                raise EngineAnswerError(ReservedRule.ENGINE_DEAD, "the engine has stopped running") from error
            raise
        return read_answer(status, body, self._revision)

    def _ended(self, process: OpaProcess) -> bool:
        """Wait until the event loop has heard of the process's end, if it has ended."""
        until = time.monotonic() + _DEATH_NOTICE
        while process.alive and self._process is process and time.monotonic() < until:
            time.sleep(_POLL)
        return not process.alive or self._process is not process

    def _prepare(self, stack: AsyncExitStack, token: str) -> Path:
        """Write all that OPA reads into a directory that is removed at the end; return it."""
        try:
            directory = stack.enter_context(private_directory(_KIND))
            _write_files(directory, self._archive, token)
        except OSError as error:
            raise EngineFailedError(f"the engine's files cannot be written: {visible(str(error))}") from error
        return directory

    async def _check_built_ins(self) -> None:
        from ironcurtain.engine.command import OpaCommand  # noqa: PLC0415 - it loads while OPA starts

        command = OpaCommand(self._opa, timeout=self._limits.start)
        with process_scope():  # a start that is cancelled waits for no check
            await asyncio.to_thread(command.check_built_ins, self._archive)

    async def _until_healthy(self, process: OpaProcess, client: BlockingClient) -> None:
        try:
            async with asyncio.timeout(self._limits.start):
                # In a thread: what listens may be too busy to answer, and is killed if it stays so.
                while not await asyncio.to_thread(client.check_health):
                    if await process.ended(_POLL):
                        raise _failed("OPA ended while it was starting", process)
        except TimeoutError:
            raise _failed(f"OPA was not ready within {self._limits.start:g} s", process) from None

    async def _check_bundle(self, process: OpaProcess, client: BlockingClient) -> None:
        """See that the server accepts the token and has loaded the bundle that was asked for."""
        try:
            # An empty input may trip a built-in of a policy: that is no fault of the bundle's.
            status, body = await asyncio.to_thread(client.decide, b"{}", strict=False)
            if status != HTTP_OK:
                raise _failed(f"OPA answered its first query with HTTP status {status}", process)
            read_answer(status, body, self._revision)
        except EngineAnswerError as error:
            if error.rule == ReservedRule.ENGINE_REVISION:
                raise BundleIntegrityError(f"the bundle is not the expected one: {error.reason}") from None
            if error.rule != ReservedRule.ENGINE_UNDEFINED:
                raise _failed(f"OPA did not answer its first query: {error.reason}", process) from None


async def _ended(checked: asyncio.Task[None]) -> None:
    """End a check whose outcome nobody needs any more."""
    checked.cancel()
    await asyncio.gather(checked, return_exceptions=True)


def _write_files(directory: Path, archive: bytes, token: str) -> None:
    (directory / BUNDLE_NAME).write_bytes(archive)
    guard = directory / "authz"
    (guard / "system" / "engine").mkdir(parents=True)
    (guard / ".manifest").write_text(json.dumps({"roots": ["system"], "rego_version": 1}))
    shutil.copyfile(assets.OPA / "system" / "authz" / "authz.rego", guard / "system" / "authz.rego")
    digest = hashlib.sha256(token.encode()).hexdigest()
    (guard / "system" / "engine" / "data.json").write_text(json.dumps({"token_sha256": digest}))
    shutil.copyfile(assets.OPA / "config.json", directory / "config.json")


def _command(opa: Opa, directory: Path) -> list[str]:
    return [
        *(str(opa.path), "run", "--server"),
        *("--addr", f"unix://{directory / _SOCKET}", "--unix-socket-perm", "600"),
        *("--authentication", "token", "--authorization", "basic"),
        *("--config-file", "config.json", "--skip-version-check"),
        *("--log-level", "error", "--log-format", "text", "--shutdown-grace-period", "1"),
        # Signatures are verified when a bundle is read; OPA has no key and would refuse every signed one.
        "--skip-verify",
        *("--bundle", BUNDLE_NAME, "authz"),
    ]


def _failed(what: str, process: OpaProcess) -> EngineFailedError:
    words = process.last_words
    return EngineFailedError(f"{what}: {words}" if words else what)
