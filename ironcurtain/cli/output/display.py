"""Results on a terminal: lines as wide as it is, and colours for the words that say how something ended.

Commands print whole lines, which pipes and files get as they are. Where standard output or standard error is
a terminal, a `Display` stands before it: what a line says is then broken between words, below where its text
began. Commands to copy, JSON, and what has control sequences of its own are left as they are.
"""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, TextIO

import click

Colour = Literal["auto", "always", "never"]

_MARGIN = 10
"""The columns that stand beside code which is kept whole."""

NARROWEST = 24
"""The fewest columns that lines are broken for."""

_FOR_PROGRAMS = ("::", "<", "| ")
"""How lines begin that a program reads line by line: workflow commands, markup, rows of a table."""
_ESCAPE = "\x1b"
_LABEL = re.compile(r"\s*(?:(?:ok|warn|fail|--) +|(?:\S+ )?\S+:?\s{2,}|(?:hint|fix|see): +|- |# )?")
_CODE = re.compile(r"`[^`]+`")
_TO_COPY = re.compile(
    r"(?P<indent>\s*)(?P<command>(?:ironcurtain|opa|pip|eval|cd) .*?)(?:\s+# (?P<purpose>.*))?"
)
_NO_BREAK = "\x00"
"""It stands for the blanks within code while a line is broken; no line holds it, since it is a control."""

_STYLES = tuple(
    (re.compile(pattern), colour)
    for pattern, colour in (
        (r"error\[IC\d{4}\](?=:)|\S+:\d+: error(?=:)", "red"),
        (r" *(?:DENY|FAIL|fail|NOT verified)\b|found(?=:)", "red"),
        (r" *(?:ESCALATE|warn|warning)\b|waiting\[IC\d{4}\](?=:)|\S+:\d+: warning(?=:)", "yellow"),
        (r" *(?:ALLOW|ok|verified|published)\b", "green"),
        (r" *(?:note|hint|fix|next)(?=:)|\S+:\d+: note(?=:)", "cyan"),
    )
)
"""Beginnings of lines, and how they look: a colour never says what the word does not."""


class Display:
    """A text stream before a terminal, or before whatever is to get colours."""

    def __init__(self, stream: TextIO, *, width: int | None, coloured: bool) -> None:
        """Stand before a stream.

        Args:
            stream: Where the text goes.
            width: The columns to break lines for; None leaves them as they are.
            coloured: Whether words get colours.
        """
        self._stream = stream
        self._width = width
        self.coloured = coloured

    def __getattr__(self, name: str) -> object:
        """Be the stream in everything but what is written."""
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text, broken and coloured."""
        return self._stream.write(shown(text, self._width, coloured=self.coloured))


def stand_before_terminals() -> None:
    """Put a display before standard output and before standard error."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            continue
        is_terminal = stream.isatty()
        width = _columns(stream) if is_terminal else None
        coloured = wants_colour("auto", os.environ, is_terminal=is_terminal)
        setattr(sys, name, Display(stream, width=width, coloured=coloured))


def _columns(stream: TextIO) -> int | None:
    """Return the width of a terminal; None where it does not say."""
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        return None
    return max(columns, NARROWEST) if columns else None


def choose(colour: Colour) -> None:
    """Follow the option `--color`, which counts more than the environment; `auto` leaves that as it is."""
    if colour == "auto":
        return
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, Display):
            stream.coloured = colour == "always"
    # What draws the table of a compile looks there.
    os.environ.pop("FORCE_COLOR" if colour == "never" else "NO_COLOR", None)
    os.environ["NO_COLOR" if colour == "never" else "FORCE_COLOR"] = "1"


def wants_colour(colour: Colour, environment: Mapping[str, str], *, is_terminal: bool) -> bool:
    """Tell whether to use colours: the option counts most, then `NO_COLOR`, then `FORCE_COLOR`."""
    if colour != "auto":
        return colour == "always"
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return is_terminal and environment.get("TERM", "dumb") != "dumb"


def shown(text: str, width: int | None, *, coloured: bool) -> str:
    """Return a text as a terminal of `width` columns shows it."""
    if _ESCAPE in text or text.lstrip()[:1] in ("{", "["):
        return text
    lines = text.split("\n")
    if width is not None:
        lines = [*_all_broken(lines, width)]
    return "\n".join(map(_coloured, lines) if coloured else lines)


def _all_broken(lines: Iterable[str], width: int) -> Iterator[str]:
    goes_on = False
    for line in lines:
        # A command that goes on in the next line is one that is copied as a whole.
        copied = goes_on or line.endswith("\\")
        goes_on = line.endswith("\\")
        yield from [line] if copied else _broken(line, width)


def _broken(line: str, width: int) -> Iterator[str]:
    """Yield a line in parts that fit; a word that is too long stays whole, and so does a command."""
    if len(line) <= width or line.startswith(_FOR_PROGRAMS):
        yield line
        return
    copied = _TO_COPY.fullmatch(line)
    if copied:
        indent, purpose = copied["indent"], copied["purpose"]
        if purpose:
            yield from _wrapped(f"{indent}# {purpose}", f"{indent}# ", width)
        yield f"{indent}{copied['command']}"
        return
    label = _LABEL.match(line)
    hang = min(label.end() if label else 0, width // 2)
    yield from _wrapped(line, " " * hang, width)


def _wrapped(line: str, indent: str, width: int) -> Iterator[str]:
    whole = _CODE.sub(
        lambda code: code[0].replace(" ", _NO_BREAK) if len(code[0]) < width - _MARGIN else code[0], line
    )
    parts = textwrap.wrap(
        whole,
        width,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
        replace_whitespace=False,
        expand_tabs=False,
    )
    return (part.replace(_NO_BREAK, " ") for part in parts)


def _coloured(line: str) -> str:
    for pattern, colour in _STYLES:
        if match := pattern.match(line):
            return click.style(match[0], fg=colour, bold=True) + line[match.end() :]
    return line
