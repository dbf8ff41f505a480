"""Progress of a compile: the stages report it, the command line shows it."""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TextIO

from ironcurtain.compiler.llm.ledger import Ledger, Spent
from ironcurtain.system.text import printable


class Progress(Protocol):
    """Receives the progress of a compile."""

    def begin(self, number: int, count: int, name: str) -> None:
        """Stage `number` of `count` begins."""
        ...

    def end(self, summary: str) -> None:
        """The stage that began last is done; `summary` says what it found, in a few words."""
        ...

    def show(self, line: str) -> None:
        """Show a line of a report, as it is."""
        ...

    def close(self) -> None:
        """Nothing more will come, whether the compile succeeded or not."""
        ...


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
        table: Progress = importlib.import_module("ironcurtain.compiler.live_progress").LiveTable(
            stream, ledger
        )
        return table
    return Lines(stream, ledger)


class Stages:
    """Numbers the stages of one run and passes them on to a `Progress`."""

    def __init__(self, progress: Progress, count: int) -> None:
        self._progress = progress
        self._count = count
        self._number = 0

    @contextmanager
    def stage(self, name: str) -> Iterator[list[str]]:
        """Run one stage; what its body appends to the yielded list becomes the summary."""
        self._number += 1
        self._progress.begin(self._number, self._count, name)
        summary: list[str] = []
        yield summary
        self._progress.end(", ".join(summary))
