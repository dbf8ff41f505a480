"""What is allowed works through the proxy as without it, in every pairing of the two protocol eras."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from fixtures import fixture_server
from mcp import Client
from mcp.shared.exceptions import MCPError
from support.proxied import LEGACY, MODERN, Place, text_of, until, visit_all

FREE = ("mcp/sampling", "mcp/elicitation", "mcp/prompts-get", "mcp/complete", "mcp/resources-read")
PAIRS = {
    "legacy to legacy": ("legacy", LEGACY),
    "legacy to modern": ("legacy", MODERN),
    "modern to legacy": ("2026-07-28", LEGACY),
    "modern to modern": ("auto", MODERN),
}


class Person:
    """The client's side: a model, a person, roots; and what was heard."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.logs: list[types.LoggingMessageNotificationParams] = []
        self.heard: list[str] = []

    async def sampling(self, _: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        self.asked.append(params.messages[0].content.text)
        return types.CreateMessageResult(role="assistant", model="m", content=types.TextContent(text="go on"))

    async def elicitation(self, _: Any, params: Any) -> types.ElicitResult:
        self.asked.append(params.message)
        return types.ElicitResult(action="accept", content={"name": "Ann"})

    async def roots(self, _: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri="file:///the/root")])

    async def log(self, params: types.LoggingMessageNotificationParams) -> None:
        self.logs.append(params)

    async def message(self, message: Any) -> None:
        self.heard.append(getattr(message, "method", "?"))

    def callbacks(self) -> dict[str, Any]:
        return {
            "sampling_callback": self.sampling,
            "elicitation_callback": self.elicitation,
            "list_roots_callback": self.roots,
            "logging_callback": self.log,
            "message_handler": self.message,
            "log_level": "info",
        }


Visit = Callable[[Client, Person, Place], Coroutine[Any, Any, None]]


async def structured_content(client: Client, _person: Person, place: Place) -> None:
    given = {"text": "ü\u0000\u2028", "data": {"deep": [1, 2.5, None, {"": True}]}}
    result = await client.call_tool("fix__echo", given)
    assert not result.is_error
    assert result.structured_content == given
    assert place.sent()[-1]["arguments"] == given


async def images_and_meta(client: Client, _person: Person, _place: Place) -> None:
    result = await client.call_tool("fix__image", {})
    image, audio, link, embedded = result.content
    assert (image.type, image.data, image.mime_type) == ("image", fixture_server.PIXEL, "image/png")
    assert (audio.type, audio.data) == ("audio", fixture_server.PIXEL)
    assert (link.type, str(link.uri)) == ("resource_link", fixture_server.NOTE)
    assert embedded.resource.text == "a note"
    assert result.meta is not None
    assert result.meta["fixture/extra"] == {"kept": True}


async def large_results(client: Client, _person: Person, _place: Place) -> None:
    result = await client.call_tool("fix__big", {"size": 8_000_000})
    assert text_of(result) == "x" * 8_000_000


async def meta_of_the_request(client: Client, _person: Person, _place: Place) -> None:
    result = await client.call_tool("fix__meta", {}, meta={"test/own": {"a": [1]}})
    assert json.loads(text_of(result)) == {"test/own": {"a": [1]}}


async def progress(client: Client, _person: Person, _place: Place) -> None:
    seen: list[tuple[float, float | None, str | None]] = []

    async def note(done: float, total: float | None, message: str | None) -> None:
        seen.append((done, total, message))

    await client.call_tool("fix__steps", {"count": 3}, progress_callback=note)
    await until(lambda: len(seen) == 3)
    assert sorted(seen) == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]


async def log_messages(client: Client, person: Person, _place: Place) -> None:
    if client.protocol_version != "2026-07-28":
        await client.session.set_logging_level("info")
    await client.call_tool("fix__log", {})
    await until(lambda: person.logs)
    assert [(log.level, log.data, log.logger) for log in person.logs] == [("warning", "logged", "fix/inner")]


async def sampling(client: Client, person: Person, _place: Place) -> None:
    result = await client.call_tool("fix__ask_model", {})
    assert "go on" in text_of(result), text_of(result)
    assert person.asked[-1] == "what now?"


async def elicitation_names_the_server(client: Client, person: Person, _place: Place) -> None:
    result = await client.call_tool("fix__ask_person", {})
    assert json.loads(text_of(result))["content"] == {"name": "Ann"}
    assert person.asked[-1] == "[fix] who are you?"


async def roots(client: Client, _person: Person, _place: Place) -> None:
    result = await client.call_tool("fix__ask_roots", {})
    assert json.loads(text_of(result))["roots"][0]["uri"] == "file:///the/root"


async def errors_of_tools(client: Client, _person: Person, place: Place) -> None:
    result = await client.call_tool("fix__fails", {})
    assert result.is_error
    assert text_of(result) == "it did not work"
    with pytest.raises(MCPError):
        await client.call_tool("fix__breaks", {})
    await until(lambda: place.ends()[-2:] == ["tool-error", "failed"])


async def resources(client: Client, _person: Person, place: Place) -> None:
    listed = (await client.list_resources()).resources
    assert [str(resource.uri) for resource in listed] == [fixture_server.NOTE, "file:///notes/a"]
    templates = (await client.list_resource_templates()).resource_templates
    assert [template.uri_template for template in templates] == ["fixture://note/{id}"]
    read = await client.read_resource("fixture://note/77")
    assert read.contents[0].text == "content of fixture://note/77"
    with pytest.raises(MCPError):
        await client.read_resource("file:///notes/a")
    assert [entry["resource"] for entry in place.sent() if "resource" in entry] == ["fixture://note/77"]


async def prompts_and_completions(client: Client, _person: Person, _place: Place) -> None:
    listed = (await client.list_prompts()).prompts
    assert [prompt.name for prompt in listed] == ["fix__greet"]
    prompt = await client.get_prompt("fix__greet", {"who": "Ann"})
    assert prompt.messages[0].content.text == "greet Ann"
    reference = types.PromptReference(name="fix__greet")
    found = await client.complete(reference, {"name": "who", "value": "ab"})
    assert found.completion.values == ["abab"]


async def cancellation(client: Client, _person: Person, place: Place) -> None:
    with anyio.move_on_after(0.5):
        await client.call_tool("fix__hang", {})
    await until(lambda: any("cancelled" in entry for entry in place.sent()))
    await until(lambda: any(record.get("status") == "cancelled" for record in place.records()))
    assert not (await client.call_tool("fix__echo", {})).is_error


VISITS: dict[str, Visit] = {
    visit.__name__: visit
    for visit in (
        structured_content,
        images_and_meta,
        large_results,
        meta_of_the_request,
        progress,
        log_messages,
        sampling,
        elicitation_names_the_server,
        roots,
        errors_of_tools,
        resources,
        prompts_and_completions,
        cancellation,
    )
}


@pytest.fixture(scope="module", params=PAIRS)
def outcomes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Pay all visits to one proxy, one after the other; keep what each came to."""
    mode, server = PAIRS[request.param]
    # Resources are allowed by their role, so a file elsewhere stays forbidden.
    place = Place(tmp_path_factory.mktemp("proxy"), {"fix": server}, *FREE[:-1])
    place.bundle = place.publish_with_notes()
    person = Person()
    visits = {name: partial(_with, visit, person) for name, visit in VISITS.items()}
    return visit_all(place, visits, mode=mode, **person.callbacks())


async def _with(visit: Visit, person: Person, client: Client, place: Place) -> None:
    await visit(client, person, place)


@pytest.mark.parametrize("visit", VISITS)
def test_passes_through(outcomes: dict[str, Any], visit: str) -> None:
    if visit in outcomes:
        raise outcomes[visit]


def test_tools_are_listed_under_their_servers_name(tmp_path: Path) -> None:
    place = Place(tmp_path, {"one": LEGACY, "two": MODERN})

    async def lists() -> list[types.Tool]:
        async with place.client("--no-approver", mode="auto") as client:
            return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in anyio.run(lists)}
    names = set(fixture_server.TOOLS)
    assert set(tools) == {f"one__{name}" for name in names} | {f"two__{name}" for name in names}
    assert tools["one__echo"].output_schema == {"type": "object"}
    assert tools["two__read"].description == "Reads a file."
