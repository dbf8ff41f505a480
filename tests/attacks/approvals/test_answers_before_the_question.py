"""Attack: an answer lies in the approvals directory before the request that it is to approve is there.

Held by: ids that nobody knows before, and the seal over the request as it was shown.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.records.approvals import Rendezvous, edited, written

from ironcurtain.enforcement.approvals.messages import ApprovalState
from ironcurtain.enforcement.approvals.request import Clock

pytestmark = pytest.mark.anyio


@pytest.fixture
def place(tmp_path: Path) -> Rendezvous:
    tmp_path.chmod(0o700)
    return Rendezvous(tmp_path, Clock())


async def sealed(place: Rendezvous) -> bytes:
    """Return a person's true answer to an earlier request about the same call, of another session."""
    earlier = written(session="earlier")
    with place.open() as directory:
        await directory.ask(earlier)
        return place.sealed_answer(earlier)


@pytest.mark.parametrize("how", ["as it was", "with the new id", "with the new id and what was shown"])
async def test_an_answer_that_waits_for_its_request(place: Rendezvous, how: str) -> None:
    """Of somebody who even knows the id, and has an answer that a person gave to an equal call."""
    content, request = await sealed(place), written()
    if how != "as it was":
        content = edited(content, "answer", "request", value=request.id)
    if how.endswith("shown"):
        content = edited(content, "answer", "binding", value=request.binding)
    with place.open() as directory:
        place.response(request.id).write_bytes(content)
        outcome = await directory.obtain(request, 5)
    assert outcome.state is ApprovalState.INVALID
    assert outcome.fault in {"wrong-seal", "other-request"}


async def test_ids_that_somebody_could_know_beforehand() -> None:
    ids = [written().id for _ in range(300)]
    assert len({*ids}) == 300
    assert all(re.fullmatch(r"[0-9a-f]{16}", each) for each in ids)
    halves = [{each[:8] for each in ids}, {each[8:] for each in ids}]
    assert all(len(half) == 300 for half in halves), "a counter or a clock is in them"
