"""What a model writes, shown as it comes: indented, so that only our own lines begin at the margin.

At a terminal it is Markdown. A block that is complete is printed once; only the last one is drawn anew while
it grows, and never more of it than the screen holds, or a terminal would keep each drawing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from markdown_it import MarkdownIt
from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.markdown import Markdown
from rich.segment import Segment

from ironcurtain.system.structs import Struct

INDENT = "  "
_REFRESH = 12
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
        options = self._console.options.update(width=max(1, self._console.width - len(INDENT)))
        shown = self._console.render_lines(Markdown(block, hyperlinks=False), options, pad=False)
        filled = [number for number, line in enumerate(shown) if _has_text(line)]
        kept = shown[filled[0] : filled[-1] + 1] if filled else []
        between: list[Line] = [] if self._is_first or not kept else [[]]
        return between + [[Segment(INDENT), *line] if _has_text(line) else [] for line in kept]


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
