"""An event loop in a thread of its own, which ends with its block, whenever an interrupt comes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial

import anyio
from anyio.from_thread import BlockingPortal


@contextmanager
def loop_thread() -> Iterator[BlockingPortal]:
    """Run an event loop in a thread while the block runs, and until what was begun in it has ended.

    Where an error or an interrupt leaves the block, that is cancelled. AnyIO's `start_blocking_portal` does
    the same, but waits for ever where an interrupt keeps it from telling the thread to end.

    Yields:
        What has the loop do something.
    """
    opened: Future[tuple[BlockingPortal, Callable[[], object]]] = Future()
    over = threading.Event()

    async def serve() -> None:
        with anyio.CancelScope() as scope:
            async with BlockingPortal() as portal:
                loop = asyncio.get_running_loop()
                opened.set_result((portal, partial(loop.call_soon_threadsafe, scope.cancel)))
                if over.is_set():
                    scope.cancel()
                await portal.sleep_until_stopped()

    def work() -> None:
        try:
            anyio.run(serve)
        except BaseException as error:  # noqa: BLE001 - raised where the loop is waited for
            if not opened.done():
                opened.set_exception(error)

    thread = threading.Thread(target=work, name="ironcurtain-loop", daemon=True)
    try:
        thread.start()
        portal, _ = opened.result()
        yield portal
        portal.call(portal.stop)
        thread.join()
    except BaseException:
        over.set()
        with suppress(RuntimeError):  # the thread has not begun yet, or the loop has ended
            if opened.done() and opened.exception() is None:
                opened.result()[1]()
            thread.join()
        raise
