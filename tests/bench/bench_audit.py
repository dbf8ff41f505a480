"""What a durable audit record costs, alone and with fifty decisions side by side."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from bench.figures import Figures, Times, measure_async
from support.records.audited import KEY, decided, ended

from ironcurtain.enforcement.audit.log import AuditLog
from ironcurtain.enforcement.audit.log_paths import session_log

SIDE_BY_SIDE = 50
REPETITIONS = 60


@pytest.mark.bench
def test_group_commit(tmp_path: Path, figures: Figures) -> None:
    bare, one, both, fifty = asyncio.run(times(tmp_path))
    figures.add("audit: one decision / one bare write and fsync", one.per(bare), 4, str(one))
    figures.add("audit: a decision and its result / a decision alone", both.per(one), 1.3, str(both))
    figures.add(f"audit: {SIDE_BY_SIDE} decisions at once / one bare fsync", fifty.per(bare), 25, str(fifty))
    figures.add("audit: share of a decision in fifty / one decision", fifty.per(one) / SIDE_BY_SIDE, 0.5, "")


async def times(directory: Path) -> tuple[Times, ...]:
    record = b"x" * 1_200 + b"\n"
    handle = os.open(directory / "bare", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write_bare() -> None:
        os.write(handle, record)
        os.fdatasync(handle)

    async def bare() -> None:
        await asyncio.get_running_loop().run_in_executor(None, write_bare)

    try:
        async with AuditLog(session_log(directory, "work"), key=KEY) as log:

            async def one() -> None:
                await log.decision(decided(1))

            async def both() -> None:
                await log.decision(decided(1))
                await log.result(ended(1))

            async def fifty() -> None:
                await asyncio.gather(*(log.decision(decided(number)) for number in range(SIDE_BY_SIDE)))

            return await measure_async(bare, one, both, fifty, repetitions=REPETITIONS, warm_up=5)
    finally:
        os.close(handle)
