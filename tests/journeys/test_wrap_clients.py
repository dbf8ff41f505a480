"""A desktop client and an editor with npx and uvx servers: tests/journeys/wrap-clients.md."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from support.deployments.proxied import text_of, until
from support.deployments.wrapped import read_as_an_editor
from support.machines.contained import NEEDS_SANDBOX
from support.machines.journey import Journey
from support.projects.policies import rule, tool, write_bundle
from support.services.registry import NEEDS_NPM, TOOL, Packages

from ironcurtain.servers.tools import ToolListing, tool_digest

SAID = """\
A desktop client and an editor have servers as their makers tell people to write them: `npx -y …` and `uvx …`.
The policy in `policy.tar.gz` allows what `js` and `py` tell. Whatever a client starts is started as it does
that: with `HOME`, and what its entry says."""
DESKTOP = ".config/Claude/claude_desktop_config.json"
EDITOR = "site/.vscode/mcp.json"
JS = {"command": "npx", "args": ["-y", "@tests/teller", "from npm"]}
PY = {"command": "uvx", "args": ["py-teller", "from python"]}
MCP_JSON = """\
{
  // what this site's agent needs
  "servers": {
    "py": {"type": "stdio", "command": "uvx", "args": ["py-teller", "in ${workspaceFolder}"]},
  },
}
"""
OPTIONS = "--bundle ~/policy.tar.gz --sandbox ~/work"


@NEEDS_NPM
@NEEDS_SANDBOX
def test_wrapping_a_desktop_client_and_an_editor(
    journey: Callable[..., Journey], packages: Packages, tmp_path: Path
) -> None:
    you = journey("wrap-clients", "A desktop client and an editor", SAID, **packages.environment)
    (you.home / "work").mkdir()
    publish(you, tmp_path)
    you.write(DESKTOP, json.dumps({"mcpServers": {"js": JS, "py": PY}}, indent=2))
    you.write(EDITOR, MCP_JSON)
    before = (you.read(DESKTOP), you.read(EDITOR))
    you.say("The desktop client")
    you.type(f"cat {DESKTOP}")
    you.type(f"ironcurtain wrap claude-desktop {OPTIONS} --dry-run")
    you.type(f"ironcurtain wrap claude-desktop {OPTIONS} --yes -- --no-approver")
    you.say(
        "The editor",
        "Its file lies in a project, has comments, and names the project as only an editor does.",
    )
    you.go("site")
    you.type("cat .vscode/mcp.json")
    you.type(f"ironcurtain wrap vscode {OPTIONS} --yes -- --no-approver")
    you.type("cat .vscode/mcp.json")
    packages.npm.close()  # what runs is what was installed
    you.say("Used", "Both are started again. Each calls `tell` of each of its servers.")
    desktop = json.loads(you.read(f"../{DESKTOP}"))["mcpServers"]["ironcurtain"]
    (editor,) = read_as_an_editor([you.read(".vscode/mcp.json")])
    told = anyio.run(use, you, tmp_path / "stderr", [desktop, editor["value"]["servers"]["ironcurtain"]])
    assert told == {
        "js__tell": "@tests/teller 1.0.0 from npm",
        "py__tell": f"py-teller 1.0.0 in {you.here}",
    }
    you.say("Is all well?")
    you.type("ironcurtain doctor 2> /dev/null | grep client/")
    you.say("And back")
    you.type("ironcurtain unwrap vscode")
    you.go("..")
    you.type("ironcurtain unwrap claude-desktop")
    assert (you.read(DESKTOP), you.read(EDITOR)) == before
    you.transcript.check()


def publish(you: Journey, root: Path) -> None:
    """Put the policy there that allows the tool of both servers."""
    listed = ToolListing.of(TOOL)
    schema = {"schema_digest": tool_digest(listed), "input_schema": listed.input_schema}
    known = {name: [{**tool("tell"), **schema}] for name in ("js", "py")}
    write_bundle(root, known, [rule("telling", "allow", tool=["tell"])]).rename(you.home / "policy.tar.gz")


def is_up(log: Path, servers: int) -> bool:
    """Tell whether the proxy that writes to a log has all its servers."""
    return log.read_text().count(", protocol ") == servers


async def use(you: Journey, log: Path, entries: list[dict[str, Any]]) -> dict[str, str]:
    """Start what each client starts, write down what its tools answer, and return that by tool."""
    found: dict[str, str] = {}
    for entry, count in zip(entries, (2, 1), strict=True):
        small = {"HOME": str(you.home), **entry["env"]}
        started = StdioServerParameters(command=entry["command"], args=entry["args"], env=small, cwd="/")
        with anyio.fail_after(200), log.open("w") as stderr:
            async with Client(stdio_client(started, errlog=stderr), mode="legacy", cache=None) as client:
                await until(partial(is_up, log, count))
                names = sorted(each.name for each in (await client.list_tools()).tools)
                for name in names:
                    found[name] = text_of(await client.call_tool(name, {}))
                    await to_thread.run_sync(you.shows, f"{name} {{}}\n-> {found[name]}")
    return found
