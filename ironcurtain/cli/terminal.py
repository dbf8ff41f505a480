"""Asking the person at the terminal, if there is one: standard input may be closed, too."""

from __future__ import annotations

import contextlib
import sys
import termios

import click


def is_there() -> bool:
    """Tell whether somebody can be asked."""
    return sys.stdin is not None and sys.stdin.isatty()


def types(word: str, meaning: str) -> bool:
    """Ask for a word, and tell whether it was typed; only where somebody is there.

    What was typed before the question is no answer to it, and is dropped.

    Args:
        word: What agrees; anything else does not.
        meaning: What then happens, and what otherwise.
    """
    with contextlib.suppress(termios.error):
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    click.echo(f"Type {word} to {meaning}.\n> ", nl=False, err=True)
    return sys.stdin.readline().strip() == word
