"""Places in a text: the lines and columns of errors, of the editor, and offsets between them.

Within the language server a place is a `Span` of offsets. YAML, Markdown and the protocol end lines at
different characters, and the protocol counts columns in UTF-16 unless the editor agreed on something else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ironcurtain.errors import Place

_LINE_END = re.compile(r"\r\n|\r|\n")
_YAML_LINE_END = re.compile(r"\r\n|[\r\n\x85\u2028\u2029]")
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|[^\s,\[\]{}][^,\[\]{}#\n]*')
_UNITS = {"utf-8": lambda text: len(text.encode()), "utf-32": len}


@dataclass(frozen=True)
class Span:
    """A part of a text, by offsets in characters; `end` is behind it."""

    start: int
    end: int


@dataclass(frozen=True)
class TextPosition:
    """A place as the protocol counts it: line and character from 0."""

    line: int
    character: int


def span_of(text: str, place: Place) -> Span:
    """Return what stands at the place of an error: a value, or else the whole line."""
    if place.line is None:
        return first_line(text)
    start = _line_start(text, place.line, _YAML_LINE_END) + max((place.column or 1) - 1, 0)
    if place.column is None:
        return line_at(text, start)
    token = _TOKEN.match(text, start)
    if token is None:
        return line_at(text, start) if start >= len(text) else Span(start, start + 1)
    return Span(start, start + len(token[0].rstrip()))


def first_line(text: str) -> Span:
    """Return the first line that says something; of a blank text, its beginning."""
    return line_at(text, len(text) - len(text.lstrip())) if text.strip() else Span(0, 0)


def line_at(text: str, offset: int) -> Span:
    """Return the line around an offset, without the blanks around it."""
    offset = min(offset, len(text))
    start = max((end.end() for end in _LINE_END.finditer(text, 0, offset)), default=0)
    end = _LINE_END.search(text, offset)
    line = text[start : end.start() if end else len(text)]
    left = len(line) - len(line.lstrip())
    return Span(start + left, start + max(len(line.rstrip()), left))


def words_at(text: str, line: int, words: str) -> Span:
    """Return where some words stand, from a 1-based line on; they may be broken into lines, and quoted."""
    start = _line_start(text, line, _LINE_END)
    pattern = r"[\s>]+".join(map(re.escape, words.split()))
    found = re.compile(pattern).search(text, start)
    return Span(*found.span()) if found else line_at(text, start)


def position_of(text: str, offset: int, encoding: str) -> TextPosition:
    """Return an offset as the protocol counts it."""
    line, start = 0, 0
    for end in _LINE_END.finditer(text, 0, offset):
        line, start = line + 1, end.end()
    return TextPosition(line, _units(text[start:offset], encoding))


def offset_of(text: str, position: TextPosition, encoding: str) -> int:
    """Return a place of the protocol as an offset; beyond the end of its line is that end."""
    start = _line_start(text, position.line + 1, _LINE_END)
    end = _LINE_END.search(text, start)
    line = text[start : end.start() if end else len(text)]
    units = 0
    for number, character in enumerate(line):
        if units >= position.character:
            return start + number
        units += _units(character, encoding)
    return start + len(line)


def _line_start(text: str, line: int, ends: re.Pattern[str]) -> int:
    start = 0
    for number, end in enumerate(ends.finditer(text), 2):
        if number > line:
            break
        start = end.end()
    return start


def _units(text: str, encoding: str) -> int:
    counted = _UNITS.get(encoding)
    return counted(text) if counted else len(text.encode("utf-16-le", "surrogatepass")) // 2
