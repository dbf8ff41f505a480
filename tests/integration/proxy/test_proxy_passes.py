"""What is allowed works through the proxy as without it, in every pairing of the two protocol eras."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import anyio
import mcp_types as types
import pytest
from fixtures import fixture_server
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from support.deployments.proxied import LEGACY, MODERN, Place, request_meta, text_of, until, visit_all

pytestmark = pytest.mark.timeout(900)

FREE = ("mcp/sampling", "mcp/elicitation", "mcp/prompts-get", "mcp/complete", "mcp/resources-read")
CLIENTS = {"legacy client": "legacy", "modern client": "auto"}
SERVERS = {"old": [*LEGACY, "--notes", "old"], "new": [*MODERN, "--notes", "new"]}


class Person:
    """The client's side: a model, a person, roots; and what was heard."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.forms: list[Any] = []
        self.logs: list[types.LoggingMessageNotificationParams] = []
        self.heard: list[str] = []

    async def sampling(self, _: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        said = params.messages[0].content
        assert isinstance(said, types.TextContent)
        self.asked.append(said.text)
        return types.CreateMessageResult(role="assistant", model="m", content=types.TextContent(text="go on"))

    async def elicitation(self, _: Any, params: Any) -> types.ElicitResult:
        self.asked.append(params.message)
        self.forms.append((params.meta or {}).get("test/form"))
        content = {"name": "Ann"} if "who are you?" in params.message else {"answer": "approved"}
        return types.ElicitResult(action="accept", content=content)

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


Visit = Callable[[Client, Person, Place, str], Coroutine[Any, Any, None]]


def last_arguments(place: Place) -> Any:
    """Return the arguments of the last call that a server was sent; it writes down other messages, too."""
    return [entry["arguments"] for entry in place.sent() if "arguments" in entry][-1]


async def structured_content(client: Client, _person: Person, place: Place, at: str) -> None:
    given = {"text": "ü\u0000\u2028", "data": {"deep": [1, 2.5, None, {"": True}]}}
    result = await client.call_tool(f"{at}__echo", given)
    assert not result.is_error
    assert result.structured_content == given
    assert last_arguments(place) == given


async def images_and_meta(client: Client, _person: Person, _place: Place, at: str) -> None:
    result = await client.call_tool(f"{at}__image", {})
    image, audio, link, embedded = result.content
    assert isinstance(image, types.ImageContent)
    assert (image.data, image.mime_type) == (fixture_server.PIXEL, "image/png")
    assert isinstance(audio, types.AudioContent)
    assert audio.data == fixture_server.PIXEL
    assert isinstance(link, types.ResourceLink)
    assert str(link.uri) == f"fixture://{at}/1"
    assert isinstance(embedded, types.EmbeddedResource)
    assert isinstance(embedded.resource, types.TextResourceContents)
    assert embedded.resource.text == "a note"
    assert result.meta is not None
    assert result.meta["fixture/extra"] == {"kept": True}


async def large_results(client: Client, _person: Person, _place: Place, at: str) -> None:
    result = await client.call_tool(f"{at}__big", {"size": 8_000_000})
    assert text_of(result) == "x" * 8_000_000


async def meta_of_the_request(client: Client, _person: Person, _place: Place, at: str) -> None:
    trace = {"traceparent": f"00-{'a' * 32}-{'b' * 16}-01", "tracestate": "a=1", "baggage": "k=v"}
    passed = {"test/own": {"a": [1]}, **trace}
    result = await client.call_tool(f"{at}__meta", {}, meta=request_meta({**passed, "test/other": 1}))
    assert json.loads(text_of(result)) == passed


async def progress(client: Client, _person: Person, _place: Place, at: str) -> None:
    seen: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total, message))

    await client.call_tool(f"{at}__steps", {"count": 3}, progress_callback=note)
    await until(lambda: len(seen) == 3)
    assert sorted(seen) == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]


async def log_messages(client: Client, person: Person, _place: Place, at: str) -> None:
    if client.protocol_version != "2026-07-28":
        await client.session.set_logging_level("info")
    await client.call_tool(f"{at}__log", {})
    logger = f"{at}/inner"
    await until(lambda: any(log.logger == logger for log in person.logs))
    assert [(log.level, log.data) for log in person.logs if log.logger == logger] == [("warning", "logged")]


async def sampling(client: Client, person: Person, _place: Place, at: str) -> None:
    result = await client.call_tool(f"{at}__ask_model", {})
    assert "go on" in text_of(result), text_of(result)
    assert person.asked[-1] == "what now?"


async def elicitation_names_the_server(client: Client, person: Person, place: Place, at: str) -> None:
    result = await client.call_tool(f"{at}__ask_person", {})
    assert json.loads(text_of(result))["content"] == {"name": "Ann"}
    assert person.asked[-1] == f"[{at}] who are you?"
    # Questions of the stateless protocol have no `_meta`.
    form = {"wide": True} if at == "old" else None
    assert place.decisions[-1]["meta"].get("test/form") == form
    assert person.forms[-1] == (form if client.session.protocol_version == LATEST_HANDSHAKE_VERSION else None)


async def roots(client: Client, _person: Person, _place: Place, at: str) -> None:
    result = await client.call_tool(f"{at}__ask_roots", {})
    assert json.loads(text_of(result))["roots"][0]["uri"] == "file:///the/root"


async def the_person_at_the_client_approves(client: Client, person: Person, place: Place, at: str) -> None:
    given = {"path": f"{place.home}/{at}"}
    result = await client.call_tool(f"{at}__remove", given)
    assert not result.is_error, text_of(result)
    assert f"{place.home}/{at}" in re.sub(r"\n    : ", "", person.asked[-1])
    assert last_arguments(place) == given
    assert place.decisions[-1]["approval"]["approver"] == "the person at the client"


async def errors_of_tools(client: Client, _person: Person, place: Place, at: str) -> None:
    before = Counter(place.ends())
    result = await client.call_tool(f"{at}__fails", {})
    assert result.is_error
    assert text_of(result) == "it did not work"
    with pytest.raises(MCPError):
        await client.call_tool(f"{at}__breaks", {})
    failed = {"tool-error": 1, "failed": 1}
    await until(lambda: Counter(each for each in place.ends() if each != "ok") - before == failed)


async def resources(client: Client, _person: Person, place: Place, at: str) -> None:
    listed = [str(resource.uri) for resource in (await client.list_resources()).resources]
    assert listed == [
        uri for name in sorted(SERVERS) for uri in (f"fixture://{name}/1", f"file:///{name}s/a")
    ]
    templates = (await client.list_resource_templates()).resource_templates
    assert [each.uri_template for each in templates] == [
        f"fixture://{name}/{{id}}" for name in sorted(SERVERS)
    ]
    read = await client.read_resource(f"fixture://{at}/77")
    (content,) = read.contents
    assert isinstance(content, types.TextResourceContents)
    assert content.text == f"content of fixture://{at}/77"
    with pytest.raises(MCPError):
        await client.read_resource(f"file:///{at}s/a")
    asked = [entry["resource"] for entry in place.sent() if "resource" in entry]
    assert asked.count(f"fixture://{at}/77") == 1
    assert not any(uri.startswith("file:") for uri in asked)


async def prompts_and_completions(client: Client, _person: Person, _place: Place, at: str) -> None:
    listed = (await client.list_prompts()).prompts
    assert [prompt.name for prompt in listed] == [f"{name}__greet" for name in sorted(SERVERS)]
    prompt = await client.get_prompt(f"{at}__greet", {"who": "Ann"})
    said = prompt.messages[0].content
    assert isinstance(said, types.TextContent)
    assert said.text == "greet Ann"
    reference = types.PromptReference(name=f"{at}__greet")
    found = await client.complete(reference, {"name": "who", "value": "ab"})
    assert found.completion.values == ["abab"]


async def cancellation(client: Client, _person: Person, place: Place, at: str) -> None:
    sent, ended = len(place.sent()), place.ends().count("cancelled")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.call_tool, f"{at}__hang", {})
        await until(lambda: len(place.sent()) > sent)
        tasks.cancel_scope.cancel()
    await until(lambda: any("cancelled" in entry for entry in place.sent()[sent:]))
    await until(lambda: place.ends().count("cancelled") == ended + 1)
    assert not (await client.call_tool(f"{at}__echo", {})).is_error


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
        the_person_at_the_client_approves,
        errors_of_tools,
        resources,
        prompts_and_completions,
        cancellation,
    )
}


@pytest.fixture(scope="module", params=CLIENTS)
def outcomes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Pay all visits to one proxy in front of servers of both eras; keep what each came to."""
    # Resources are allowed by their role, so a file elsewhere stays forbidden.
    place = Place(tmp_path_factory.mktemp("proxy"), SERVERS, *FREE[:-1])
    place.configure(passMeta=["test/own"])
    place.bundle = place.publish_with_notes(*(f"fixture://{name}/77" for name in SERVERS))
    person = Person()
    visits = {
        f"{name} at {server}": partial(_with, visit, person, server)
        for name, visit in VISITS.items()
        for server in SERVERS
    }
    options = ("--trust-client", "--patience", "3000")
    return visit_all(place, visits, *options, mode=CLIENTS[request.param], up=SERVERS, **person.callbacks())


async def _with(visit: Visit, person: Person, server: str, client: Client, place: Place) -> None:
    await visit(client, person, place, server)


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("visit", VISITS)
def test_passes_through(outcomes: dict[str, Any], visit: str, server: str) -> None:
    if error := outcomes.get(f"{visit} at {server}"):
        raise error
