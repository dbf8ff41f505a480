"""An interrupt that comes where nothing can be raised ends what it was to end all the same."""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import Event

import pytest

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
