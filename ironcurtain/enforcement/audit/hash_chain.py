"""The bytes of a log: sealing records into a chain of lines, and holding lines against the chain."""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterable, Iterator
from functools import lru_cache

from pydantic import ValidationError

from ironcurtain.enforcement.audit.record_types import (
    GENESIS,
    DecisionRecord,
    EventRecord,
    Head,
    KeyedDigest,
    ResultRecord,
)
from ironcurtain.errors import AuditError
from ironcurtain.system import json_text
from ironcurtain.system.json_text import JsonSource
from ironcurtain.system.structs import Struct

HEAD_BYTES = 512
"""The size of a head file: always the same, so that it is overwritten in place and never truncated."""

_BEFORE = b'{"previous":"'
_BETWEEN = b'","record":'
_SEAL = b',"seal":"'
_AFTER = b'"}'
_DIGEST_LENGTH = len(GENESIS)
# RFC 8785 orders keys and writes numbers a little otherwise; nobody has to write a record again.
_RECORDS = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
_RECORD = len(_BEFORE) + _DIGEST_LENGTH + len(_BETWEEN)
_TAIL = len(_SEAL) + _DIGEST_LENGTH + len(_AFTER)


class SealedLine(Struct):
    """A line whose seal is that of its content.

    Attributes:
        previous: The seal that it names as the one before.
        record: The record's JSON.
        digest: The record's digest, if the seal is over that; None in a line of before.
    """

    previous: str
    record: bytes
    seal: str
    digest: str | None


class ChangedLineError(ValueError):
    """A line is not what was sealed."""


class OutOfOrderError(ChangedLineError):
    """A line is what was sealed, but it does not follow the line before it."""


def record_bytes(record: DecisionRecord | ResultRecord | EventRecord) -> bytes:
    """Return a record's JSON in its one form: keys sorted, no blanks, UTF-8.

    Raises:
        AuditError: If the record holds something that is no JSON.
    """
    try:
        return json_bytes(record.model_dump(mode="json"))
    except (TypeError, ValueError) as error:
        raise AuditError(f"a record holds what is no JSON ({type(error).__name__})") from error


def json_bytes(value: JsonSource) -> bytes:
    """Return a JSON value in that form; ValueError or TypeError where it is none."""
    return _RECORDS.encode(value).encode()


def seal_line(record: bytes, previous: str) -> tuple[bytes, str]:
    """Return the line of a record's JSON, with its line feed, and its seal."""
    seal = seal_of(previous, json_text.digest_bytes(record))
    parts = (_BEFORE, previous.encode(), _BETWEEN, record, _SEAL, seal.encode(), _AFTER, b"\n")
    return b"".join(parts), seal


def seal_of(previous: str, digest: str) -> str:
    """Return the seal of a record by its digest: whoever follows a chain need not see the records."""
    return json_text.digest_bytes(f"{previous}{digest}".encode())


def open_line(line: bytes) -> SealedLine:
    """Take a line, without its line feed, apart.

    Raises:
        ChangedLineError: If it is not of the one form of a line, or its seal is not that of its content.
    """
    content, tail = line[:-_TAIL], line[-_TAIL:]
    framed = (
        content.startswith(_BEFORE)
        and content[_RECORD - len(_BETWEEN) : _RECORD] == _BETWEEN
        and tail.startswith(_SEAL)
        and tail.endswith(_AFTER)
    )
    if not framed:
        raise ChangedLineError("it is no line of an audit log")
    previous = content[len(_BEFORE) : len(_BEFORE) + _DIGEST_LENGTH].decode("ascii", "replace")
    record, seal = content[_RECORD:], tail[len(_SEAL) : -len(_AFTER)].decode("ascii", "replace")
    digest = json_text.digest_bytes(record)
    if seal == seal_of(previous, digest):
        return SealedLine(previous, record, seal, digest)
    if seal == json_text.digest_bytes(content):  # logs of before are sealed over the line itself
        return SealedLine(previous, record, seal, None)
    raise ChangedLineError("it is not what was sealed")


def split_lines(data: bytes) -> tuple[Iterator[bytes], bytes]:
    """Return the complete lines of a file, without their line feeds, and what stands after the last."""
    end = data.rfind(b"\n") + 1
    return _complete(data, end), data[end:]


def _complete(data: bytes, end: int) -> Iterator[bytes]:
    start = 0
    while start < end:
        stop = data.index(b"\n", start)
        yield data[start:stop]
        start = stop + 1


def keyed_digest(data: bytes, key: bytes | None, purpose: str) -> KeyedDigest:
    """Return a digest, keyed where there is a key; digests for one purpose tell nothing about another's."""
    if key is None:
        return json_text.digest_bytes(data)
    return f"hmac-sha256:{hmac.digest(_derived(key, purpose), data, 'sha256').hex()}"


@lru_cache(maxsize=64)
def _derived(key: bytes, purpose: str) -> bytes:
    """Return the key of one purpose."""
    return hmac.digest(key, purpose.encode(), "sha256")


def head_text(session: str, count: int, seal: str, key: bytes | None) -> bytes:
    """Return a head file's content, padded to its one size."""
    head = Head(session=session, count=count, seal=seal)
    text = json_text.canonical({**head.model_dump(mode="json"), "mac": head_mac(head, key)})
    return text.ljust(HEAD_BYTES - 1) + b"\n"


def read_head(text: bytes) -> Head:
    """Read a head file's content.

    Raises:
        ChangedLineError: If it is none.
    """
    try:
        head = Head.model_validate_json(text)
    except ValidationError:
        raise ChangedLineError("it is no head of an audit log") from None
    if text != json_text.canonical(head.model_dump(mode="json")).ljust(HEAD_BYTES - 1) + b"\n":
        raise ChangedLineError("it is not as we write it")
    return head


def head_mac(head: Head, key: bytes | None) -> KeyedDigest | None:
    """Return the code of a head under a key; None without one."""
    if key is None:
        return None
    return keyed_digest(json_text.canonical([head.format, head.session, head.count, head.seal]), key, "head")


def is_vouched(head: Head, key: bytes) -> bool:
    """Tell whether a head was written by somebody who has the key."""
    return head.mac is not None and hmac.compare_digest(head.mac, head_mac(head, key) or "")


def follow_chain(lines: Iterable[bytes], start: str = GENESIS) -> Iterator[SealedLine | ChangedLineError]:
    """Yield every line opened, or what is wrong with it: its content, or its place in the chain."""
    previous: str | None = start
    for line in lines:
        try:
            opened = open_line(line)
        except ChangedLineError as error:
            previous = None  # whatever follows a changed line cannot be held against it
            yield error
            continue
        if previous is not None and opened.previous != previous:
            yield OutOfOrderError("it does not follow the line before it")
        else:
            yield opened
        previous = opened.seal
