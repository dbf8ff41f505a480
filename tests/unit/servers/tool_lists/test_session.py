"""Reading a tool list without the SDK: the tools that its client reads, or none where it reads none."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio
import mcp.client.session
import pytest
from fixtures.listing_server import MANNERS
from mcp import Client
from mcp.client import ClientRequestContext
from mcp_types import ListRootsResult, version
from support.deployments.proxied import LONG

from ironcurtain.servers.server_process import ServerProcess, ServerStart
from ironcurtain.servers.stdio_transport import connect_pipes
from ironcurtain.servers.tool_lists import session as tool_list_session
from ironcurtain.servers.tool_lists.session import open_session
from ironcurtain.servers.tools import ListedServer, ToolListing

SERVER = Path(__file__).parents[3] / "fixtures" / "listing_server.py"
LISTED = {
    "plain": ["read"],
    "full": ["read"],
    "stateless": ["read"],
    "lists-old-versions": ["read"],
    "never-discovers": ["read"],
    "paged": ["first", "second"],
    "numbers-as-text": ["read"],
    "all-members": ["read"],
    "nonsense-beside": ["read"],
    "stateless-nonsense": ["read"],
    "asks": ["read"],
    "chatty": ["read"],
    "old-version": ["read"],
    "starts-late": ["read"],
}
LEFT_OUT = {
    "endless": 'tools/list names the cursor "more" a second time',
    "no-text": "the tool at place 1 is left out: name",
    "no-object": 'the tool "read" is left out: inputSchema.type',
    "no-schema": 'the tool "read" is left out: inputSchema',
    "no-list": "the tool at place 1 is left out",
}
FAILED = {
    "refuses": "no tools today",
    "unknown-version": "1999-01-01",
    "disjoint": "Unsupported",
    "names-nothing": "serverInfo",
    "offers-nonsense": "capabilities.tools",
    "ends": "closed the connection before it answered tools/list",
}
_MAX_PAGES = 100


def discovery_seconds(manner: str) -> float:
    """Return how long an answer is waited for: from whom one comes, as long as a busy machine needs."""
    return 0.5 if manner == "never-discovers" else LONG


async def started(manner: str) -> ServerProcess:
    return await ServerProcess.start(ServerStart(sys.executable, ["-I", str(SERVER), manner]))


async def read(manner: str) -> ListedServer:
    with anyio.fail_after(LONG):
        process, seconds = await started(manner), discovery_seconds(manner)
        async with open_session(process, lambda _: None, lambda _: None, seconds) as session:
            return await session.list_server()


async def _no_roots(context: ClientRequestContext) -> ListRootsResult:  # noqa: ARG001 - the SDK names it
    return ListRootsResult(roots=[])


async def read_by_sdk(manner: str) -> list[ToolListing]:
    streams = connect_pipes(await started(manner), lambda _: None, lambda _: None)
    tools: list[ToolListing] = []
    cursor = None
    with anyio.fail_after(LONG), pytest.MonkeyPatch.context() as patch:
        patch.setattr(mcp.client.session, "DISCOVER_TIMEOUT_SECONDS", discovery_seconds(manner))
        async with Client(streams, mode="auto", cache=None, list_roots_callback=_no_roots) as client:
            for _ in range(_MAX_PAGES):
                page = await client.list_tools(cursor=cursor)
                told = (tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in page.tools)
                tools += map(ToolListing.of, told)
                cursor = page.next_cursor
                if cursor is None:
                    return tools
    raise ValueError("endless")


def root_cause(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error)


def test_every_manner_is_tested() -> None:
    others = {"floods", "stateless-with-less"}
    assert LISTED.keys() | LEFT_OUT.keys() | FAILED.keys() | others == MANNERS.keys()


def test_while_a_server_floods_others_get_their_turns() -> None:
    async def visit() -> None:
        with anyio.fail_after(LONG):
            async with (
                open_session(await started("floods"), lambda _: None, lambda _: None) as session,
                anyio.create_task_group() as tasks,
            ):
                tasks.start_soon(session.list_server)
                for _ in range(100):
                    await anyio.sleep(0.01)
                tasks.cancel_scope.cancel()

    anyio.run(visit)


@pytest.mark.parametrize("manner", LISTED)
def test_the_same_tools_are_read_as_by_the_sdk(manner: str) -> None:
    ours = anyio.run(read, manner)
    assert [tool.name for tool in ours] == LISTED[manner]
    assert [*ours] == anyio.run(read_by_sdk, manner)


@pytest.mark.parametrize("manner", FAILED)
def test_what_the_sdk_refuses_is_refused(manner: str) -> None:
    with pytest.raises(Exception) as ours:  # noqa: PT011 - of several classes
        anyio.run(read, manner)
    assert FAILED[manner] in root_cause(ours.value)
    with pytest.raises(Exception):  # noqa: B017, PT011 - as above
        anyio.run(read_by_sdk, manner)


@pytest.mark.parametrize("manner", LEFT_OUT)
def test_a_bad_entry_or_a_bad_page_is_named_and_costs_itself(manner: str) -> None:
    server = anyio.run(read, manner)
    (problem,) = server.problems
    assert problem.startswith(LEFT_OUT[manner])
    assert [*server] == []


def test_lines_that_are_no_messages_are_named_once() -> None:
    (said,) = anyio.run(read, "chatty").problems
    assert said == 'it writes to its standard output what is no MCP message, which is ignored: "listing ..."'


def test_a_stateless_page_without_its_envelope_is_read() -> None:
    assert [tool.name for tool in anyio.run(read, "stateless-with-less")] == ["read"]


def test_the_versions_are_those_of_the_sdk() -> None:
    assert tool_list_session.STATELESS == version.MODERN_PROTOCOL_VERSIONS
    assert tool_list_session.HANDSHAKE == version.HANDSHAKE_PROTOCOL_VERSIONS
