"""What a model writes, shown as it comes: indented, so that only our own lines begin at the margin.

At a terminal it is Markdown. A block that is complete is printed once; only the last one is drawn anew while
it grows, and never more of it than the screen holds, or a terminal would keep each drawing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from markdown_it import MarkdownIt
from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.markdown import Markdown
from rich.segment import Segment

from ironcurtain.enforcement.approvals.describe import columns_of
from ironcurtain.system.structs import Struct

INDENT = "  "
_REFRESH = 12
_TRIES = 4
# Where blocks begin is all that is asked of it: their words are read when they are drawn.
_parser = MarkdownIt().enable("table").disable("inline")

Line = list[Segment]


class StreamedMarkdown:
    """Shows Markdown at a terminal.

    Args:
        console: The terminal; it breaks no lines of its own.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._rest, self._is_first = "", True
        self._live: Live | None = None

    def add(self, piece: str) -> None:
        """Show one more piece of the text."""
        text = self._rest + piece
        *complete, rest = _blocks(text) if "\n" in piece else [text]
        for block in complete:
            self._print(block)
        self._rest = rest
        if self._live is None:
            # The first words are shown at once, what follows in the rhythm of the display.
            self._live = Live(
                console=self._console,
                refresh_per_second=_REFRESH,
                transient=True,
                get_renderable=self._drawing,
            )
            self._live.start(refresh=True)

    def end(self) -> None:
        """Print what is left: nothing is drawn anew any more."""
        self._print(self._rest)

    def _print(self, block: str) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None
        lines = self._lines(block)
        if lines:
            self._console.print(_Drawing(lines), end="")
            self._is_first = False

    def _drawing(self) -> _Drawing:
        return _Drawing(self._lines(self._rest)[1 - self._console.height :])

    def _lines(self, block: str) -> list[Line]:
        """Render a block, with one blank line between it and the one before it."""
        shown = self._fitting(Markdown(block, hyperlinks=False))
        filled = [number for number, line in enumerate(shown) if _has_text(line)]
        kept = shown[filled[0] : filled[-1] + 1] if filled else []
        between: list[Line] = [] if self._is_first or not kept else [[]]
        return between + [[Segment(INDENT), *line] if _has_text(line) else [] for line in kept]

    def _fitting(self, block: Markdown) -> list[Line]:
        """Render a block so that no terminal breaks a line of it, with each character at its widest.

        What a terminal breaks goes on at the margin, where only our own words begin. Rich counts one width
        for a character, and terminals differ: it is given less room while that helps, and then lines are cut.
        """
        room = width = max(1, self._console.width - len(INDENT))
        for _ in range(_TRIES):
            options = self._console.options.update(width=width)
            shown = self._console.render_lines(block, options, pad=False)
            widest = max((sum(map(_columns, line)) for line in shown), default=0)
            if widest <= room:
                return shown
            width = max(1, min(width - 1, width * room // widest))
        return [part for line in shown for part in _parts(line, room)]


class _Drawing(Struct):
    """Lines as a thing that can be printed."""

    lines: Sequence[Line]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in self.lines:
            yield from line
            yield Segment.line()


def indented(text: str, *, begins_line: bool) -> str:
    """Return a text whose lines are indented, for where no Markdown is shown.

    Args:
        text: The text, which can end in the middle of a line.
        begins_line: Whether its first words begin a line.
    """
    first, *others = text.split("\n")
    begun = INDENT + first if begins_line and first else first
    return "\n".join([begun, *(INDENT + line if line else line for line in others)])


def _columns(segment: Segment) -> int:
    return sum(map(columns_of, segment.text))


def _parts(line: Line, room: int) -> Iterator[Line]:
    """Yield a line in parts that take at most so many columns, however wide its characters are."""
    part: Line = []
    left = room
    for segment in line:
        text = ""
        for character in segment.text:
            if (wide := columns_of(character)) > left:
                yield [*part, Segment(text, segment.style)]
                part, text, left = [], "", room
            text, left = text + character, left - wide
        part.append(Segment(text, segment.style))
    yield part


def _has_text(line: Sequence[Segment]) -> bool:
    return any(segment.text.strip() for segment in line)


def _blocks(text: str) -> list[str]:
    """Return a text in pieces: each block that is complete, and last what may still grow.

    A line without its end may become anything, so it begins no block.
    """
    lines = text.splitlines(keepends=True)
    ended = lines[:-1] if lines and not lines[-1].endswith("\n") else lines
    begins = [
        token.map[0]
        for token in _parser.parse("".join(ended))
        if token.level == 0 and token.map is not None and token.nesting >= 0
    ]
    places = [0, *begins[1:], len(lines)]
    return ["".join(lines[start:end]) for start, end in pairwise(places)]
