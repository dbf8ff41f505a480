"""Progress on a terminal: a table that is updated while the compile runs, with reports above it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TextIO

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ironcurtain.compiler.llm.ledger import Ledger, LedgerEntry, Spent
from ironcurtain.system.text import printable

_WIDE = 80
"""From so many columns on, what was spent has columns of its own."""


@dataclass
class _Stage:
    """One stage of the table.

    Attributes:
        first: Where its questions begin in the ledger.
        summary: None while the stage runs.
        last: Where they end; None while it runs.
    """

    name: str
    begun: float
    first: int
    summary: str | None = None
    last: int | None = None
    seconds: float = 0.0


class LiveTable:
    """Shows stages, their questions, calls, tokens, cost and time as they come.

    Args:
        stream: The terminal; `NO_COLOR` and its width are respected.
        ledger: The book of the calls.
    """

    def __init__(self, stream: TextIO, ledger: Ledger) -> None:
        self._console = Console(file=stream, highlight=False, emoji=False)
        self._ledger = ledger
        self._stages: list[_Stage] = []
        self._live = Live(get_renderable=self._table, console=self._console, refresh_per_second=4)
        self._live.start()

    def begin(self, number: int, count: int, name: str) -> None:
        """Add a stage."""
        self._stages.append(_Stage(f"{number}/{count} {name}", time.monotonic(), len(self._ledger.entries)))

    def end(self, summary: str) -> None:
        """Complete the last stage."""
        stage = self._stages[-1]
        stage.summary, stage.last = summary, len(self._ledger.entries)
        stage.seconds = time.monotonic() - stage.begun

    def show(self, line: str) -> None:
        """Print a line above the table."""
        self._console.print(Text(printable(line)), soft_wrap=True)

    def close(self) -> None:
        """Leave the table as it is, and the terminal as it was."""
        self._live.stop()

    def _table(self) -> Table:
        rows = _Rows(self._ledger, figures=bool(self._ledger.total.calls) and self._console.width >= _WIDE)
        for stage in self._stages:
            rows.add_stage(stage, self._ledger.entries[stage.first : stage.last])
        if self._ledger.total.calls:
            rows.table.add_section()
            rows.add("all", "", self._ledger.total, None)
        return rows.table


class _Rows:
    """The rows of the table; what was spent has columns where there is room, and else stands in the text."""

    def __init__(self, ledger: Ledger, *, figures: bool) -> None:
        self.table = Table(box=None, pad_edge=False)
        self._figures = figures
        self.table.add_column("stage", no_wrap=True)
        self.table.add_column("server" if ledger.total.calls else "", overflow="fold")
        for name in ("calls", "tokens in + out", "cost") if figures else ():
            self.table.add_column(name, justify="right", overflow="fold")
        self.table.add_column("elapsed", justify="right", no_wrap=True)

    def add_stage(self, stage: _Stage, entries: list[LedgerEntry]) -> None:
        """Add a stage and its questions."""
        running = stage.summary is None
        seconds = time.monotonic() - stage.begun if running else stage.seconds
        spent = sum((entry.spent for entry in entries), Spent())
        self.add(stage.name, stage.summary or "…", spent, seconds, style="bold" if running else "")
        for entry in entries:
            about = f"{entry.about} {entry.state}".strip()
            self.add("", about, entry.spent, entry.seconds, style="dim")

    def add(self, stage: str, about: str, spent: Spent, seconds: float | None, *, style: str = "") -> None:
        """Add a row."""
        figures = (str(spent.calls), spent.tokens_text, spent.cost_text) if spent.calls else ("", "", "")
        elapsed = "" if seconds is None else f"{seconds:.1f} s"
        said = "; ".join(filter(None, (about, str(spent) if spent.calls else "")))
        cells = (stage, about, *figures, elapsed) if self._figures else (stage, said, elapsed)
        self.table.add_row(*(Text(printable(cell)) for cell in cells), style=style)
