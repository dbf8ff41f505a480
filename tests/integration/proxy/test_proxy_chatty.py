"""A server that prints to its standard output with each call, behind a proxy: it stays up, and is named."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from fixtures import plain_server
from support.deployments.faulty import status_tells
from support.deployments.proxied import Place, text_of

CHATTY = Path(plain_server.__file__).with_name("chatty_server.py")
pytestmark = pytest.mark.timeout(600)


def test_a_server_that_prints_a_line_per_call_goes_on(tmp_path: Path) -> None:
    place = Place(tmp_path.resolve(), {"fix": [str(CHATTY)]})

    async def visit() -> None:
        async with place.client("--no-approver") as client:
            for number in range(150):
                result = await client.call_tool("fix__echo", {"text": str(number)})
                assert not result.is_error, text_of(result)
            await status_tells(place, "fix: up")

    anyio.run(visit)
    assert place.said.count("what is no MCP message") == 1
    assert len({entry["pid"] for entry in place.sent()}) == 1
