"""What one more request costs while 10,000 wait, against the same with none waiting."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path

import pytest
from bench.figures import Figures, measure_async
from support.records.approvals import Rendezvous, written

from ironcurtain.enforcement.approvals.broker_directory import ApprovalDirectory
from ironcurtain.enforcement.approvals.messages import ApprovalRequest
from ironcurtain.enforcement.approvals.request import Clock

pytestmark = pytest.mark.bench
WAITING, SESSIONS = 10_000, 20  # of one session fewer can wait


def another(model: ApprovalRequest, session: int = 0) -> ApprovalRequest:
    new = {
        "id": secrets.token_hex(8),
        "binding": f"sha256:{secrets.token_hex(32)}",
        "session": f"{model.session}-{session}",
    }
    return model.model_copy(update=new)


def test_one_more_request(tmp_path: Path, figures: Figures) -> None:
    model = written()
    places = [Rendezvous(tmp_path / name, Clock()) for name in ("empty", "full")]

    async def cycle(place: Rendezvous, directory: ApprovalDirectory) -> None:
        request = another(model)
        await directory.ask(request)
        assert place.answer(request) == "recorded"
        outcome = await directory.take(request.binding)
        assert outcome is not None
        assert outcome.approved

    async def run() -> None:
        with places[0].open() as empty, places[1].open() as full:
            for number in range(WAITING):
                await full.ask(another(model, number % SESSIONS))
            operations = [lambda: cycle(places[0], empty), lambda: cycle(places[1], full)]
            alone, among = await measure_async(*operations, repetitions=20, warm_up=2)
            figures.add(
                f"ask, answer and use, {WAITING:,} waiting / none",
                among.per(alone),
                5.0,
                f"{among} / {alone}",
            )

    asyncio.run(run())
