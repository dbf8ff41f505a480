"""Servers that people use, each by itself and behind the proxy: the same lists, the same results."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from fixtures.conformance_server import PNG
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import SERVER_INFO_META_KEY
from pytest_httpserver import HTTPServer
from support.deployments.open_place import OpenPlace, python_server, script
from support.deployments.proxied import until

NODE_SERVERS = {
    "filesystem": script("@modelcontextprotocol/server-filesystem", "dist/index.js"),
    "git": script("@cyanheads/git-mcp-server", "dist/index.js"),
    "memory": script("@modelcontextprotocol/server-memory", "dist/index.js"),
    "everything": script("@modelcontextprotocol/server-everything", "dist/index.js"),
}
PYTHON_SERVERS = {"fetch": "mcp_server_fetch", "time": "mcp_server_time"}
DENIED = ("move_file", "git_reset", "delete_entities", "get-env")
HIDDEN = {"filesystem": "move_file", "git": "git_reset", "memory": "delete_entities", "everything": "get-env"}
PAGE = "<html><body><h1>Title</h1><p>Some text.</p></body></html>"


def installed() -> list[str]:
    """Return the servers that are installed here."""
    return [
        *(name for name, path in NODE_SERVERS.items() if path.is_file()),
        *(name for name, module in PYTHON_SERVERS.items() if find_spec(module) is not None),
    ]


pytestmark = pytest.mark.timeout(900)


class Real:
    """A directory to work in, and the servers on it."""

    def __init__(self, root: Path, web: str) -> None:
        self.root = root
        self.work = root / "work"
        self.work.mkdir(parents=True)
        (self.work / "note.txt").write_text("ä line\n")
        (self.work / "pixel.png").write_bytes(base64.b64decode(PNG))
        quiet = {"PATH": os.environ["PATH"], "HOME": str(root), "GIT_CONFIG_GLOBAL": os.devnull}
        subprocess.run(["git", "init", "-q", "."], cwd=self.work, env=quiet, check=True)
        memory = root / "memory.json"
        entity = {"type": "entity", "name": "Ann", "entityType": "person", "observations": ["kind"]}
        memory.write_text(json.dumps(entity) + "\n")
        self.configured = {name: self._server(name, quiet, memory) for name in installed()}
        self.web = web

    def _server(self, name: str, quiet: dict[str, str], memory: Path) -> dict[str, Any]:
        if name in PYTHON_SERVERS:
            server = python_server(PYTHON_SERVERS[name])
            more = {
                "fetch": ["--allow-private-ips", "--ignore-robots-txt"],
                "time": ["--local-timezone=UTC"],
            }
            return {**server, "args": [*server["args"], *more[name]]}
        own = {"git": {"MCP_TRANSPORT_TYPE": "stdio"}, "memory": {"MEMORY_FILE_PATH": str(memory)}}
        arguments = [str(self.work)] if name == "filesystem" else []
        return {
            "command": "node",
            "args": [str(NODE_SERVERS[name]), *arguments],
            "env": {**quiet, **own.get(name, {})},
        }

    def calls(self, server: str) -> list[tuple[str, dict[str, Any]]]:
        """Return calls that change nothing, and whose results are the same each time."""
        note, pixel = str(self.work / "note.txt"), str(self.work / "pixel.png")
        at_noon = {"source_timezone": "Asia/Kolkata", "time": "12:00", "target_timezone": "Asia/Tokyo"}
        calls: dict[str, list[tuple[str, dict[str, Any]]]] = {
            "filesystem": [("read_text_file", {"path": note}), ("read_media_file", {"path": pixel})],
            "git": [("git_status", {"path": str(self.work)})],
            "memory": [("read_graph", {}), ("search_nodes", {"query": "kind"})],
            "everything": [
                ("get-tiny-image", {}),
                ("get-structured-content", {"location": "Chicago"}),
                ("get-annotated-message", {"messageType": "error", "includeImage": True}),
                ("get-resource-links", {"count": 3}),
            ],
            "fetch": [("fetch", {"url": self.web})],
            "time": [("convert_time", at_noon)],
        }
        return calls[server]

    @asynccontextmanager
    async def directly(self, server: str) -> AsyncIterator[Client]:
        """Start a server without the proxy and connect to it."""
        started = StdioServerParameters(**self.configured[server], cwd=self.root)
        with (self.root / f"{server}-stderr").open("w") as stderr:
            async with Client(stdio_client(started, errlog=stderr), mode="legacy", cache=None) as client:
                yield client


def plain(result: Any) -> dict[str, Any]:
    """Return a result as JSON, without who answered."""
    dumped: dict[str, Any] = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    meta = {key: value for key, value in dumped.pop("_meta", {}).items() if key != SERVER_INFO_META_KEY}
    return {**dumped, "_meta": meta}


async def seen(client: Client, place: Real, server: str, prefix: str = "") -> Seen:
    """Return what a client sees of one server: its tools and the results of calls."""
    tools = [tool for tool in (await client.list_tools()).tools if tool.name.startswith(prefix)]
    calls = place.calls(server)
    results = [(name, plain(await client.call_tool(prefix + name, arguments))) for name, arguments in calls]
    return Seen(
        tools, {tool.name.removeprefix(prefix): {**plain(tool), "name": ""} for tool in tools}, results
    )


@dataclass(frozen=True)
class Seen:
    """What a client sees of a server: its tools, as JSON without their names, and results of calls."""

    listed: list[types.Tool]
    tools: dict[str, dict[str, Any]]
    results: list[tuple[str, dict[str, Any]]]


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    with HTTPServer() as server:
        server.expect_request("/page").respond_with_data(PAGE, content_type="text/html")
        yield server.url_for("/page")


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, web: str) -> dict[str, tuple[Seen, Seen]]:
    """Return what is seen of each server: without the proxy and through it."""
    place = Real(tmp_path_factory.mktemp("real").resolve() / "place", web)

    async def look() -> dict[str, tuple[Seen, Seen]]:
        without = {}
        for server in installed():
            async with place.directly(server) as client:
                without[server] = await seen(client, place, server)
        listed = {server: found.listed for server, found in without.items()}
        behind = OpenPlace(place.root / "proxy", place.configured, listed, denied=DENIED)
        async with behind.client("--no-approver") as proxy:
            await until(lambda: behind.is_up(*without))
            return {
                server: (found, await seen(proxy, place, server, f"{server}__"))
                for server, found in without.items()
            }

    return anyio.run(look)


@pytest.mark.parametrize("server", [*NODE_SERVERS, *PYTHON_SERVERS])
def test_same_tools_and_results(both: dict[str, tuple[Seen, Seen]], server: str) -> None:
    if server not in both:
        pytest.skip(f"the MCP server {server} is not installed")
    without, behind = both[server]
    expected = {name: tool for name, tool in without.tools.items() if name != HIDDEN.get(server)}
    assert behind.tools == expected
    for (name, result), (_, direct) in zip(behind.results, without.results, strict=True):
        assert not direct.get("isError"), (name, direct)
        assert result == direct, name
