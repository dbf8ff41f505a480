"""Interrupts that Python raises where nothing can be raised: they are raised again, a moment later.

Ctrl-C raises KeyboardInterrupt wherever the main thread is. In a finalizer, in a callback of a weak reference
(each import has one) or in a library's compiled code that cannot fail (pydantic's, while it builds a model)
Python prints it and goes on, and what was to end would do all that it had to do.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

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


def _interrupt() -> None:
    """Send the main thread what Ctrl-C does, which ends its waiting, too."""
    main = threading.main_thread().ident
    assert main is not None  # noqa: S101 - it runs
    signal.pthread_kill(main, signal.SIGINT)
