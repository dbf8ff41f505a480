"""A tool keeps name, description and schema, and tells clients something else in what is beside them.

Held by: the digest of all that clients are told of a tool.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from fixtures.plain_server import OTHERS
from mcp import Client
from support.deployments.proxied import Place, visit_all

from ironcurtain.decision.decide import is_drifted
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.servers.tools import ToolListing, tool_digest

pytestmark = pytest.mark.timeout(600)

MEMBERS = [member for member in OTHERS if member != "description"]


async def _told_otherwise(member: str, client: Client, place: Place) -> None:
    change = {"which": f"echo {member}"}
    assert not (await client.call_tool("fix__echo", {"text": member})).is_error
    for _ in range(2):
        before = len(place.decisions)
        await client.call_tool("fix__change", change)
        assert (await client.call_tool("fix__echo", {"text": member})).is_error
        assert "fix__echo" not in {tool.name for tool in (await client.list_tools()).tools}
        assert place.decisions[before + 1]["rule"] == "structural-tool-drift"
        # Other tools go on, and so does this one when it is what it was.
        await client.call_tool("fix__change", change)
        assert not (await client.call_tool("fix__echo", {"text": member})).is_error
    assert "fix__echo" in {tool.name for tool in (await client.list_tools()).tools}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Exception]:
    place = Place(tmp_path_factory.mktemp("told").resolve())
    visits = {member: partial(_told_otherwise, member) for member in MEMBERS}
    return visit_all(place, visits, up=["fix"])


@pytest.mark.parametrize("member", MEMBERS)
def test_another_member_of_a_listed_tool(outcomes: dict[str, Exception], member: str) -> None:
    if member in outcomes:
        raise outcomes[member]


def test_a_tool_that_was_annotated_told_otherwise_at_the_start() -> None:
    """Where the annotation pins the whole listing, nothing has to be seen first."""
    told: dict[str, Any] = {"name": "t", "description": "d", "inputSchema": {"type": "object"}}
    pinned = ToolListing.of(told)
    annotation = ToolAnnotation(
        tool="t",
        side_effects=True,
        schema_digest=tool_digest(pinned),
        listing_digest=pinned.listing_digest,
    )
    assert not is_drifted(annotation, tool_digest(pinned), pinned.listing_digest)
    for member in MEMBERS:
        other = ToolListing.of({**told, member: OTHERS[member]})
        assert tool_digest(other) == tool_digest(pinned)
        assert is_drifted(annotation, tool_digest(other), other.listing_digest), member
