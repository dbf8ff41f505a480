"""Opening a log that is there already: what its writer must know to continue it, or why nobody may."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from ironcurtain.enforcement.audit.hash_chain import (
    ChangedLineError,
    SealedLine,
    follow_chain,
    is_vouched,
    read_head,
    split_lines,
)
from ironcurtain.enforcement.audit.log_paths import LogPlace
from ironcurtain.enforcement.audit.record_types import GENESIS, Head
from ironcurtain.errors import AuditError
from ironcurtain.system import json_text

_ASKED = b'"approval":{'
_OPEN = frozenset({"pending", "withdrawn"})


@dataclass(frozen=True)
class Recovered:
    """The state of a log that is opened.

    Attributes:
        segments: How many segments there are.
        size: The size of the last one's complete lines in bytes.
        count: How many lines there are.
        seal: The last line's seal.
        after_head: How many of them the writer before could not vouch for any more.
        torn: How many bytes of an incomplete line it left; `torn_digest` is their digest.
        began: The time of the first record; empty for a new log.
        used: The approval requests whose answers it tells to be used up.
    """

    segments: int = 0
    size: int = 0
    count: int = 0
    seal: str = GENESIS
    after_head: int = 0
    torn: int = 0
    torn_digest: str = ""
    began: str = ""
    used: frozenset[str] = frozenset()


def recover(place: LogPlace, head_text: bytes, key: bytes | None) -> Recovered:
    """Read a log up to its end.

    A writer that was killed in the middle of a line leaves it incomplete; nobody was told that it is
    written, so it is dropped, and the log tells so in a record. Anything else is not continued.

    Args:
        place: The log's files.
        head_text: What the head file holds; empty for a new log.
        key: The head's key.

    Raises:
        AuditError: If the log is not what was written.
    """
    segments = list(place.segments())
    head = _head(place, head_text, key)
    if head is None:
        if segments:
            raise _refused(place, "its head file is missing, so it cannot be told whether lines were removed")
        return Recovered()
    count, seal, at_head, size, torn = 0, GENESIS, GENESIS, 0, b""
    began, used = "", set[str]()
    for path in segments:
        if torn:
            raise _refused(place, "a segment that others follow ends in the middle of a line")
        data = path.read_bytes()
        lines, torn = split_lines(data)
        for line in follow_chain(lines, seal):
            if not isinstance(line, SealedLine):
                raise _refused(place, f"line {count + 1}: {line}")
            count, seal = count + 1, line.seal
            at_head = seal if count == head.count else at_head
            began = began or json.loads(line.record)["time"]
            used.update(_used(line.record))
        size = len(data) - len(torn)
    if count < head.count:
        raise _refused(place, f"it has {count} lines, and its head knows of {head.count}")
    if at_head != head.seal:
        raise _refused(place, f"line {head.count} is not the one that its head knows")
    return Recovered(
        segments=len(segments),
        size=size,
        count=count,
        seal=seal,
        after_head=count - head.count,
        torn=len(torn),
        torn_digest=json_text.digest_bytes(torn) if torn else "",
        began=began,
        used=frozenset(used),
    )


def _used(record: bytes) -> Iterator[str]:
    """Yield the request whose answer a record tells to be used up."""
    if _ASKED not in record:
        return
    approval = json.loads(record).get("approval")
    if approval and approval.get("request") and approval.get("state") not in _OPEN:
        yield approval["request"]


def _head(place: LogPlace, text: bytes, key: bytes | None) -> Head | None:
    if not text:
        return None
    try:
        head = read_head(text)
    except ChangedLineError as error:
        raise _refused(place, f"its head file was changed: {error}") from None
    if head.session != place.session or (key is not None and not is_vouched(head, key)):
        raise _refused(place, "its head file is not the one that was written for it with this key")
    return head


def _refused(place: LogPlace, why: str) -> AuditError:
    return AuditError(
        f"the audit log is not what was written: {why}",
        where=str(place.path),
        hint="Keep it, run `ironcurtain audit verify`, and start a session of another name.",
    )
