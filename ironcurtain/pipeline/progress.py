"""What a compile tells about itself while it runs. The pipeline reports; the command line shows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TextIO


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


class Silent:
    """Shows nothing."""

    def begin(self, number: int, count: int, name: str) -> None:
        """Show nothing."""

    def end(self, summary: str) -> None:
        """Show nothing."""

    def show(self, line: str) -> None:
        """Show nothing."""


class Lines:
    """Writes one line per finished stage, and reports as they are: for pipes and logs."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._stage = ""
        self._begun = 0.0

    def begin(self, number: int, count: int, name: str) -> None:
        """Remember the stage and when it began."""
        self._stage = f"{number}/{count} {name}"
        self._begun = time.monotonic()

    def end(self, summary: str) -> None:
        """Write the line of the stage."""
        elapsed = time.monotonic() - self._begun
        self._stream.write(f"{self._stage}: {summary} ({elapsed:.1f} s)\n")
        self._stream.flush()

    def show(self, line: str) -> None:
        """Write the line."""
        self._stream.write(f"{line}\n")
        self._stream.flush()


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
