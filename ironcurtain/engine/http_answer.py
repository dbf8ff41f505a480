"""One HTTP answer of an OPA on our own socket, read while its bytes come.

It takes what OPA sends and nothing beside it: HTTP/1.1, one length or whole chunks, no folded lines, no
trailers. What two readers could understand differently is an error. The standard library takes more than
that, with its parser of e-mail, and three times as long for it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from ironcurtain.engine.rest_api import MAX_ANSWER, too_long

_MAX_HEAD = 1 << 16
_MAX_FIELDS = 100
_HEAD_ENDS = b"\r\n\r\n"
_LINE_ENDS = b"\r\n"
_STATUS = re.compile(rb"HTTP/1\.1 ([2-5][0-9]{2})(?: [^\r\n]*)?")
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n\0]*?)[ \t]*")
_LENGTH = re.compile(rb"[0-9]{1,18}")
_SIZE = re.compile(rb"[0-9A-Fa-f]{1,15}")
_LONGEST_SIZE = 17


class MalformedAnswerError(ValueError):
    """What came is no answer."""


class _Head(NamedTuple):
    """What the head of an answer tells: where its body begins, and how it ends.

    Attributes:
        length: Bytes of the body; None where it comes in chunks, or ends with the connection.
        keeps: Whether the connection stays open.
    """

    status: int
    start: int
    length: int | None
    chunked: bool
    keeps: bool


class AnswerReader:
    """Reads one answer.

    Attributes:
        is_last: Whether the answer ended where nothing more had come, on a connection that stays open.
    """

    def __init__(self) -> None:
        self.is_last = False
        self._received = bytearray()
        self._head: _Head | None = None
        self._chunks = bytearray()
        self._at = 0

    @property
    def status(self) -> int:
        """The HTTP status, once the head has come; 0 before."""
        return self._head.status if self._head is not None else 0

    def take(self, data: bytes) -> bytes | None:
        """Take what has come, nothing where the connection has ended; return the body once it is whole.

        Raises:
            MalformedAnswerError: If it is no answer, or ends too early.
            EngineAnswerError: If it is too long.
        """
        self._received += data
        if self._head is None:
            self._head = self._read_head()
        if self._head is None:
            if not data:
                raise MalformedAnswerError("no whole head")
            return None
        if len(self._received) - self._head.start > MAX_ANSWER:
            raise too_long()
        content = self._body(self._head, ended=not data)
        if content is None and not data:
            raise MalformedAnswerError("no whole body")
        return content

    def _read_head(self) -> _Head | None:
        end = self._received.find(_HEAD_ENDS, 0, _MAX_HEAD)
        if end < 0:
            if len(self._received) >= _MAX_HEAD:
                raise MalformedAnswerError("no end of the head")
            return None
        self._at = end + len(_HEAD_ENDS)
        return _head_of(bytes(self._received[:end]))

    def _body(self, head: _Head, *, ended: bool) -> bytes | None:
        if head.chunked:
            return self._dechunked(head)
        if head.length is None:
            return bytes(self._received[head.start :]) if ended else None
        end = head.start + head.length
        if len(self._received) < end:
            return None
        self._ends_at(end, head)
        return bytes(self._received[head.start : end])

    def _dechunked(self, head: _Head) -> bytes | None:
        """Go on behind the last whole chunk."""
        while (found := self._received.find(_LINE_ENDS, self._at, self._at + _LONGEST_SIZE)) >= 0:
            size = _number(_SIZE, self._received[self._at : found], 16)
            start = found + len(_LINE_ENDS)
            end = start + size
            if len(self._received) < end + len(_LINE_ENDS):
                return None
            if self._received[end : end + len(_LINE_ENDS)] != _LINE_ENDS:
                raise MalformedAnswerError("a chunk of another size, or a trailer")
            self._chunks += self._received[start:end]
            self._at = end + len(_LINE_ENDS)
            if not size:
                self._ends_at(self._at, head)
                return bytes(self._chunks)
        if len(self._received) - self._at >= _LONGEST_SIZE:
            raise MalformedAnswerError("a chunk without a size")
        return None

    def _ends_at(self, end: int, head: _Head) -> None:
        self.is_last = head.keeps and len(self._received) == end


@lru_cache(maxsize=16)
def _head_of(text: bytes) -> _Head:
    """Read a head; those of one second and one length of answer are the same."""
    first, *lines = text.split(_LINE_ENDS)
    status = _STATUS.fullmatch(first)
    if status is None or len(lines) > _MAX_FIELDS:
        raise MalformedAnswerError("no head of HTTP/1.1")
    told: dict[bytes, bytes] = {}
    for line in lines:
        field = _FIELD.fullmatch(line)
        if field is None:
            raise MalformedAnswerError("a line of the head is no field")
        name = field[1].lower()
        if name in told and name in _ONCE:
            raise MalformedAnswerError("a field that may stand once stands twice")
        told[name] = field[2]
    length, encoding = told.get(b"content-length"), told.get(b"transfer-encoding")
    if encoding is not None and (length is not None or encoding.lower() != b"chunked"):
        raise MalformedAnswerError("the length of the body cannot be told")
    return _Head(
        int(status[1]),
        len(text) + len(_HEAD_ENDS),
        None if length is None else _number(_LENGTH, length, 10),
        encoding is not None,
        b"close" not in told.get(b"connection", b"").lower(),
    )


_ONCE = frozenset({b"content-length", b"transfer-encoding", b"connection"})
"""The fields that say where an answer ends."""


def _number(form: re.Pattern[bytes], text: bytes | bytearray, base: int) -> int:
    if form.fullmatch(text) is None:
        raise MalformedAnswerError("a length that is no number")
    return int(text, base)
