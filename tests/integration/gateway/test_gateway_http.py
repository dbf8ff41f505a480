"""The support desk over HTTP: two agents with tokens of two keys, and what is recorded of strangers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from support.deployments.support_desk import Desk, text_of
from support.deployments.support_desk_http import FIRST, SECOND, began, listening, settle, status_of, token


async def tell(url: str, shown: str, *calls: tuple[str, dict[str, Any]]) -> tuple[list[str], list[Any]]:
    """Return the tools that a client with a token is shown, and what comes of its calls."""
    http = httpx2.AsyncClient(headers={"authorization": f"Bearer {shown}"}, trust_env=False, timeout=60)
    async with Client(streamable_http_client(url, http_client=http), mode="legacy") as client:
        listed = [tool.name.removeprefix("desk__") for tool in (await client.list_tools()).tools]
        return listed, [await client.call_tool(f"desk__{name}", given) for name, given in calls]


def test_agents_with_tokens_of_two_keys_while_they_are_rotated(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    settle(desk, first=FIRST)
    reader = token(FIRST, "first", "reader", "tickets:read")
    writer = token(SECOND, "second", "writer", "tickets:read", "tickets:write", "unknown:permission")
    note = ("add_note", {"ticket": "SUP-1", "text": "Hello"})
    with listening(desk) as url:
        listed, [found, refused] = anyio.run(tell, url, reader, ("get_ticket", {"ticket": "SUP-1"}), note)
        assert listed == ["get_ticket", "search_tickets"]
        assert found.structured_content["customer"] == {"name": "A***e", "email": "a***m"}
        assert "operation not permitted" in text_of(refused)
        assert status_of(url, authorization=f"Bearer {writer}") == 401
        settle(desk, first=FIRST, second=SECOND)
        listed, [written] = anyio.run(tell, url, writer, note)
        assert "add_note" in listed
        assert written.structured_content == {"changed": 1}
        settle(desk, second=SECOND)
        assert status_of(url, authorization=f"Bearer {reader}") == 401
        assert status_of(url) == 401
    records = desk.records()
    decided = [(r["gateway"]["caller"], r["client"], r["gateway"]["stage"]) for r in desk.decisions()]
    assert decided == [
        ("reader", "reader", None),
        ("reader", "reader", "PERMISSION"),
        ("writer", "writer", None),
    ]
    strangers = [r["detail"] for r in records if r["kind"] == "event" and r["event"] == "unauthenticated"]
    assert strangers
    assert {each["stage"] for each in strangers} == {"AUTH"}
    assert "intact" in desk.run("audit", "verify", "desk")


def test_a_session_belongs_to_the_principal_that_began_it(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    settle(desk, first=FIRST)
    owner = token(FIRST, "first", "owner", "tickets:read")
    other = token(FIRST, "first", "other", "tickets:read")
    with listening(desk) as url:
        session = {"mcp-session-id": began(url, owner)}
        assert status_of(url, authorization=f"Bearer {owner}", **session) == 200
        assert status_of(url, authorization=f"Bearer {other}", **session) == 404
