"""Interrupts where none can be raised, or none may come: they are raised a moment later.

Ctrl-C raises KeyboardInterrupt wherever the main thread is. In a finalizer, in a callback of a weak reference
(each import has one) or in a library's compiled code that cannot fail (pydantic's, while it builds a model)
Python prints it and goes on, and what was to end would do all that it had to do.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

_MOMENT = 0.01
"""Seconds until it is raised again: by then, what could not raise it has mostly returned."""


@contextmanager
def interrupts_kept() -> Iterator[None]:
    """Let no interrupt be lost while the block runs.

    Raises:
        KeyboardInterrupt: As any interrupt does; at the end of the block, if one is still to be raised again.
    """
    again: list[threading.Timer] = []
    tell = sys.unraisablehook

    def keep(unraisable: sys.UnraisableHookArgs) -> None:
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            tell(unraisable)
            return
        # By another thread: raised from here, it would be lost once more.
        again.append(threading.Timer(_MOMENT, _interrupt))
        again[-1].start()

    sys.unraisablehook = keep
    try:
        yield
    finally:
        sys.unraisablehook = tell
        late = [each for each in again if each.is_alive()]
        for each in late:
            each.cancel()
            each.join()  # one that could not be cancelled any more raises here
        if late:
            raise KeyboardInterrupt


@contextmanager
def interrupts_held() -> Iterator[Callable[[], object]]:
    """Let no interrupt into this thread while the block runs; one that comes is raised at its end.

    Yields:
        What lets them in before, in this thread or in one or a fork that was begun meanwhile.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    let_in = partial(signal.pthread_sigmask, signal.SIG_SETMASK, before)
    try:
        yield let_in
    finally:
        let_in()


def _interrupt() -> None:
    """Send the main thread what Ctrl-C does, which ends its waiting, too."""
    main = threading.main_thread().ident
    assert main is not None  # noqa: S101 - it runs
    signal.pthread_kill(main, signal.SIGINT)
