"""The protocol's inspector as a client of the proxy, as a person would use it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from fixtures import fixture_server
from mcp import Client
from support.deployments.open_place import MODULES, listening, node, script
from support.deployments.proxied import MODERN, Place, until

NODE = node(20)
INSPECTOR = script("@modelcontextprotocol/inspector-cli", "")

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.skipif(NODE is None, reason="the inspector needs Node.js 20 or newer"),
    pytest.mark.skipif(not INSPECTOR.is_dir(), reason="the inspector is not installed (npm ci)"),
]


def laid_out(directory: Path) -> Path:
    """Copy the command line to where it lies within the inspector: it reads the package two levels above."""
    shutil.copytree(INSPECTOR / "build", directory / "cli" / "build")
    shutil.copy(INSPECTOR / "package.json", directory)
    (directory / "node_modules").symlink_to(MODULES)
    return directory / "cli" / "build" / "cli.js"


def inspect(program: Path, *arguments: str) -> Any:
    """Run the inspector's command line once; return what it printed."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(program.parent), "NO_PROXY": "*"}
    done = subprocess.run(
        [str(NODE), str(program), "--cli", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return laid_out(tmp_path_factory.mktemp("inspector"))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Place, str]]:
    place = Place(tmp_path_factory.mktemp("inspected"), {"fix": MODERN})
    with listening(place) as url:
        anyio.run(started, place, url)
        yield place, url


async def started(place: Place, url: str) -> None:
    """Wait until the server is up: the first client has it started."""
    async with Client(url, mode="legacy", cache=None):
        await until(lambda: place.is_up("fix"))


def test_lists(program: Path, served: tuple[Place, str]) -> None:
    _, url = served
    found = {
        what: inspect(program, url, "--transport", "http", "--method", f"{what}/list")[what]
        for what in ("tools", "resources", "prompts")
    }
    # Without anybody to ask, `remove` could never happen, but it is escalated and so it is shown.
    assert {tool["name"] for tool in found["tools"]} == {f"fix__{name}" for name in fixture_server.TOOLS}
    assert {resource["uri"] for resource in found["resources"]} == {fixture_server.NOTE, "file:///notes/a"}
    assert [prompt["name"] for prompt in found["prompts"]] == ["fix__greet"]


def test_calls_over_http(program: Path, served: tuple[Place, str]) -> None:
    _, url = served
    call = (url, "--transport", "http", "--method", "tools/call", "--tool-name")
    image = inspect(program, *call, "fix__image")
    assert image["content"][0] == {"type": "image", "data": fixture_server.PIXEL, "mimeType": "image/png"}
    refused = inspect(program, *call, "fix__read", "--tool-arg", "path=/etc/passwd")
    assert refused["isError"] is True
    assert "is not permitted" in refused["content"][0]["text"]


def test_call_over_stdio_from_a_clients_configuration(program: Path, tmp_path: Path) -> None:
    place = Place(tmp_path / "place")
    command, *arguments = place.command("--no-approver")
    client = tmp_path / "client.json"
    entry = {"command": command, "args": arguments, "env": place.environment()}
    client.write_text(json.dumps({"mcpServers": {"ironcurtain": entry}}))
    call = ("--method", "tools/call", "--tool-name", "fix__echo", "--tool-arg", "text=hello")
    echoed = inspect(program, "--config", str(client), "--server", "ironcurtain", *call)
    assert echoed["structuredContent"] == {"text": "hello"}
    assert [record["forwarded"] for record in place.decisions] == [True]
