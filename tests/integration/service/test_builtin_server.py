"""A client's built-in tools as a server: annotated without a question, and left alone by the proxy."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest
from e2e.program import program
from support.deployments.proxied import Place

pytestmark = pytest.mark.timeout(900)
BUILT_IN = {"builtin": "claude-code"}


def test_they_are_annotated_without_a_question(tmp_path: Path) -> None:
    (tmp_path / "mcp-servers.json").write_text(json.dumps({"mcpServers": {"claude-code": BUILT_IN}}))
    (tmp_path / "ironcurtain.toml").write_text('model = "manual"\n')
    ended = program("annotate", "--locked", "--format", "json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    tools = {tool["tool"]: tool for tool in json.loads(ended.out)["servers"]["claude-code"]["tools"]}
    roles = {arg["name"]: arg["roles"] for arg in tools["Edit"]["args"]}
    assert roles["file_path"] == ["read-path", "write-path"]
    assert {tool["source"]["kind"] for tool in tools.values()} == {"shipped"}


def test_the_proxy_leaves_them_alone(tmp_path: Path) -> None:
    place = Place(tmp_path)
    document = json.loads(place.servers.read_text())
    document["mcpServers"]["claude-code"] = BUILT_IN
    place.servers.write_text(json.dumps(document))

    async def names() -> set[str]:
        async with place.client() as client:
            return {tool.name for tool in (await client.list_tools()).tools}

    found = anyio.run(names)
    assert "fix__echo" in found
    assert not any(name.startswith("claude-code") for name in found)
