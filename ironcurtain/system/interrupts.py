"""Ctrl-C where Python can raise nothing, or where nothing may be raised: it is raised a moment later.

Ctrl-C raises KeyboardInterrupt wherever the main thread is. In a finalizer, in a callback of a weak reference
(each import has one) or in a library's compiled code that cannot fail Python prints it and goes on, and what
was to end would do all that it had to do.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from types import FrameType

_MOMENT = 0.01
"""Seconds until it is raised again: by then, what could not raise it has mostly returned."""


@contextmanager
def interrupts_kept() -> Iterator[None]:
    """Let no interrupt of the main thread be lost while the block runs.

    The kernel's timer raises it again, wherever the thread computes or waits by then. It needs no thread and
    no lock, in which a second interrupt could be lost like the first.

    Raises:
        KeyboardInterrupt: As any interrupt does; at the end of the block, if one is still to be raised again.
    """
    report = sys.unraisablehook
    is_lost = False
    timer = ExitStack()

    def keep(unraisable: sys.UnraisableHookArgs) -> None:
        nonlocal is_lost
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            report(unraisable)
            return
        is_lost = True
        timer.callback(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, raise_again))
        timer.callback(signal.setitimer, signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_REAL, _MOMENT)

    def raise_again(_: int, frame: FrameType | None) -> None:
        nonlocal is_lost
        if _is_below(keep, frame):  # raised there, it would be lost
            signal.setitimer(signal.ITIMER_REAL, _MOMENT)
        elif is_lost:
            is_lost = False
            raise KeyboardInterrupt

    sys.unraisablehook = keep
    try:
        yield
    finally:
        with timer:
            sys.unraisablehook = report
        if is_lost:
            raise KeyboardInterrupt


@contextmanager
def interrupts_masked() -> Iterator[Callable[[], object]]:
    """Let no interrupt into this thread while the block runs; one that comes is raised at its end.

    Yields:
        Unmasks them before, in this thread or in one that was begun meanwhile.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    unmask = partial(signal.pthread_sigmask, signal.SIG_SETMASK, before)
    try:
        yield unmask
    finally:
        unmask()


def _is_below(function: Callable[..., object], frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code is not function.__code__:
        frame = frame.f_back
    return frame is not None
