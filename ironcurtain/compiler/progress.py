"""Progress of a compile: the stages report it, `cli/output/progress.py` shows it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


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
