"""The proxy as a process: serve until the client goes, and tell its person what there is to know.

`serve` runs the event loop with the options of `runner`; `say` writes a line to standard error. Nothing that
a library logs reaches the person unescaped.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable

import anyio

from ironcurtain.enforcement.proxy.options import ProxyOptions
from ironcurtain.enforcement.proxy.runner import run_proxy
from ironcurtain.errors import Exit, IronCurtainError
from ironcurtain.servers.process_tree import adopting
from ironcurtain.system.text import printable

_LAST_THREADS = 1.0


def serve(options: ProxyOptions) -> None:
    """Run the proxy."""
    run(run_proxy, options, say)


def run(work: Callable[..., Awaitable[None]], *arguments: object) -> None:
    """Run a process that serves; of several errors at once the first one is told."""
    _keep_quiet()
    try:
        with adopting():
            anyio.run(work, *arguments, backend_options={"use_uvloop": True})
    except* IronCurtainError as group:
        first: BaseException = group
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        raise first from None
    _leave_what_hangs()


def _leave_what_hangs() -> None:
    """Exit at once where a thread does not end; all is recorded, and the interpreter would wait for it."""
    end = time.monotonic() + _LAST_THREADS
    others = [each for each in threading.enumerate() if each is not threading.main_thread()]
    waited_for = [each for each in others if not each.daemon]
    for thread in waited_for:
        thread.join(max(0.0, end - time.monotonic()))
    if any(thread.is_alive() for thread in waited_for):
        sys.stderr.flush()
        os._exit(Exit.YES)


def say(text: str) -> None:
    """Tell the person who started the proxy."""
    # The parent may have closed its end; that is no reason to stop serving.
    try:
        sys.stderr.write(f"ironcurtain: {printable(text)}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        pass


def _keep_quiet() -> None:
    """Nothing of a library's reaches the person unescaped: what has to be said, we say."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Printable("ironcurtain: %(message)s"))
    for name in ("ironcurtain", "opentelemetry"):
        told = logging.getLogger(name)
        told.addHandler(handler)
        told.setLevel(logging.ERROR)
        told.propagate = False
    for name in ("mcp", "client", "uvicorn", "httpx2"):
        logging.getLogger(name).addHandler(logging.NullHandler())
        logging.getLogger(name).propagate = False


class _Printable(logging.Formatter):
    """One safe line a message; tracebacks stay away, the exception's name stays."""

    def format(self, record: logging.LogRecord) -> str:
        error = record.exc_info[1] if record.exc_info else None
        record.exc_info, record.exc_text = None, None
        text = super().format(record)
        return printable(f"{text} ({type(error).__name__}: {error})" if error else text)
