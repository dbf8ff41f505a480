"""Bad entries and pages of servers' lists behind a real proxy: each costs itself, and is named once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fixtures import plain_server
from mcp import Client
from support.deployments.faulty import status_tells
from support.deployments.proxied import Place, chosen, text_of, until, visit_all
from support.generators.bad_entries import BAD_TOOLS, answering, listing

pytestmark = pytest.mark.timeout(600)

ECHO = next(tool for tool in plain_server.TOOLS if tool["name"] == "echo")
HINTED = {**ECHO, "annotations": {"readOnlyHint": True, "category": "files"}, "tags": ["a"]}
PAGED: dict[str, list[Any]] = {
    "tools/list": [{"tools": [], "nextCursor": ""}, {"tools": [HINTED], "nextCursor": "a"}, {"tools": []}],
    "tools/call": [{"content": [{"type": "text", "text": "called"}], "structuredContent": {}}],
    "resources/list": [
        *({"resources": [{"name": str(at), "uri": f"x:{at}"}], "nextCursor": str(at)} for at in range(149)),
        {"resources": [{"name": "last", "uri": "x:last"}]},
    ],
    "prompts/list": [{"prompts": [{"name": "good", "kind": "short"}], "nextCursor": "a"}],
}
BAD: dict[str, list[Any]] = {
    "tools/list": [{"tools": [ECHO]}],
    "resources/list": [
        {"resources": [{"name": "good", "uri": "y:1"}, {"uri": "y:2"}, {"name": "last", "uri": "y:3"}]}
    ],
    "resources/templates/list": [
        {"resourceTemplates": [5, {"name": "good", "uriTemplate": "y:{x}", "annotations": {"of": "us"}}]}
    ],
    "prompts/list": [{"prompts": [{"name": "good"}, {"name": "bad", "arguments": [{}]}, {"name": "last"}]}],
}


async def tools_beside_bad_ones_are_listed(client: Client, _place: Place) -> None:
    names = {tool.name for tool in (await client.list_tools()).tools}
    assert {f"{kind}__echo" for kind in BAD_TOOLS} <= names
    assert not [name for name in names if not name.endswith("__echo")]


async def bad_tools_are_named_once_and_in_status(client: Client, place: Place) -> None:
    for _ in range(3):
        await client.list_tools()
    sentences = [f"server {kind}: {said}" for kind, (_, said) in BAD_TOOLS.items()]
    for sentence in sentences:
        assert place.said.count(sentence) == 1, sentence
    await status_tells(place, *sentences)


async def a_list_of_many_pages_is_read_to_its_end(client: Client, _place: Place) -> None:
    uris = [resource.uri for resource in (await client.list_resources()).resources]
    assert len([uri for uri in uris if uri.startswith("x:")]) == 150
    assert "x:last" in uris
    assert text_of(await client.call_tool("paged__echo", {"text": "x"})) == "called"


async def bad_resources_and_prompts_cost_themselves(client: Client, place: Place) -> None:
    for _ in range(2):
        uris = {resource.uri for resource in (await client.list_resources()).resources}
        assert {"y:1", "y:3"} <= uris
        assert "y:2" not in uris
        templates = (await client.list_resource_templates()).resource_templates
        assert [template.uri_template for template in templates] == ["y:{x}"]
        prompts = {prompt.name for prompt in (await client.list_prompts()).prompts}
        assert prompts == {"paged__good", "bad__good", "bad__last"}
    sentences = (
        "server bad: the resource at place 2 is left out: name",
        "server bad: the resource template at place 1 is left out",
        'server bad: the prompt "bad" is left out: arguments.0.name',
    )
    for said in sentences:
        assert place.said.count(said) == 1
    await status_tells(place, *sentences)


async def a_cursor_that_repeats_is_named_at_once(client: Client, place: Place) -> None:
    await client.list_prompts()
    said = 'server paged: prompts/list names the cursor "a" a second time: what comes after it is left out'
    await until(lambda: place.said.count(said) == 1)


async def members_that_the_protocol_does_not_know_are_carried(client: Client, _place: Place) -> None:
    listed: dict[str, Any] = await _raw(client, "tools/list")
    (tool,) = [tool for tool in listed["tools"] if tool["name"] == "paged__echo"]
    assert tool["annotations"] == HINTED["annotations"]
    assert tool["tags"] == ["a"]
    prompts = {prompt["name"]: prompt for prompt in (await _raw(client, "prompts/list"))["prompts"]}
    assert prompts["paged__good"]["kind"] == "short"
    (template,) = (await _raw(client, "resources/templates/list"))["resourceTemplates"]
    assert template["annotations"] == {"of": "us"}


async def _raw(client: Client, method: str) -> dict[str, Any]:
    # The SDK's client drops what its models do not know.
    result: dict[str, Any] = await client.session._dispatcher.send_raw_request(method, None, {})
    return result


VISITS = {
    visit.__name__: visit
    for visit in (
        tools_beside_bad_ones_are_listed,
        bad_tools_are_named_once_and_in_status,
        a_list_of_many_pages_is_read_to_its_end,
        bad_resources_and_prompts_cost_themselves,
        a_cursor_that_repeats_is_named_at_once,
        members_that_the_protocol_does_not_know_are_carried,
    )
}


@pytest.fixture(scope="module")
def outcomes(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> dict[str, Exception]:
    root: Path = tmp_path_factory.mktemp("lists").resolve()
    servers = {kind: listing(root, kind, ECHO, bad) for kind, (bad, _) in BAD_TOOLS.items()}
    servers |= {"paged": answering(root, "paged", PAGED), "bad": answering(root, "bad", BAD)}
    place = Place(root, servers)
    return visit_all(place, chosen(VISITS, request), up=servers)


@pytest.mark.parametrize("visit", VISITS)
def test_visit(outcomes: dict[str, Exception], visit: str) -> None:
    if error := outcomes.get(visit):
        raise error
