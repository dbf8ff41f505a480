"""Events as a person sees them at a terminal, or in a pipe.

Whatever a model, a tool or a server wrote is text: control characters are visible, nothing of it is markup of
the terminal, and what a model wrote is indented: only our own words begin with the names of verdicts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import partial
from itertools import accumulate
from typing import TextIO

from rich.console import Console
from rich.text import Text

from ironcurtain.enforcement.approvals.describe import behind_margin, columns_of, describe
from ironcurtain.model.verdict import Verdict
from ironcurtain.session.events import ApprovalNeeded, CallBegan, CallEnded, Note, SessionEvent, TextPiece
from ironcurtain.session.transports.streamed_text import StreamedMarkdown, indented
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import printable, visible

_STYLES = {"allow": "green", "approved": "green", "deny": "red", "failed": "yellow"}
_SHOWN = 60
_UNBOUND = 10_000


class EventDisplay:
    """Shows the events of a session.

    Args:
        stream: Where to write; Markdown is rendered only at a terminal.
    """

    def __init__(self, stream: TextIO) -> None:
        # A width that the environment names is not asked: lines are broken for the terminal that is there.
        environment = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES"}}
        console = partial(
            Console, file=stream, highlight=False, markup=False, emoji=False, _environ=environment
        )
        self.console = console(soft_wrap=True)
        # The terminal breaks lines of ours; Markdown is broken here, or its long lines would be cut off.
        self._rendered = console()
        self._text = ""
        self._markdown: StreamedMarkdown | None = None
        self._arguments: dict[str, str] = {}

    def show(self, event: SessionEvent) -> None:
        """Show one event."""
        if isinstance(event, TextPiece):
            self._write(event.text)
            return
        self.end_text()
        match event:
            case CallBegan(id=id_, arguments=arguments):
                self._arguments[id_] = _first(arguments)
            case CallEnded():
                self._show_call(event)
            case ApprovalNeeded(request=request):
                self.console.print(describe(request, width=self.console.width), end="")
            case Note(text=text):
                self.console.print(Text(f"note: {printable(text)}", style="yellow"))

    def say(self, text: str) -> None:
        """Write a sentence of ours."""
        self.end_text()
        self.console.print(Text(lines(text)))

    def end_text(self) -> None:
        """End the text that is being written, if any is."""
        if self._markdown is not None:
            self._markdown.end()
        elif self._text and not self._text.endswith("\n"):
            self.console.print()
        self._text, self._markdown = "", None

    def _write(self, piece: str) -> None:
        if self.console.is_terminal:
            self._markdown = self._markdown or StreamedMarkdown(self._rendered)
            self._markdown.add(lines(piece))
            return
        begins_line = not self._text or self._text.endswith("\n")
        self._text += piece
        self.console.print(indented(lines(piece), begins_line=begins_line), end="")

    def _show_call(self, event: CallEnded) -> None:
        width = self.console.width if self.console.is_terminal else _UNBOUND
        word, seconds = f"{_word(event):<8} ", f"  {event.seconds:,.1f} s"
        # One row: what a terminal breaks goes on at the margin, where only our own words may begin.
        room = width - len(word) - len(seconds)
        tool = _fitting(visible(event.shown_tool), room // 2)
        left = room - sum(map(columns_of, tool)) - 1
        what = _fitting(self._arguments.pop(event.id, ""), min(_SHOWN, left))
        line = Text.assemble(
            (word, _STYLES.get(word.strip(), "")), f"{tool} {what}".rstrip(), (seconds, "dim")
        )
        self.console.print(line)
        if not event.happened:
            for row in rows_behind_margin(event.text, width):
                self.console.print(row)
            self._show_why(event, width)

    def _show_why(self, event: CallEnded, width: int) -> None:
        """Tell the person, and not the model, which rule and sentence refused a call."""
        if event.rule is None or event.verdict is not Verdict.DENY:
            return
        clause = f", clause {visible(event.clause)}" if event.clause else ""
        self.console.print(f"  not told to the agent: {visible(event.rule)}{clause}", soft_wrap=True)
        for row in rows_behind_margin(event.sentence or event.reason, width):
            self.console.print(row)


def rows_behind_margin(text: str, width: int) -> list[str]:
    """Return a text that others wrote, so that no row of it begins at the margin."""
    return [row for line in text.splitlines() for row in behind_margin(printable(line), width)]


def _word(event: CallEnded) -> str:
    if event.happened:
        return "approved" if event.approved else "allow"
    return "failed" if event.verdict is Verdict.ALLOW or event.verdict is None else "deny"


def lines(text: str) -> str:
    """Return a text with its line breaks, and every other hidden character as an escape."""
    return "\n".join(map(printable, text.split("\n")))


def _first(arguments: Mapping[str, JsonValue]) -> str:
    """Return the first argument: what a call is about, as far as a line can say."""
    value = next(iter(arguments.values()), "")
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return visible(text)


def _fitting(text: str, columns: int) -> str:
    """Return a text, cut in the middle where it takes more columns than there are."""
    if sum(map(columns_of, text)) <= columns:
        return text
    half = (columns - 1) // 2
    return f"{_beginning(text, half)}…{_beginning(text[::-1], half)[::-1]}"


def _beginning(text: str, columns: int) -> str:
    ends = accumulate(map(columns_of, text))
    return text[: sum(end <= columns for end in ends)]
