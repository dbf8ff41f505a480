"""A client without anybody to ask, without roots: what is escalated is refused, the rest is the policy's."""

from __future__ import annotations

import json

import pytest
from fixtures import fixture_server
from mcp import Client
from support.deployments.proxied import LEGACY, MODERN, Place, text_of, visit_all

pytestmark = pytest.mark.timeout(900)


class Nobody(Place):
    """A place whose environment would have the proxy only observe."""

    def environment(self) -> dict[str, str]:
        return {**super().environment(), "IRONCURTAIN_OBSERVE": "1", "IRONCURTAIN_PROXY_OBSERVE": "1"}


async def what_is_escalated_is_refused_whatever_the_environment_says(client: Client, place: Place) -> None:
    refused = await client.call_tool("old__remove", {"path": f"{place.home}/x"})
    assert refused.is_error
    assert "nobody to ask" in text_of(refused)
    assert place.decisions[-1]["approval"]["state"] == "no-approver"
    assert not any(entry.get("tool") == "remove" for entry in place.sent())


async def tools_are_listed_under_their_servers_name(client: Client, _place: Place) -> None:
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    names = set(fixture_server.TOOLS)
    assert set(tools) == {f"old__{name}" for name in names} | {f"new__{name}" for name in names}
    assert tools["old__echo"].output_schema == {"type": "object"}
    assert tools["new__read"].description == "Reads a file."


async def a_client_without_roots_leaves_them_to_the_policy(client: Client, place: Place) -> None:
    expected = [(place.root / "work").as_uri(), (place.home / "notes").as_uri()]
    for name in ("old", "new"):
        answer = await client.call_tool(f"{name}__ask_roots", {})
        assert [root["uri"] for root in json.loads(text_of(answer))["roots"]] == expected


ALONE = {
    visit.__name__: visit
    for visit in (
        tools_are_listed_under_their_servers_name,
        what_is_escalated_is_refused_whatever_the_environment_says,
        a_client_without_roots_leaves_them_to_the_policy,
    )
}


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Exception]:
    place = Nobody(tmp_path_factory.mktemp("proxy").resolve(), {"old": LEGACY, "new": MODERN})
    inside = place.root / "work"
    inside.mkdir()
    return visit_all(place, ALONE, "--no-approver", "--sandbox", str(inside), mode="auto", up=("old", "new"))


@pytest.mark.parametrize("visit", ALONE)
def test_without_anybody_to_ask(alone: dict[str, Exception], visit: str) -> None:
    if visit in alone:
        raise alone[visit]
