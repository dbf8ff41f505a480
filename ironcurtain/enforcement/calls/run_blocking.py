"""Runs blocking work in a thread that is left behind on cancellation, as when a disk does not answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from anyio import to_thread

from ironcurtain.system.background import process_scope

T = TypeVar("T")


async def run_blocking(work: Callable[[], T]) -> T:
    """Return what some work returns, which must leave nothing half done.

    Whoever is cancelled goes on at once. The programs that the work has started are killed then; the thread
    ends when it can, and what it returns is lost.
    """
    with process_scope():
        return await to_thread.run_sync(work, abandon_on_cancel=True)
