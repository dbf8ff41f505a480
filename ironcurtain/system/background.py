"""Work in a thread beside one's own; where nobody waits for it any more, its programs end."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar, copy_context
from typing import TypeVar

G = TypeVar("G")
T = TypeVar("T")


class _Errand:
    """The programs that one piece of work runs, and what it has others do beside it."""

    def __init__(self, outer: _Errand | None) -> None:
        self.outer = outer
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._over = False

    @contextmanager
    def runs(self, process: subprocess.Popen[bytes]) -> Iterator[None]:
        with self._lock:
            self._running.add(process)
            over = self._over
        if over:
            kill_group(process)
        try:
            yield
        finally:
            with self._lock:
                self._running.discard(process)

    def end(self) -> None:
        with self._lock:
            self._over = True
            for process in self._running:
                kill_group(process)


_ERRAND: ContextVar[_Errand | None] = ContextVar("errand", default=None)


@contextmanager
def beside(work: Callable[[], T]) -> Iterator[Future[T]]:
    """Do some work in a thread while the block runs; wait for its end.

    Where an error or an interrupt leaves the block, the programs that the work has started are killed, and so
    are those that it starts from then on: nobody waits minutes for an answer that nobody wants.

    `work` takes its result or its error to the future that is yielded.
    """
    own, context = _Errand(_ERRAND.get()), copy_context()
    context.run(_ERRAND.set, own)
    with ThreadPoolExecutor(1) as pool:
        try:
            yield pool.submit(context.run, work)
        except BaseException:
            own.end()
            raise


@contextmanager
def errand() -> Iterator[None]:
    """Let the programs that are started in this block, or in a thread that works for it, end with it.

    That is, where an error, an interrupt or a cancellation leaves the block: then they are killed, and so are
    those that such a thread starts later.
    """
    own = _Errand(_ERRAND.get())
    before = _ERRAND.set(own)
    try:
        yield
    except BaseException:
        own.end()
        raise
    finally:
        _ERRAND.reset(before)


def carried(work: Callable[[G], T]) -> Callable[[G], T]:
    """Return the same work, which belongs to the errand of this thread in whatever thread it is done."""
    own = _ERRAND.get()

    def run(given: G) -> T:
        before = _ERRAND.set(own)
        try:
            return work(given)
        finally:
            _ERRAND.reset(before)

    return run


@contextmanager
def watched(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Let a program end with the work that started it, if that is done beside other work."""
    with ExitStack() as stack:
        each = _ERRAND.get()
        while each is not None:
            stack.enter_context(each.runs(process))
            each = each.outer
        yield


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a program and its children; it is not yet waited for, so its number is still its own."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
