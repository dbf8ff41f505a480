"""Asking the person at the terminal, if there is one: standard input may be closed, too."""

from __future__ import annotations

import contextlib
import math
import os
import select
import sys
import termios
import time
import tty
from collections.abc import Iterator
from typing import TextIO

import click

_KEYS = {
    b"\x1b[A": "up",
    b"\x1bOA": "up",
    b"k": "up",
    b"\x1b[B": "down",
    b"\x1bOB": "down",
    b"j": "down",
    b"\r": "enter",
    b"\n": "enter",
    b" ": "space",
    b"q": "quit",
    b"": "quit",
}
"""What keys send that mean something here; an end of input leaves."""
_ESCAPE = b"\x1b"
_TURN = 0.2
"""Seconds of one wait: an interrupt that comes just before a wait begins is raised when it ends."""


def is_there() -> bool:
    """Tell whether somebody can be asked."""
    return sys.stdin is not None and sys.stdin.isatty()


def is_screen() -> bool:
    """Tell whether somebody sits at a terminal on which lines can be drawn anew."""
    return is_there() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def size(stream: TextIO, otherwise: os.terminal_size) -> os.terminal_size:
    """Return the size of the terminal that a stream goes to; something else where it goes to none."""
    try:
        found = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        return otherwise
    return found if found.columns and found.lines else otherwise


def lines_of(question: str, columns: int) -> int:
    """Return how many lines of a terminal a line of plain ASCII takes, and the one below it."""
    return -(-len(question) // columns) + 1


def types(word: str, meaning: str) -> bool:
    """Ask for a word, and tell whether it was typed; only where somebody is there."""
    return asks(f"Type {word} to {meaning}.") == word


def asks(question: str) -> str:
    """Return the line that is typed in answer, without what stands around it; only where somebody is there.

    What was typed before the question is no answer to it, and is dropped.
    """
    drop_what_was_typed()
    click.echo(f"{question}\n> ", nl=False, err=True)
    _is_typed(None)
    return sys.stdin.readline().strip()


def drop_what_was_typed() -> None:
    """Forget what was typed and not read yet; nothing where standard input is no terminal."""
    with contextlib.suppress(termios.error):
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


@contextlib.contextmanager
def keys() -> Iterator[None]:
    """Get keys as they are typed, unseen, instead of lines; `key` reads them. Ctrl-C stays what it is."""
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def key(seconds: float | None) -> str | None:
    """Return the key that is typed within some seconds; None for none, and for one without a meaning here."""
    descriptor = sys.stdin.fileno()
    if not _is_typed(seconds):
        return None
    sent = os.read(descriptor, 1)
    if sent == _ESCAPE and select.select([descriptor], [], [], 0)[0]:
        sent += os.read(descriptor, 2)
    return _KEYS.get(sent)


def _is_typed(seconds: float | None) -> bool:
    """Wait until something can be read, for so many seconds at most; tell whether it can."""
    end = math.inf if seconds is None else time.monotonic() + seconds
    while not select.select([sys.stdin], [], [], max(0.0, min(_TURN, end - time.monotonic())))[0]:
        if time.monotonic() >= end:
            return False
    return True
