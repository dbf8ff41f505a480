"""The newest records of all logs of a directory, read on as they are written."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ironcurtain.enforcement.audit.hash_chain import split_lines
from ironcurtain.enforcement.audit.log_paths import LogPaths, log_at, logs_in
from ironcurtain.enforcement.audit.reader import NumberedLine, parse_line
from ironcurtain.enforcement.audit.record_types import DecisionRecord, Line, ResultRecord
from ironcurtain.errors import AuditError
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import printable, visible

MOST = 10_000
"""Most records that are kept."""

_MOST_BYTES = 64 << 20
_FIRST_BYTES = 2 << 20
_FIRST_LOGS = 20


class RecentRecord(Struct):
    """A record with its place: the 1-based line of its file.

    Attributes:
        session: The name of its log.
        size: Its bytes.
    """

    session: str
    file: Path
    number: int
    size: int
    line: Line


@dataclass
class _Read:
    """How far a file was read."""

    offset: int = 0
    number: int = 0


class RecentRecords:
    """The newest records of a directory, in the order in which they were found.

    Of a log that is there at first, the last 2 MiB of its last file are read, of the 20 that were written
    last; of all of them what is written from then on. At most 10,000 records and 64 MiB are kept.
    Threads take turns.
    """

    def __init__(self, directory: Path, most: int = MOST) -> None:
        self._directory, self._most = directory, most
        self._kept: deque[RecentRecord] = deque()
        self._bytes = self._count = 0
        self._read: dict[Path, _Read] = {}
        self._troubles: deque[str] = deque(maxlen=5)
        self._turn = threading.Lock()

    @property
    def missing(self) -> str:
        """The directory, in words that are safe to show, where there is none of its name; else empty."""
        return "" if self._directory.is_dir() else visible(str(self._directory.absolute()))

    @property
    def troubles(self) -> tuple[str, ...]:
        """What is wrong with lines that were passed over, in words that are safe to show."""
        return tuple(self._troubles)

    def version(self) -> str:
        """Read on; return another text whenever there is another record."""
        self.records()
        return str(self._count)

    def records(self) -> tuple[RecentRecord, ...]:
        """Read on, and return what is kept, the oldest first.

        Raises:
            OSError: If a log cannot be read.
        """
        with self._turn:
            found = [record for paths in self._logs() for record in self._new(paths)]
            for record in sorted(found, key=lambda each: each.line.record.time):
                self._keep(record)
            return tuple(self._kept)

    def entry(self, session: str, id_: str) -> tuple[RecentRecord, ResultRecord | None] | None:
        """Return a decision that is kept, with its result as far as there is one."""
        decision, result = None, None
        for each in self.records():
            record = each.line.record
            if each.session == session and isinstance(record, DecisionRecord) and record.id == id_:
                decision = each
            elif each.session == session and isinstance(record, ResultRecord) and record.id == id_:
                result = record
        return None if decision is None else (decision, result)

    def _logs(self) -> list[LogPaths]:
        first = logs_in(self._directory) if self._directory.is_dir() else []
        if not self._read and len(first) > _FIRST_LOGS:
            first.sort(key=lambda path: path.stat().st_mtime_ns)
            for path in first[:-_FIRST_LOGS]:
                for segment in log_at(path).segments():
                    self._read[segment] = _place(segment, segment.stat().st_size)
        return [log_at(path) for path in first]

    def _new(self, paths: LogPaths) -> Iterator[RecentRecord]:
        segments = list(paths.segments())
        is_known = any(segment in self._read for segment in segments)
        for segment in segments:
            if segment not in self._read:
                size = segment.stat().st_size
                kept = _FIRST_BYTES if is_known or segment == segments[-1] else 0
                self._read[segment] = _Read() if is_known else _place(segment, max(0, size - kept))
            yield from self._rest_of(paths, segment)

    def _rest_of(self, paths: LogPaths, segment: Path) -> Iterator[RecentRecord]:
        place = self._read[segment]
        if segment.stat().st_size <= place.offset:
            return
        with segment.open("rb") as stream:
            stream.seek(place.offset)
            data = stream.read()
        lines, rest = split_lines(data)
        for each in lines:
            place.number += 1
            try:
                line = parse_line(NumberedLine(place.number, segment, each))
            except AuditError as error:
                self._troubles.append(printable(str(error)))
                continue
            yield RecentRecord(paths.session, segment, place.number, len(each), line)
        place.offset += len(data) - len(rest)

    def _keep(self, record: RecentRecord) -> None:
        self._kept.append(record)
        self._count += 1
        self._bytes += record.size
        while len(self._kept) > self._most or self._bytes > _MOST_BYTES:
            self._bytes -= self._kept.popleft().size


def _place(path: Path, offset: int) -> _Read:
    """Return the place of the first line that begins at or behind an offset."""
    with path.open("rb") as stream:
        before = stream.read(offset)
        if offset and not before.endswith(b"\n"):
            before += stream.readline()
    return _Read(len(before), before.count(b"\n"))
