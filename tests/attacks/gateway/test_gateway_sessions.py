"""A client over HTTP with a good token of its own writes itself into another client's session.

Held by: headers that say who asks count only if they stand there once; a session is its client's alone, and
one that is not known (any more) is nobody's.
"""

from __future__ import annotations

from pathlib import Path

import httpx2
from support.deployments.proxied import LONG
from support.deployments.support_desk import Desk
from support.deployments.support_desk_http import FIRST, began, listening, settle, token


def status(url: str, *headers: tuple[str, str]) -> int:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accept = ("accept", "application/json, text/event-stream")
    return httpx2.post(
        url, json=message, headers=[accept, *headers], timeout=LONG, trust_env=False
    ).status_code


def test_a_header_that_says_who_asks_stands_there_twice(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    settle(desk, first=FIRST)
    owner, other = (f"Bearer {token(FIRST, 'first', sub, 'tickets:read')}" for sub in ("owner", "other"))
    with listening(desk) as url:
        its = ("mcp-session-id", began(url, owner.removeprefix("Bearer ")))
        own = ("mcp-session-id", began(url, other.removeprefix("Bearer ")))
        assert status(url, ("authorization", owner), its) == 200
        assert status(url, ("authorization", other), own) == 200
        # Whoever checks the session takes one of the two, whoever serves it the other.
        assert status(url, ("authorization", other), its, own) == 400
        assert status(url, ("authorization", other), own, its) == 400
        assert status(url, ("authorization", owner), ("Authorization", other), its) == 400
        assert status(url, ("authorization", other), ("mcp-session-id", "0" * 32)) == 404
