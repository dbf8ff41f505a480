"""Reading audit logs: records in their order, also while they are written, and what is wrong with a log.

Every changed, removed, added, reordered or cut-off line is found. Without its head a log cannot be told from
a beginning of itself, and the result says so.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pydantic import ValidationError

from ironcurtain.enforcement.audit.hash_chain import (
    ChangedLineError,
    OutOfOrderError,
    SealedLine,
    follow_chain,
    is_vouched,
    open_line,
    read_head,
    split_lines,
)
from ironcurtain.enforcement.audit.log_paths import LogPaths
from ironcurtain.enforcement.audit.record_types import GENESIS, AuditVerification, Head, Line, LogProblem
from ironcurtain.errors import AuditError, FileError
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.locks import is_locked
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import visible

_CHUNK = 1 << 20
_PAUSE = 0.1


class NumberedLine(Struct):
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


MAX_PROBLEMS = 100


def verify(paths: LogPaths, *, key: bytes | None = None, use_head: bool = True) -> AuditVerification:
    """Verify a log against itself and against its head.

    Raises:
        FileError: If the log cannot be read.
    """
    written = is_written(paths)
    head, problems = _head(paths, key) if use_head else (None, [])
    check = _Check(paths, head)
    problems += check.run(tolerant=written or is_written(paths))
    return AuditVerification(
        session=paths.session,
        intact=not problems,
        lines=check.count,
        segments=check.segments,
        truncation="checked" if head is not None else "cannot be checked",
        keyed=head is not None and key is not None and not problems,
        open=written,
        problems=tuple(problems[:MAX_PROBLEMS]),
        missing_results=() if problems else missing_results(check.records),
    )


def require_intact(verified: AuditVerification, paths: LogPaths) -> None:
    """Refuse a log that is not what was written.

    Raises:
        AuditError: With the first problem.
    """
    if not verified.intact:
        raise AuditError(
            f"the audit log is not intact: {visible(verified.problems[0].message)}",
            where=str(paths.path),
            hint="Run `ironcurtain audit verify`.",
        )


def missing_results(records: list[bytes]) -> tuple[str, ...]:
    """Return the ids of forwarded calls that have no result."""
    forwarded: dict[str, None] = {}
    for text in records:
        record: dict[str, JsonValue] = json.loads(text)
        id_ = str(record.get("id"))
        if record.get("kind") == "decision" and record.get("forwarded"):
            forwarded[id_] = None
        elif record.get("kind") == "result":
            forwarded.pop(id_, None)
    return tuple(forwarded)


def _head(paths: LogPaths, key: bytes | None) -> tuple[Head | None, list[LogProblem]]:
    try:
        text = paths.head.read_bytes()
    except FileNotFoundError:
        return None, []
    except OSError as error:
        raise FileError(f"the head cannot be read: {error.strerror}", where=str(paths.head)) from error
    try:
        head = read_head(text)
    except ChangedLineError as error:
        return None, [_problem("head", None, paths.head, f"the head is not what was written: {error}")]
    if head.session != paths.session:
        return None, [_problem("head", None, paths.head, "the head is that of another log")]
    if key is not None and not is_vouched(head, key):
        return head, [_problem("head", None, paths.head, "the head was not written with this key")]
    return head, []


class _Check:
    """One walk over a log."""

    def __init__(self, paths: LogPaths, head: Head | None) -> None:
        self._paths, self._head = paths, head
        self.count = self.segments = 0
        self.records: list[bytes] = []
        self._seal, self._at_head = GENESIS, GENESIS

    def run(self, *, tolerant: bool) -> list[LogProblem]:
        """Return what is wrong; `tolerant` of an end that is just being written."""
        records = [
            problem for path in self._paths.segments() for problem in self._segment(path, tolerant=tolerant)
        ]
        if not self.segments and self._head is None:
            raise FileError("there is no such audit log", where=str(self._paths.path))
        return [*records, *self._end(tolerant=tolerant)]

    def _segment(self, path: Path, *, tolerant: bool) -> Iterator[LogProblem]:
        self.segments += 1
        lines, torn = split_lines(read_segment(path))
        for line in follow_chain(lines, self._seal):
            self.count += 1
            if isinstance(line, SealedLine):
                self._seal = line.seal
                self.records.append(line.record)
            else:
                kind = "order" if isinstance(line, OutOfOrderError) else "changed"
                self._seal = ""
                yield _problem(kind, self.count, path, f"line {self.count}: {line}")
            if self._head is not None and self.count == self._head.count:
                self._at_head = self._seal
        if torn and not tolerant:
            yield _problem(
                "torn",
                self.count + 1,
                path,
                f"after line {self.count} stand {len(torn)} bytes of no whole line",
            )

    def _end(self, *, tolerant: bool) -> Iterator[LogProblem]:
        head, paths = self._head, self._paths
        if head is None:
            return
        if self.count < head.count:
            message = f"the log was removed, and its head knows of {head.count} lines"
            if self.segments:
                known = f"the log has {self.count} lines, and its head knows of {head.count}"
                message = f"{known}: lines were removed"
            yield _problem("truncated", None, paths.path, message)
        elif self._at_head != head.seal:
            message = f"line {head.count} is not the one that the head knows"
            yield _problem("head", head.count or None, paths.path, message)
        elif self.count > head.count and not tolerant:
            message = f"nothing vouches for the {self.count - head.count} lines after the head"
            yield _problem("added", head.count + 1, paths.path, message)


def _problem(kind: str, line: int | None, file: Path, message: str) -> LogProblem:
    return LogProblem.model_validate({"kind": kind, "line": line, "file": file.name, "message": message})
