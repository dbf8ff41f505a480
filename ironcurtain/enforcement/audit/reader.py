"""Reading audit logs: records in their order, also while they are written, and what is wrong with a log."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from ironcurtain.enforcement.audit.hash_chain import ChangedLineError, open_line, split_lines
from ironcurtain.enforcement.audit.log_paths import LogPaths
from ironcurtain.enforcement.audit.record_types import Line
from ironcurtain.errors import AuditError, FileError
from ironcurtain.system.locks import is_locked

_CHUNK = 1 << 20
_PAUSE = 0.1


@dataclass(frozen=True)
class NumberedLine:
    """A complete line of a log with its 1-based number over all segments and its file."""

    number: int
    file: Path
    data: bytes


def read_lines(paths: LogPaths) -> Iterator[NumberedLine]:
    """Yield the complete lines of a log; an incomplete last line of a segment is left out.

    Raises:
        FileError: If the log cannot be read.
    """
    number = 0
    for path in paths.segments():
        for data in split_lines(read_segment(path))[0]:
            number += 1
            yield NumberedLine(number, path, data)


def read_segment(path: Path) -> bytes:
    """Return the bytes of a segment.

    Raises:
        FileError: If it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise FileError(f"the audit log cannot be read: {error.strerror}", where=str(path)) from error


def read_records(paths: LogPaths) -> Iterator[Line]:
    """Yield the records of a log, each with its seals.

    Raises:
        FileError: If the log cannot be read.
        AuditError: At the first line that is not what was sealed, or holds no record that we know.
    """
    for line in read_lines(paths):
        yield parse_line(line)


def parse_line(line: NumberedLine) -> Line:
    """Read one line.

    Raises:
        AuditError: If it is not what was sealed, or holds no record that we know.
    """
    where, hint = f"{line.file}:{line.number}", "Run `ironcurtain audit verify`."
    try:
        open_line(line.data)
        return Line.model_validate_json(line.data)
    except ChangedLineError as error:
        raise AuditError(
            f"a line of the audit log cannot be trusted: {error}", where=where, hint=hint
        ) from None
    except ValidationError:
        raise AuditError(
            "a line of the audit log holds no record that we know", where=where, hint=hint
        ) from None


def follow(
    paths: LogPaths, *, after: int = 0, is_over: Callable[[], bool] = lambda: False
) -> Iterator[NumberedLine]:
    """Yield the lines of a log, and then each further one as it is written, from segment to segment.

    Args:
        paths: The log.
        after: The number of the last line that is not wanted any more.
        is_over: Asked whenever all that is there was read; true ends it.
    """
    number = 0
    for segment in itertools.count(1):
        path, rest = paths.segment(segment), b""
        with path.open("rb") as stream:
            while True:
                # Both are asked before reading, so that what was written until then is read before it counts.
                over, closed = is_over(), paths.segment(segment + 1).exists()
                chunk = stream.read(_CHUNK)
                lines, rest = split_lines(rest + chunk)
                for data in lines:
                    number += 1
                    if number > after:
                        yield NumberedLine(number, path, data)
                if chunk:
                    continue
                if closed:
                    break
                if over:
                    return
                time.sleep(_PAUSE)


def is_written(paths: LogPaths) -> bool:
    """Tell whether some process is writing the log."""
    return is_locked(paths.head)
