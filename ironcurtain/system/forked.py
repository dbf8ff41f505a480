"""Work in a fork of this process, on another core; it ends where nobody waits for it any more.

What waits and the fork hold two pipes. By one the fork answers; its end without an answer is a fork that was
killed. The other is only closed: by what waits, when it has the answer or wants none any more, or by the
kernel when that is dead. Then the fork ends.
"""

from __future__ import annotations

import os
import pickle
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import BinaryIO, NoReturn, TypeVar

from ironcurtain.errors import SystemFailedError
from ironcurtain.system.background import Once, ended_by, in_background
from ironcurtain.system.interrupts import interrupts_masked

T = TypeVar("T")


@contextmanager
def in_fork(work: Callable[[], T]) -> Iterator[Callable[[], T]]:
    """Do some work in a fork while the block runs; when the block has ended, so has the fork.

    Only a process of one thread can be forked; in any other one the work is done by one more thread.

    Yields:
        What waits for the work and returns its result, which is pickled, or raises its error.

    Raises:
        OSError: If there can be no fork.
        SystemFailedError: From what waits, if the fork was killed.
    """
    if threading.active_count() > 1:
        with in_background(work) as begun:
            yield begun.result
        return
    (reads, answers), (waited, waits) = os.pipe(), os.pipe()
    # A fork that has just begun would end all that the process before it is to end.
    with interrupts_masked() as unmask:
        process = os.fork()
        if process == 0:
            _be_fork(work, answers, waited, others=(reads, waits), unmask=unmask)
        os.close(answers)
        os.close(waited)
        answer, waiting = open(reads, "rb"), open(waits, "wb", buffering=0)  # noqa: PTH123, SIM115 - handles
        outcome = Once(partial(_outcome, answer, waiting))
        try:
            unmask()
            yield lambda: _result(outcome())
        finally:
            waiting.close()
            answer.close()  # else a fork that still answers would wait for somebody who reads
            os.waitpid(process, 0)


def _be_fork(
    work: Callable[[], T],
    answers: int,
    waited: int,
    *,
    others: tuple[int, ...],
    unmask: Callable[[], object],
) -> NoReturn:
    try:
        unmask()
        for end in others:  # else what is closed there would stay open here
            os.close(end)
        with in_background(partial(_answer, work, answers)) as answered:
            os.read(waited, 1)
            if not answered.done():
                raise KeyboardInterrupt  # which ends the programs of the work
    finally:
        os._exit(0)  # what a process does at its end was not left to its fork


def _answer(work: Callable[[], T], answers: int) -> None:
    with suppress(BrokenPipeError), open(answers, "wb") as stream:
        stream.write(_pickled(work))


def _pickled(work: Callable[[], T]) -> bytes:
    try:
        return pickle.dumps((work(), None))
    except Exception as error:  # noqa: BLE001 - it is raised where the result is waited for
        error.add_note(f"In a fork:\n{traceback.format_exc()}")
        return pickle.dumps((None, error))


def _outcome(answer: BinaryIO, waiting: BinaryIO) -> tuple[T, Exception | None]:
    with ended_by(waiting.close):
        pickled = answer.read()
    try:
        outcome: tuple[T, Exception | None] = pickle.loads(pickled)  # noqa: S301 - of our own fork
    except (EOFError, pickle.UnpicklingError):
        raise SystemFailedError("a process of ours ended before it had its result") from None
    return outcome


def _result(outcome: tuple[T, Exception | None]) -> T:
    result, error = outcome
    if error is not None:
        raise error
    return result
