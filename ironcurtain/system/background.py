"""Work in a thread of the background; where nobody waits for it any more, its processes end."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar, copy_context
from typing import Generic, TypeVar

G = TypeVar("G")
T = TypeVar("T")


class _ProcessScope:
    """What ends the processes that one piece of work waits for, and those of what it has others do for it."""

    def __init__(self, outer: _ProcessScope | None) -> None:
        self.outer = outer
        self._lock = threading.Lock()
        self._ends: set[Callable[[], None]] = set()
        self._over = False

    @contextmanager
    def waits(self, end: Callable[[], None]) -> Iterator[None]:
        with self._lock:
            self._ends.add(end)
            over = self._over
        if over:
            end()
        try:
            yield
        finally:
            with self._lock:
                self._ends.discard(end)

    def end(self) -> None:
        with self._lock:
            self._over = True
            for end in self._ends:
                end()


_SCOPE: ContextVar[_ProcessScope | None] = ContextVar("process_scope", default=None)


@contextmanager
def in_background(work: Callable[[], T]) -> Iterator[Future[T]]:
    """Do some work in a thread while the block runs; wait for its end.

    Where an error or an interrupt leaves the block, or ends that waiting, the programs that the work has
    started are killed, and so are those that it starts from then on: nobody waits minutes for an answer that
    nobody wants.

    `work` takes its result or its error to the future that is yielded.
    """
    scope, context = _ProcessScope(_SCOPE.get()), copy_context()
    context.run(_SCOPE.set, scope)
    with ThreadPoolExecutor(1) as pool:
        try:
            yield pool.submit(context.run, work)
            pool.shutdown()
        except BaseException:
            scope.end()
            raise


class Once(Generic[T]):
    """Some work that is done when its result is first asked for; who asks meanwhile waits for that.

    Work that raises is done again for whoever asks next.

    Args:
        work: The work.
    """

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._lock = threading.Lock()
        self._results: list[T] = []

    def __call__(self) -> T:
        """Return the result."""
        with self._lock:
            if not self._results:
                self._results.append(self._work())
            return self._results[0]


@contextmanager
def process_scope() -> Iterator[None]:
    """Let the programs that are started in this block, or in a thread that works for it, end with it.

    That is, where an error, an interrupt or a cancellation leaves the block: then they are killed, and so are
    those that such a thread starts later.
    """
    scope = _ProcessScope(_SCOPE.get())
    before = _SCOPE.set(scope)
    try:
        yield
    except BaseException:
        scope.end()
        raise
    finally:
        _SCOPE.reset(before)


def within_scope(work: Callable[[G], T]) -> Callable[[G], T]:
    """Return the same work, done in the process scope of this thread, whatever thread does it."""
    scope = _SCOPE.get()

    def run(given: G) -> T:
        before = _SCOPE.set(scope)
        try:
            return work(given)
        finally:
            _SCOPE.reset(before)

    return run


@contextmanager
def ended_by(end: Callable[[], None]) -> Iterator[None]:
    """Have a process ended with the work that waits for it in this block, if that is done in the background.

    Args:
        end: Ends the process, however often it is called.
    """
    with ExitStack() as stack:
        scope = _SCOPE.get()
        while scope is not None:
            stack.enter_context(scope.waits(end))
            scope = scope.outer
        yield


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a program and its children; it is not yet waited for, so its number is still its own."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
