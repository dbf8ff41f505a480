"""A server fills the disk, and something is to be told of it: it is not restarted, and no call is sent.

Held by: deny where no record can be written.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from mcp import Client
from support.deployments.faulty import no_room, proxy_of
from support.deployments.proxied import Place, until, visit_all

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(sys.platform != "linux", reason="another process is limited by prlimit"),
]


async def _filled(client: Client, place: Place) -> None:
    log = place.home / ".ironcurtain" / "audit" / "test.jsonl"
    assert not (await client.call_tool("fix__echo", {"text": "before"})).is_error
    await until(lambda: place.ends() == ["ok"])
    with no_room(await proxy_of(place), log.stat().st_size):
        os.kill(place.sent()[-1]["pid"], 9)
        # What is told of its next start cannot be recorded; it starts all the same, and no call is sent.
        await until(lambda: "not recorded" in place.said)
        await until(lambda: place.said.count("server fix: 22 tools") == 2)
        assert (await client.call_tool("fix__echo", {"text": "meanwhile"})).is_error
        assert place.said.count("it is started again") == 1
    assert not (await client.call_tool("fix__echo", {"text": "after"})).is_error
    assert [entry["arguments"]["text"] for entry in place.sent()] == ["before", "after"]
    assert place.said.count("it is started again") == 1


def test_a_full_log_while_something_is_told_of_a_server(tmp_path: Path) -> None:
    place = Place(tmp_path.resolve())
    for error in visit_all(place, {"filled": _filled}, up=["fix"]).values():
        raise error
