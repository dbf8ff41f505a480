"""Servers that people use do their work inside the default sandbox, and nothing is reported of them."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

from mcp import Client
from support.deployments.support_desk import text_of
from support.machines.contained import NEEDS_SANDBOX, Scene

from ironcurtain.enforcement.sandbox.launcher import SandboxLauncher
from ironcurtain.enforcement.sandbox.report import Observation
from ironcurtain.servers.config import ServerConfig
from ironcurtain.servers.config_model import Server
from ironcurtain.servers.connect import parameters
from ironcurtain.servers.stdio_transport import connect_pipes
from ironcurtain.system.structs import replace

MODULES = Path(__file__).parents[3] / "node_modules"
AUTHOR = ('Some \\ "Body" # one', "somebody@example.com")


def stories(
    scene: Scene,
) -> dict[str, tuple[str, dict[str, str], list[str], list[tuple[str, dict[str, Any]]]]]:
    """Return, for each server: its program, environment, arguments, and the calls of its normal work."""
    note, repository, graph = scene.inside / "note", str(scene.repository), scene.inside / "graph.jsonl"
    entity = {"name": "a", "entityType": "b", "observations": ["c"]}
    return {
        "filesystem": (
            "@modelcontextprotocol/server-filesystem/dist/index.js",
            {},
            [str(scene.inside)],
            [
                ("write_file", {"path": str(note), "content": "hello"}),
                ("move_file", {"source": str(note), "destination": f"{note}.txt"}),
                ("read_text_file", {"path": f"{note}.txt"}),
            ],
        ),
        "git": (
            "@cyanheads/git-mcp-server/dist/index.js",
            {"MCP_TRANSPORT_TYPE": "stdio", "GIT_SIGN_COMMITS": "false"},
            [],
            [
                ("git_add", {"path": repository, "all": True}),
                ("git_commit", {"path": repository, "message": "one"}),
                ("git_log", {"path": repository}),
            ],
        ),
        "memory": (
            "@modelcontextprotocol/server-memory/dist/index.js",
            {"MEMORY_FILE_PATH": str(graph)},
            [],
            [("create_entities", {"entities": [entity]}), ("read_graph", {})],
        ),
    }


@NEEDS_SANDBOX
def test_real_servers_work_contained(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "scene")
    (scene.repository / "file").write_text("content")
    told = stories(scene)
    servers = {
        name: Server.model_validate_json(
            json.dumps({"command": "node", "args": [str(MODULES / program), *words], "env": env})
        )
        for name, (program, env, words, _) in told.items()
    }
    config = ServerConfig(tmp_path / "mcp-servers.json", servers)
    own = scene.home / ".gitconfig"
    for key, value in zip(("name", "email"), AUTHOR, strict=True):
        subprocess.run(["git", "config", "--file", str(own), f"user.{key}", value], check=True)
    inputs = replace(scene.grounds(config), data=lambda name: scene.home / ".ironcurtain" / "data" / name)
    launcher = SandboxLauncher.open(config, inputs)
    seen: dict[str, list[Observation]] = {name: [] for name in told}

    async def tell(name: str, one: Observation) -> None:
        seen[name].append(one)

    async def work(name: str) -> list[str]:
        start = parameters(name, config)
        streams = launcher.connect(
            name,
            start,
            on_words=lambda _: None,
            on_end=lambda _: None,
            tell=tell,
            opened=connect_pipes,
        )
        answers = []
        async with Client(streams, mode="auto", cache=None) as client:
            for tool, arguments in told[name][-1]:
                result = await client.call_tool(tool, arguments)
                answers.append(text_of(result))
                assert not result.is_error, answers[-1]
            assert launcher.state(name).isolation == "bubblewrap"
        return answers

    async def all_of_them() -> list[list[str]]:
        return await asyncio.gather(*map(work, told))

    last = dict(zip(told, (answers[-1] for answers in asyncio.run(all_of_them())), strict=True))
    assert "hello" in last["filesystem"]
    assert "somebody@example.com" in last["git"]
    shown = ["git", "-C", str(scene.repository), "log", "--format=%an\n%ae\n%cn\n%ce"]
    assert subprocess.check_output(shown, text=True).splitlines() == [*AUTHOR, *AUTHOR]
    assert '"entityType": "b"' in last["memory"]
    assert all([one.kind for one in each] == ["observed"] for each in seen.values()), seen
