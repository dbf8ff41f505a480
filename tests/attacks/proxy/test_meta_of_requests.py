"""What an agent writes beside the arguments (`_meta`) no rule judges: it must not reach a server unseen.

Held by: `_meta` is dropped but for what the protocol needs; the rest is shown, bound and logged.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from support.deployments.faulty import OWN
from support.deployments.proxied import MODERN, Place, request_meta, text_of, visit_all
from support.records.approvals import inbox_of, waiting

from ironcurtain.enforcement.approvals.describe import describe
from ironcurtain.enforcement.approvals.inbox import PersonAnswer

pytestmark = pytest.mark.timeout(600)

SMUGGLED: dict[str, Any] = {
    "count": 1_000_000,
    "test/own": {"path": "/etc/shadow"},
    "traceparent": "rm -rf /",
    "tracestate": {"count": 1_000_000},
    "baggage": "a=1\ncount=1000000",
    "progressToken ": 7,
}


async def _dropped(client: Client, _place: Place) -> None:
    result = await client.call_tool("fix__meta", {}, meta=request_meta(SMUGGLED))
    assert json.loads(text_of(result)) == {}


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_meta_that_nobody_let_through(tmp_path: Path, mode: str) -> None:
    place = Place(tmp_path.resolve(), {"fix": MODERN})
    for error in visit_all(place, {"dropped": _dropped}, mode=mode, up=["fix"]).values():
        raise error
    assert "1000000" not in json.dumps(place.sent())


async def _remove(client: Client, place: Place, count: int) -> tuple[str, str]:
    meta = {"test/count": count, "count": count}
    await client.call_tool("fix__remove", {"path": f"{place.home}/x"}, meta=request_meta(meta))
    found = place.decisions[-1]
    assert found["meta"] == {"test/count": count}
    return found["approval"]["state"], found["approval"]["request"]


async def _another_meta(client: Client, place: Place) -> None:
    own = place.home / OWN
    _, asked = await _remove(client, place, 1)
    with inbox_of(own) as desk:
        request = waiting(desk, asked)
        assert "| /test~1count = 1" in describe(request) or '| /"test/count" = 1' in describe(request)
        assert desk.answer(request, PersonAnswer("approved", scope="session")) == "recorded"
    state, again = await _remove(client, place, 1_000_000)
    assert (state, again == asked) == ("pending", False)
    assert await _remove(client, place, 1) == ("approved", asked)
    # Nor does what was granted for this session cover it.
    assert (await _remove(client, place, 1_000_000))[0] == "pending"


def test_another_meta_than_the_approved_one(tmp_path: Path) -> None:
    place = Place(tmp_path.resolve())
    place.configure(passMeta=["test/count"])
    for error in visit_all(place, {"another": _another_meta}, "--patience", "0.2", up=["fix"]).values():
        raise error
    assert len([entry for entry in place.sent() if entry.get("tool") == "remove"]) == 1


def test_a_configuration_cannot_pass_what_is_the_protocols_own(tmp_path: Path) -> None:
    place = Place(tmp_path.resolve())
    place.configure(passMeta=["io.modelcontextprotocol/clientInfo"])

    async def visit() -> None:
        async with place.client():
            pass

    with pytest.raises(BaseExceptionGroup):
        anyio.run(visit)
    assert "belongs to the protocol" in place.said
