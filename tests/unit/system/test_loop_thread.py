"""An event loop in a thread: what is begun in it, and its end, whenever an interrupt comes."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import Future

import anyio
import pytest
from e2e.program import ROOT

from ironcurtain.system.loop_thread import loop_thread

INTERRUPTED = """
import signal, threading, time
from ironcurtain.system.loop_thread import loop_thread

signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
with loop_thread():
    pass
for moment in range(1, 400):
    try:
        signal.setitimer(signal.ITIMER_REAL, moment * 1e-5)
        with loop_thread():
            pass
        signal.setitimer(signal.ITIMER_REAL, 0)
    except (KeyboardInterrupt, RuntimeError):
        pass  # a lock tells of an interrupt as of a mistake
while threading.active_count() > 1:
    time.sleep(0.01)
"""


def test_an_interrupt_at_any_moment_of_its_life_leaves_nothing_that_waits() -> None:
    program = [sys.executable, "-c", INTERRUPTED]
    subprocess.run(program, cwd=ROOT, stderr=subprocess.DEVNULL, timeout=120, check=True)


def test_it_ends_when_what_was_begun_in_it_has() -> None:
    ended = []

    async def work() -> None:
        await anyio.sleep(0.01)
        ended.append(threading.get_ident())

    with loop_thread() as portal:
        portal.start_task_soon(work)
    assert ended
    assert ended != [threading.get_ident()]


def test_an_error_cancels_what_was_begun_in_it() -> None:
    def fail() -> None:
        with loop_thread() as portal:
            begun.append(portal.start_task_soon(anyio.sleep_forever))
            raise FileNotFoundError

    begun: list[Future[None]] = []
    with pytest.raises(FileNotFoundError):
        fail()
    (work,) = begun
    assert work.cancelled()
