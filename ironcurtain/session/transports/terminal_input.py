"""Lines that a person types: with history and completion where lines can be edited.

What is written meanwhile (a server that started late) stands above the line, not in it.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.history import FileHistory
from prompt_toolkit.input import Input, create_input
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.patch_stdout import patch_stdout

from ironcurtain.session.transports.asking import Read
from ironcurtain.system import terminal


class _History(FileHistory):
    """What was typed before, as far as the file can be had: a full disk is no reason to lose a line."""

    def load_history_strings(self) -> Iterable[str]:
        try:
            return list(super().load_history_strings())
        except OSError:
            return []

    def store_string(self, string: str) -> None:
        with contextlib.suppress(OSError):
            super().store_string(string)


class _Keyboard(Vt100Input):
    """A terminal that echoes nothing itself while something is written above the line.

    The library lets it echo then, so that a key pressed in that moment would stand on the screen twice.
    """

    def cooked_mode(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()


def _keyboard() -> Input:
    return _Keyboard(sys.stdin) if sys.stdin.isatty() else create_input()


def reader() -> Read:
    """Return what reads answers: what was typed before the question is dropped, and nothing is remembered."""
    keyboard = _keyboard()
    prompts: PromptSession[str] = PromptSession(input=keyboard)

    async def read(prompt: str) -> str:
        with patch_stdout():
            terminal.drop_what_was_typed()
            clear_typeahead(keyboard)  # what the library has read beyond the line before
            return await prompts.prompt_async(prompt)

    return read


def conversation_reader(history: Path, commands: Sequence[str]) -> Read:
    """Return what reads the person's words.

    Args:
        history: The file of what was typed before.
        commands: What is completed at the beginning of a line.
    """
    prompts: PromptSession[str] = PromptSession(
        input=_keyboard(),
        history=_History(str(history)),
        completer=WordCompleter(list(commands), sentence=True),
        complete_while_typing=True,
    )

    async def read(prompt: str) -> str:
        with patch_stdout():
            return await prompts.prompt_async(prompt)

    return read
