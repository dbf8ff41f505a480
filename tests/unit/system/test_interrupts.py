"""An interrupt that comes where nothing can be raised ends what it was to end all the same."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from threading import Event

import pytest
from e2e.program import ROOT

from ironcurtain.system.interrupts import interrupts_kept

LONG = 60.0


class Finalized:
    """Raises an error when nothing refers to it any more: Python prints that, and goes on."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def __del__(self) -> None:
        raise self._error


@interrupts_kept()
def is_interrupted_and(goes_on: Callable[[], object]) -> None:
    Finalized(KeyboardInterrupt())
    goes_on()


def waits() -> None:
    Event().wait(LONG)
    pytest.fail("it was lost")


def ends() -> None:
    pass


def fails() -> None:
    raise ValueError


@pytest.mark.parametrize("goes_on", [waits, ends, fails])
def test_it_is_raised_again_whatever_the_block_does(goes_on: Callable[[], object]) -> None:
    with pytest.raises(KeyboardInterrupt):
        is_interrupted_and(goes_on)


def test_other_errors_are_told_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[BaseException | None] = []

    def tell(unraisable: sys.UnraisableHookArgs) -> None:
        told.append(unraisable.exc_value)

    monkeypatch.setattr(sys, "unraisablehook", tell)
    error = ValueError()
    with interrupts_kept():
        Finalized(error)
    assert told == [error]
    assert sys.unraisablehook is tell


INTERRUPTED = """
import signal, threading
from ironcurtain.system.interrupts import interrupts_kept

class Finalized:
    def __del__(self):
        sum(range(200))

def finalizes():
    while True:
        Finalized()

main = threading.get_ident()
for moment in range(1, 300):
    interrupt = threading.Timer(moment * 1e-4, signal.pthread_kill, (main, signal.SIGINT))
    try:
        interrupt.start()
        with interrupts_kept():
            finalizes()
    except KeyboardInterrupt:
        interrupt.join()
"""


def test_it_is_raised_whenever_it_comes_to_what_is_mostly_in_finalizers() -> None:
    program = [sys.executable, "-c", INTERRUPTED]
    subprocess.run(program, cwd=ROOT, stderr=subprocess.DEVNULL, timeout=300, check=True)
