"""Places in a text, the texts that an editor shows (saved or not), and one mistake that it underlines.

Within the language server a place is a `Span` of offsets. YAML, Markdown and the protocol end lines at
different characters, and the protocol counts columns in UTF-16 unless the editor agreed on something else.
"""

from __future__ import annotations

import re
from pathlib import Path

from ironcurtain.errors import FileError, IronCurtainError, Place, SeveralErrors
from ironcurtain.model.severity import Severity
from ironcurtain.system.files import has_content, read_text
from ironcurtain.system.structs import Struct

_LINE_END = re.compile(r"\r\n|\r|\n")
_YAML_LINE_END = re.compile(r"\r\n|[\r\n\x85\u2028\u2029]")
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|[^\s,\[\]{}][^,\[\]{}#\n]*')
_UNITS = {"utf-8": lambda text: len(text.encode()), "utf-32": len}


class Span(Struct):
    """A part of a text, by offsets in characters; `end` is behind it."""

    start: int
    end: int


class TextPosition(Struct):
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
    match = re.compile(pattern).search(text, start)
    return Span(*match.span()) if match else line_at(text, start)


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


class Texts:
    """The open documents by their absolute paths."""

    def __init__(self, opened: dict[Path, str] | None = None) -> None:
        self._opened = {} if opened is None else opened

    def snapshot(self) -> Texts:
        """Return the texts as they are now, for work beside further typing."""
        return Texts(dict(self._opened))

    @property
    def paths(self) -> tuple[Path, ...]:
        """The open documents, in the order in which they were opened."""
        return tuple(self._opened)

    def show(self, path: Path, text: str) -> None:
        """Take the text of an open document."""
        self._opened[path] = text

    def close(self, path: Path) -> None:
        """Take a document from disk from now on."""
        self._opened.pop(path, None)

    def has(self, path: Path) -> bool:
        """Tell whether a document says something."""
        return bool(self._opened[path].strip()) if path in self._opened else has_content(path)

    def read(self, path: Path) -> str:
        """Return the text of a document.

        Raises:
            FileError: If it is blank, or cannot be read.
        """
        if path not in self._opened:
            return read_text(path)
        if not self._opened[path].strip():
            raise FileError("the file is empty", where=str(path))
        return self._opened[path]

    def shown(self, path: Path) -> str:
        """Return the text that places are counted in: of a document that cannot be read, none."""
        if path in self._opened:
            return self._opened[path]
        try:
            return read_text(path)
        except FileError:
            return ""


class Related(Struct):
    """Another place that a mistake has to do with."""

    path: Path
    span: Span
    what: str


class Mistake(Struct):
    """One thing that is wrong or stands out.

    Attributes:
        path: The document.
        code: An error's code, a check of `lint`, or `verify` and the check.
        page: The page that explains the code, as `docs/errors/IC1003.md`, with `#anchor` where that helps.
        by: The command that says the same.
    """

    path: Path
    span: Span
    severity: Severity
    code: str
    message: str
    page: str
    by: str
    related: tuple[Related, ...] = ()


def of_error(error: IronCurtainError, path: Path, texts: Texts, by: str = "compile") -> list[Mistake]:
    """Return what an error says, each of several where it stands; one without a place belongs to `path`."""
    errors = error.errors if isinstance(error, SeveralErrors) else [error]
    return [_of_one(each, path, texts, by) for each in errors]


def _of_one(error: IronCurtainError, path: Path, texts: Texts, by: str) -> Mistake:
    where, span = path, first_line(texts.shown(path))
    if error.where is not None and Path(error.where.source).is_absolute():
        where = Path(error.where.source)
        span = span_of(texts.shown(where), error.where)
    return Mistake(
        path=where,
        span=span,
        severity="error",
        code=error.code,
        message=f"{error.what}\n{error.hint}" if error.hint else error.what,
        page=f"docs/errors/{error.code}.md",
        by=by,
    )
