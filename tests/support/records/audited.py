"""Audit logs for tests: records of plain calls, and logs made of them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from ironcurtain.enforcement.audit.log import AuditLog
from ironcurtain.enforcement.audit.log_paths import MAX_BYTES, LogPaths, session_log
from ironcurtain.enforcement.audit.record_types import DecisionRecord, ResourceRecord, ResultRecord
from ironcurtain.model.verdict import Verdict

KEY = bytes(range(32))
TIME = "2026-01-01T00:00:00.000000Z"
REVISION = "r" * 8


def decided(number: int, **more: Any) -> DecisionRecord:
    """Return the record of the allowed read of a file."""
    value = f"/home/user/box/{number}"
    subject = ResourceRecord(
        at="/path", role="read-path", value=value, verdict=Verdict.ALLOW, rule="r1", discharged=False
    )
    plain = {
        "time": TIME,
        "id": f"d{number:06d}",
        "server": "s",
        "tool": "read",
        "raw_digest": f"sha256:{number:064x}",
        "arguments": {"path": value},
        "verdict": Verdict.ALLOW,
        "rule": "r1",
        "clause": "C1",
        "reason": "Files may be read.",
        "subjects": (subject,),
        "forwarded": True,
        "revision": REVISION,
        "phases": {"policy": 0.5},
    }
    return DecisionRecord(**{**plain, **more})


def ended(number: int, **more: Any) -> ResultRecord:
    """Return the record of how the call of the same number ended."""
    return ResultRecord(**{"time": TIME, "id": f"d{number:06d}", "status": "ok", "size": 5, **more})


def write_log(
    directory: Path,
    calls: int,
    *,
    session: str = "work",
    key: bytes | None = KEY,
    max_bytes: int = MAX_BYTES,
    side_by_side: int = 100,
) -> LogPaths:
    """Write a log of calls, a decision and a result each; return where it lies."""
    place = session_log(directory, session)

    async def write() -> None:
        async with AuditLog(place, key=key, max_bytes=max_bytes) as log:
            for start in range(0, calls, side_by_side):
                group = range(start, min(start + side_by_side, calls))
                await asyncio.gather(*(log.decision(decided(number)) for number in group))
                for number in group:
                    await log.result(ended(number))

    asyncio.run(write())
    return place


def write_decisions(directory: Path, *records: DecisionRecord) -> None:
    """Write these decisions alone as the log `work`, without a key."""

    async def write() -> None:
        async with AuditLog(session_log(directory, "work"), key=None) as log:
            for record in records:
                await log.decision(record)

    asyncio.run(write())
