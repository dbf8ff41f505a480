"""A client over HTTP answers, with its own token, what another one was asked in the middle of a call.

Held by: a retry belongs to the client that made the call, and repeats that call; anything else is not waited
for, and leaves the call as it was.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp_types as types
import pytest
from attacks.proxy.test_http_neighbours import TOKENS, listening, with_tokens
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from support.deployments.proxied import LONG, Place

pytestmark = pytest.mark.timeout(600)


class Owner:
    """A client whose call is asked about; it knows what it sent and what state it was given."""

    def __init__(self, url: str, place: Place) -> None:
        self.url, self.place = url, place
        self.request: tuple[Mapping[str, str], dict[str, Any]] | None = None
        self.attempts: list[str] = []

    async def call(self) -> types.CallToolResult:
        client = httpx2.AsyncClient(
            timeout=LONG,
            trust_env=False,
            headers={"authorization": f"Bearer {TOKENS['one']}"},
            event_hooks={"response": [self._seen]},
        )
        transport = streamable_http_client(self.url, http_client=client)
        async with Client(
            transport, mode="2026-07-28", cache=None, elicitation_callback=self._asked
        ) as opened:
            return await opened.call_tool("fix__remove", {"path": f"{self.place.home}/x"})

    async def _seen(self, response: httpx2.Response) -> None:
        sent = json.loads(response.request.content or b"{}")
        if sent.get("method") == "tools/call" and "requestState" not in sent["params"]:
            text = (await response.aread()).decode()
            message = json.loads(text.partition("data:")[2].strip() or text)
            state = message["result"]["requestState"]
            answers = {"q0": {"action": "accept", "content": {"answer": "approved"}}}
            sent["params"] |= {"requestState": state, "inputResponses": answers}
            self.request = response.request.headers, sent

    async def _asked(self, context: Any, params: Any) -> types.ElicitResult:  # noqa: ARG002 - the SDK
        assert self.request is not None, params.message
        headers, sent = self.request
        kept = {
            name: value for name, value in headers.items() if name.startswith(("mcp-", "accept", "content-t"))
        }
        other = {**sent, "params": {**sent["params"], "arguments": {"path": f"{self.place.home}/y"}}}
        for token, message in ((TOKENS["two"], sent), (TOKENS["one"], other)):
            async with httpx2.AsyncClient(timeout=LONG, trust_env=False) as client:
                shown = {**kept, "authorization": f"Bearer {token}"}
                answer = await client.post(self.url, json=message, headers=shown)
                self.attempts.append(answer.text)
        return types.ElicitResult(action="decline")


def test_another_client_answers_what_the_owner_was_asked(tmp_path: Path) -> None:
    place = Place(tmp_path.resolve())
    with_tokens(place)
    with listening(place, "--http", "127.0.0.1:0", "--trust-client", "--patience", "3000") as url:
        owner = Owner(url, place)
        result = anyio.run(owner.call)
    assert result.is_error
    assert len(owner.attempts) == 2
    assert all("is not, or no longer, being waited for" in attempt for attempt in owner.attempts)
    assert [record["approval"]["state"] for record in place.decisions] == ["denied"]
    assert not place.sent()
