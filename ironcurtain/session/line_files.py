"""Files of whole lines that are only appended to, made durable beside what else a turn does.

What is appended is with the operating system at once, so that the end of this process loses nothing; that the
machine's end loses nothing either takes the disk's time, which `begin` starts and `durable` waits for.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Sequence
from pathlib import Path


class LineFiles:
    """Appends to files, and tells when that is durable."""

    def __init__(self) -> None:
        self._appended: set[Path] = set()
        self._begun: list[asyncio.Task[None]] = []

    def append(self, path: Path, lines: bytes) -> None:
        """Append whole lines to a file, which is made where there is none.

        Raises:
            OSError: If they cannot be written; the file then ends with what it ended with before.
        """
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            size = os.fstat(handle).st_size
            try:
                while lines:
                    lines = lines[os.write(handle, lines) :]
            except OSError:
                os.ftruncate(handle, size)
                raise
        finally:
            os.close(handle)
        self._appended.add(path)

    def begin(self) -> None:
        """Begin to make durable what was appended."""
        if self._appended:
            paths, self._appended = sorted(self._appended), set()
            self._begun.append(asyncio.create_task(asyncio.to_thread(_sync, paths)))

    async def durable(self) -> None:
        """Wait until everything that was appended is durable.

        Raises:
            OSError: If that cannot be; nobody knows then how much of it is.
        """
        self.begin()
        if not self._begun:
            return
        # Whoever waits may be cancelled: then the next one to wait is told how this ended.
        await asyncio.wait(self._begun)
        ended, self._begun = self._begun, []
        for error in [task.exception() for task in ended]:
            if error is not None:
                raise error


def _sync(paths: Sequence[Path]) -> None:
    for path in paths:
        with contextlib.suppress(FileNotFoundError):  # what was removed since need not be durable
            handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
