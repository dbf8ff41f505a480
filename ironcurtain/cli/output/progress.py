"""Progress of a compile as the command line shows it: not at all, as lines, or as a live table."""

from __future__ import annotations

import os
import time
from typing import TextIO

from ironcurtain.compiler.llm.ledger import Ledger, Spent
from ironcurtain.compiler.progress import Progress
from ironcurtain.system.text import printable


class Silent:
    """Shows nothing."""

    def begin(self, number: int, count: int, name: str) -> None:
        """Show nothing."""

    def end(self, summary: str) -> None:
        """Show nothing."""

    def show(self, line: str) -> None:
        """Show nothing."""

    def close(self) -> None:
        """Show nothing."""


class Lines:
    """Writes one line per finished stage, and reports as they are: for pipes and logs.

    Args:
        stream: Where to; never stdout, which belongs to results.
        ledger: What calls cost: each stage's line tells its share, and the last line the sum.
    """

    def __init__(self, stream: TextIO, ledger: Ledger | None = None) -> None:
        self._stream = stream
        self._ledger = ledger if ledger is not None else Ledger()
        self._stage = ""
        self._begun = 0.0
        self._spent = Spent()

    def begin(self, number: int, count: int, name: str) -> None:
        """Remember the stage, when it began and what was spent before."""
        self._stage = f"{number}/{count} {name}"
        self._begun = time.monotonic()
        self._spent = self._ledger.total

    def end(self, summary: str) -> None:
        """Write the line of the stage."""
        elapsed = time.monotonic() - self._begun
        spent = self._ledger.total - self._spent
        cost = f"; {spent}" if spent.calls else ""
        self.show(f"{self._stage}: {summary}{cost} ({elapsed:.1f} s)")

    def show(self, line: str) -> None:
        """Write the line; whatever could harm a terminal is written as an escape."""
        self._stream.write(f"{printable(line)}\n")
        self._stream.flush()

    def close(self) -> None:
        """Write what all calls used, if there were any: also when the compile failed."""
        if self._ledger.total.calls:
            self.show(f"model: {self._ledger.total}")


class OnFailure(Lines):
    """Writes reports as they are, and only those of a run that published nothing."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._last = False
        self._held: list[str] = []

    def begin(self, number: int, count: int, name: str) -> None:  # noqa: ARG002 - its name does not matter
        """Remember whether this is the last stage."""
        self._last = number == count

    def end(self, summary: str) -> None:  # noqa: ARG002 - nobody reads it
        """Drop what would have been told, if the last stage ended."""
        if self._last:
            self._held.clear()

    def show(self, line: str) -> None:
        """Keep the line until it is known how the run ends."""
        self._held.append(line)

    def close(self) -> None:
        """Write the reports of a run that failed."""
        for line in self._held:
            super().show(line)


def for_terminal(stream: TextIO, ledger: Ledger) -> Progress:
    """Return a live table where the stream is a terminal that can show one, else plain lines."""
    if stream.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        # What draws tables is slow to load, and most compiles run where nobody watches.
        from ironcurtain.cli.output.live_progress import LiveTable

        return LiveTable(stream, ledger)
    return Lines(stream, ledger)
