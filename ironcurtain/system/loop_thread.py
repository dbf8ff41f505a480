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

from ironcurtain.system.interrupts import interrupts_masked
from ironcurtain.system.structs import Struct

_PATIENCE = 30.0
"""Seconds that a cancelled loop has to end, more than any server needs. One that waits for a lock of the
portal's, which an interrupt of the block left locked, never does."""


@contextmanager
def loop_thread() -> Iterator[BlockingPortal]:
    """Run an event loop in a thread while the block runs, and until what was begun in it has ended.

    Where an error or an interrupt leaves the block, that is cancelled. AnyIO's `start_blocking_portal` does
    the same, but waits for ever where an interrupt keeps it from telling the thread to end, or comes while it
    holds a lock that the thread needs. So none comes here while the loop starts, and then no lock is held.

    Yields:
        What has the loop do something.
    """
    opened: Future[_Loop] = Future()
    with interrupts_masked() as unmask:

        def work() -> None:
            unmask()  # else what is started from here would hear of none
            try:
                anyio.run(_serve, opened)
            except BaseException as error:  # noqa: BLE001 - raised where the loop is waited for
                if not opened.done():
                    opened.set_exception(error)

        thread = threading.Thread(target=work, name="ironcurtain-loop", daemon=True)
        thread.start()
        loop = opened.result()
        try:
            unmask()
            yield loop.portal
            loop.end()
            thread.join()
        except BaseException:
            loop.cancel()
            thread.join(_PATIENCE)
            raise


class _Loop(Struct):
    """A loop that runs, and what another thread does to it without waiting for a lock.

    Attributes:
        portal: What has it do something.
        end: Has it end when what was begun has, `cancel` at once; nothing if it has ended.
    """

    portal: BlockingPortal
    end: Callable[[], None]
    cancel: Callable[[], None]


async def _serve(opened: Future[_Loop]) -> None:
    loop, over = asyncio.get_running_loop(), asyncio.Event()

    def tell(act: Callable[[], object]) -> None:
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(act)

    with anyio.CancelScope() as scope:
        async with BlockingPortal() as portal:
            opened.set_result(_Loop(portal, partial(tell, over.set), partial(tell, scope.cancel)))
            await over.wait()
