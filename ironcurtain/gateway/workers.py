"""Where handlers run: apart from the server, and ended with their calls, the programs that they started, too.

A thread cannot be killed. One that must end is sent an exception, which ends Python code at its next step and
code that waits in the operating system when that returns. Until then it is counted, and with too many such
threads further calls are refused instead of piling up.

A plain handler has a thread of its own, so the children of that thread are its programs. Asynchronous ones
share a thread. There the interpreter tells of each start before it happens (an audit hook): the child that
the thread then has, and had not before, is of the job that ran. The kernel tells of children on Linux only.

What is started by a thread that a handler began itself, and a program that leaves its parents as daemons do,
is of no job that is known: it ends with the gateway, which adopts it.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import ctypes
import dataclasses
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future, InvalidStateError
from contextvars import ContextVar
from pathlib import Path
from typing import Any, cast

import anyio
from anyio import to_thread
from pydantic import BaseModel

from ironcurtain.gateway.command import Command, arguments_for
from ironcurtain.system.structs import Struct, field

JOB: ContextVar[object | None] = ContextVar("ironcurtain_job", default=None)
"""The job that a program is started for; threads that are handed work by asyncio inherit it."""

_EVENTS = frozenset(("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"))


@dataclasses.dataclass
class _Family:
    """The children of one thread.

    Attributes:
        starter: Whose start was told last; a child that is not known yet is of this job.
        known: By process the job that it was started for.
    """

    starter: object | None = None
    known: dict[int, object | None] = dataclasses.field(default_factory=dict)

    def look(self, thread: int) -> None:
        """Take note of the children that a thread has by now."""
        self.known = {child: self.known.get(child, self.starter) for child in children(os.getpid(), thread)}


class Started:
    """The programs of jobs that share threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._families: dict[int, _Family] = {}
        self._watching = False

    def watch(self) -> None:
        """Begin to be told of starts; a hook of the interpreter stays for as long as this does."""
        if not self._watching:
            self._watching = True
            sys.addaudithook(self._told)

    def end(self, job: object) -> None:
        """Kill the programs that were started for a job; whoever waits for them is told."""
        with self._lock:
            for thread, family in list(self._families.items()):
                family.look(thread)
                for child in [child for child, of in family.known.items() if of is job]:
                    kill_tree(child)
                if family.starter is job:
                    family.starter = None
                if not family.known:
                    del self._families[thread]

    def _told(self, event: str, _: object) -> None:
        if event not in _EVENTS:
            return
        job, thread = JOB.get(), threading.get_native_id()
        if job is None and thread not in self._families:
            return
        with self._lock:
            family = self._families.setdefault(thread, _Family())
            family.look(thread)
            family.starter = job


STARTED = Started()


def end_programs(thread: int | None) -> None:
    """Kill the programs that a thread has started, and all below them."""
    if thread is None:
        return
    for child in list(children(os.getpid(), thread)):
        kill_tree(child)
        with contextlib.suppress(OSError):
            os.waitpid(child, 0)


def kill_tree(process: int) -> None:
    """Kill a process and all below it."""
    for each in (process, *_below(process)):
        with contextlib.suppress(OSError):
            os.kill(each, signal.SIGKILL)


def children(process: int, thread: int) -> Iterator[int]:
    """Yield the children that a thread of a process has."""
    with contextlib.suppress(OSError):
        yield from map(int, Path(f"/proc/{process}/task/{thread}/children").read_text().split())


def _below(process: int) -> Iterator[int]:
    with contextlib.suppress(OSError):
        for thread in list(Path(f"/proc/{process}/task").iterdir()):
            for child in children(process, int(thread.name)):
                yield child
                yield from _below(child)


MOST_RUNNING = 64
MOST_STUCK = 16
_GRACE = 1.0


class TooManyHandlersError(Exception):
    """Too many handlers run, or do not end."""


class HandlerStoppedError(BaseException):
    """Raised in a handler's thread when its call has ended."""


class Workers:
    """The threads and the event loop of a gateway's handlers."""

    def __init__(self, *, most_running: int = MOST_RUNNING, most_stuck: int = MOST_STUCK) -> None:
        self._most_running, self._most_stuck = most_running, most_stuck
        self._running = 0
        self._stuck: set[threading.Thread] = set()
        self._loop: _Loop | None = None

    def close(self) -> None:
        """End the event loop; threads that do not end are left to the end of the process."""
        if self._loop is not None:
            self._loop.stop()

    async def in_thread(self, handler: Callable[..., object], taken: tuple[Any, ...]) -> object:
        """Run a plain handler; when this is cancelled, it and the programs that it started are ended.

        Raises:
            TooManyHandlersError: If too many run already.
            Exception: What the handler raises.
        """
        with self._counted():
            return await self._in_thread(handler, taken)

    async def around_program(self, command: Command, given: BaseModel) -> object:
        """Run a program; what a team's own code makes of input and output runs in threads like a handler.

        Raises:
            TooManyHandlersError: If too many run already.
            CommandFailedError: If the program does not do what was asked.
            Exception: What that code raises.
        """
        with self._counted():
            arguments = await self._in_thread(arguments_for, (command, given))
            written = await command.run(cast("list[str]", arguments))
            return await self._in_thread(command.read, (written,))

    async def _in_thread(self, work_of: Callable[..., object], taken: tuple[Any, ...]) -> object:
        work = _Thread(work_of, taken)
        work.start()
        try:
            return await asyncio.wrap_future(work.result)
        except asyncio.CancelledError:
            with anyio.CancelScope(shield=True):
                await self._end(work)
            raise

    async def on_loop(
        self, handler: Callable[..., Coroutine[Any, Any, object]], taken: tuple[Any, ...]
    ) -> object:
        """Run an asynchronous handler on the gateway's own loop; when this is cancelled, it is cancelled.

        Raises:
            TooManyHandlersError: If too many run already.
            Exception: What the handler raises.
        """
        with self._counted():
            if self._loop is None or not self._loop.is_alive:
                self._loop = _Loop()
            loop = self._loop
            job = loop.submit(handler, taken)
            try:
                return await asyncio.wrap_future(job.result)
            except asyncio.CancelledError:
                with anyio.CancelScope(shield=True):
                    await self._end_on(loop, job)
                raise

    @contextlib.contextmanager
    def _counted(self) -> Iterator[None]:
        self._stuck = {thread for thread in self._stuck if thread.is_alive()}
        if self._running >= self._most_running:
            raise TooManyHandlersError(f"more than {self._most_running} handlers run")
        if len(self._stuck) >= self._most_stuck:
            raise TooManyHandlersError(f"{len(self._stuck)} handlers do not end")
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1

    async def _end(self, work: _Thread) -> None:
        """End a thread and what it started, as far as that can be done within a moment."""
        end_programs(work.native_id)
        interrupt(work)
        await to_thread.run_sync(work.join, _GRACE)
        if work.is_alive():
            end_programs(work.native_id)
            self._stuck.add(work)

    async def _end_on(self, loop: _Loop, job: _Job) -> None:
        """End a handler and what it started; a loop that it blocks is interrupted, or else replaced."""
        STARTED.end(job)
        if await to_thread.run_sync(job.ended.wait, _GRACE):
            return
        interrupt(loop.thread)
        if await to_thread.run_sync(job.ended.wait, _GRACE):
            return
        end_programs(loop.thread.native_id)
        self._stuck.add(loop.thread)
        if self._loop is loop:
            self._loop = None


class _Thread(threading.Thread):
    """Runs one plain handler, and ends what it leaves behind."""

    def __init__(self, handler: Callable[..., object], taken: tuple[Any, ...]) -> None:
        super().__init__(name="ironcurtain-handler", daemon=True)
        self._handler, self._taken = handler, taken
        self.result: Future[object] = Future()

    def run(self) -> None:
        """Run the handler; its programs end before its answer goes on."""
        try:
            try:
                answer = self._handler(*self._taken)
            finally:
                end_programs(threading.get_native_id())
        except HandlerStoppedError:
            self._tell(TimeoutError())
        except BaseException as error:  # noqa: BLE001 - SystemExit of a handler, too, is its own
            self._tell(error if isinstance(error, Exception) else RuntimeError(type(error).__name__))
        else:
            with contextlib.suppress(Exception):
                self.result.set_result(answer)

    def _tell(self, error: Exception) -> None:
        with contextlib.suppress(Exception):
            self.result.set_exception(error)


class _Job(Struct):
    """One handler on the loop.

    Attributes:
        ended: Is set when it has ended, however it did.
    """

    result: Future[object] = field(default_factory=Future)
    ended: threading.Event = field(default_factory=threading.Event)

    def end(self, task: asyncio.Task[object]) -> None:
        """End the programs that it left, and take what came of it."""
        STARTED.end(self)
        self.ended.set()
        with contextlib.suppress(InvalidStateError):
            if task.cancelled():
                self.result.cancel()
            elif isinstance(error := task.exception(), Exception):
                self.result.set_exception(error)
            elif error is not None:
                self.result.set_exception(RuntimeError(type(error).__name__))
            else:
                self.result.set_result(task.result())


class _Loop:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        STARTED.watch()
        self._loop = asyncio.new_event_loop()
        # It would write the words of an exception that no handler takes to standard error.
        self._loop.set_exception_handler(lambda _, __: None)
        self._stopping = False
        self.thread = threading.Thread(target=self._run, name="ironcurtain-handlers", daemon=True)
        self.thread.start()

    @property
    def is_alive(self) -> bool:
        return self.thread.is_alive()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        while not self._stopping:
            # An interruption that came too late for its handler, and SystemExit of one, end no other's.
            with contextlib.suppress(BaseException):
                self._loop.run_forever()

    def submit(self, handler: Callable[..., Coroutine[Any, Any, object]], taken: tuple[Any, ...]) -> _Job:
        """Run a handler; cancelling its result cancels it."""
        job = _Job()

        def begin() -> None:
            context = contextvars.copy_context()
            context.run(JOB.set, job)
            task: asyncio.Task[object] = self._loop.create_task(handler(*taken), context=context)
            task.add_done_callback(job.end)

            def call_off(result: Future[object]) -> None:
                if result.cancelled():
                    self._loop.call_soon_threadsafe(task.cancel)

            job.result.add_done_callback(call_off)

        self._loop.call_soon_threadsafe(begin)
        return job

    def stop(self) -> None:
        """End the loop."""
        self._stopping = True
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._loop.stop)


def interrupt(thread: threading.Thread) -> None:
    """Raise `HandlerStoppedError` in a thread at its next step of Python code."""
    if thread.ident is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread.ident), ctypes.py_object(HandlerStoppedError)
        )
