"""A server answers a call with what nobody can read: its client, and a person behind it, wait without end.

Held by: an answer counts as one by its number alone; one that is not of the protocol ends its call, and no
other.
"""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from fixtures import unreadable_server
from support.deployments.proxied import Place, text_of, until

pytestmark = pytest.mark.timeout(600)


def test_an_answer_that_cannot_be_read(tmp_path: Path) -> None:
    place = Place(tmp_path.resolve(), {"odd": [unreadable_server.__file__]})
    told: dict[str, str] = {}

    async def visit() -> None:
        async with place.client("--no-approver") as client:
            await until(lambda: place.is_up("odd"))
            for kind in unreadable_server.ANSWERS:
                with anyio.move_on_after(60):
                    answer = await client.call_tool("odd__echo", {"text": kind})
                    told[kind] = text_of(answer) if answer.is_error else "answered"
            assert not (await client.call_tool("odd__echo", {"text": "plain"})).is_error

    anyio.run(visit)
    assert told.keys() == unreadable_server.ANSWERS.keys()
    assert all(text.endswith("the server's answer is not of the protocol.") for text in told.values()), told
    assert place.ends() == ["failed"] * len(unreadable_server.ANSWERS) + ["ok"]
