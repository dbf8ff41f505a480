"""A server does what it is asked and says "access denied": what was allowed once must not happen twice.

Held by: no second sending, whatever an answer says.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from support.deployments.proxied import PLAIN, Place, text_of, until, visit_all

pytestmark = pytest.mark.timeout(600)


async def _roots(_: Any) -> types.ListRootsResult:
    return types.ListRootsResult(roots=[])


async def _denied(client: Client, place: Place) -> None:
    assert text_of(await client.call_tool("fix__rooted", {})) == "inside"
    for changes in range(1, 4):
        await client.send_roots_list_changed()
        await until(lambda: sum("read_roots" in entry for entry in place.sent()) == changes)  # noqa: B023
        assert "Access denied" in text_of(await client.call_tool("fix__rooted", {}))
    assert len([entry for entry in place.sent() if entry.get("tool") == "rooted"]) == 4
    assert [record["forwarded"] for record in place.decisions] == [True] * 4


def test_an_answer_that_says_access_denied_after_the_roots_changed(tmp_path: Path) -> None:
    place = Place(tmp_path.resolve(), {"fix": [*PLAIN, "--stubborn"]})
    for error in visit_all(place, {"denied": _denied}, up=["fix"], list_roots_callback=_roots).values():
        raise error
