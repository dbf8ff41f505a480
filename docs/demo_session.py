"""The second half of `make demo`: an MCP client behind `ironcurtain proxy`, and a person who is asked.

The client is this script, and no model; it speaks MCP as any client does. It calls the real file server three
times: one call is allowed, one is denied, and for one a person is asked, in whose place the script types what
a person would. Everything lies in `.cache/demo`, which `demo.sh` makes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import TextContent

from ironcurtain.enforcement.sandbox.programs import survey

SERVER = "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"
WORK = ".cache/demo"
PLACE = Path(WORK).resolve()
SECONDS = 120


def say(text: str = "") -> None:
    """Print a line."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def write_servers() -> str:
    """Write the configuration of the file server; say so where this machine cannot contain it."""
    document: dict[str, Any] = {
        "mcpServers": {"filesystem": {"command": "node", "args": [str(Path(SERVER).resolve())]}}
    }
    missing = survey().missing
    if missing:
        document["sandbox"] = {"policy": "warn"}
        say(f"NOT CONTAINED: this machine cannot contain servers ({', '.join(missing)}).")
        say(
            "The proxy starts none on it, unless its configuration says otherwise, as that of this demo does:"
        )
        say(f"  {json.dumps({'sandbox': document['sandbox']})}")
        say("Calls are decided all the same, but what the server's own code does is held by nothing.")
    else:
        say("The file server runs contained: it reaches what the rules allow, and nothing else.")
    file = f"{WORK}/mcp-servers.json"
    Path(file).write_text(json.dumps(document, indent=2) + "\n")
    return file


async def call(client: Client, tool: str, arguments: dict[str, str]) -> None:
    """Make a call, and print it with the answer that the agent gets."""
    say(f"the agent calls {tool} {json.dumps(arguments)}")
    result = await client.call_tool(f"filesystem__{tool}", arguments)
    answer = "\n".join(block.text for block in result.content if isinstance(block, TextContent)).strip()
    say("  it is refused:" if result.is_error else "  it is done:")
    say("\n".join(f"    | {line}" for line in answer.splitlines()) + "\n")


async def typed(environment: dict[str, str], *words: str) -> None:
    """Run a command of `ironcurtain approvals`, as a person does in a second terminal."""
    say(f"$ HOME=$PWD/{WORK}/home ironcurtain approvals {' '.join(words)}")
    command = [sys.executable, "-m", "ironcurtain", "approvals", *words]
    ended = await to_thread.run_sync(
        lambda: subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    )
    say("\n".join(f"  {line}" for line in (ended.stdout + ended.stderr).splitlines()))


async def answer(home: Path, environment: dict[str, str]) -> None:
    """Approve the one call that waits, when it waits."""
    place = home / ".ironcurtain" / "approvals"
    while not (found := [*place.glob("request-*.json")]):  # noqa: ASYNC110 - another program writes it
        await anyio.sleep(0.1)
    say(
        "  The call waits. A person reads it in a terminal of their own with `ironcurtain approvals --watch`,"
    )
    say("  and types `approve` or `deny` there. Nobody sits here, so this demo answers in their place:")
    id_ = found[0].stem.removeprefix("request-")
    await typed(environment, "list")
    await typed(environment, "approve", id_, "--yes")


async def session() -> None:
    """Start the proxy, make the calls, and end it."""
    home, sandbox = PLACE / "home", PLACE / "sandbox"
    kept = {
        name: os.environ[name]
        for name in ("PATH", "LANG", "PYTHONPATH", "XDG_CACHE_HOME")
        if name in os.environ
    }
    environment = {**kept, "HOME": str(home)}
    options = ["--bundle", "generated/bundle", "--servers", write_servers(), "--sandbox", f"{WORK}/sandbox"]
    say(f"\n$ HOME=$PWD/{WORK}/home ironcurtain proxy {' '.join(options)}\n")
    arguments = ["-m", "ironcurtain", "proxy", *options, "--patience", str(SECONDS)]
    proxy = StdioServerParameters(command=sys.executable, args=arguments, env=environment)
    with (PLACE / "proxy.log").open("w+") as log:
        try:
            with anyio.fail_after(SECONDS):
                async with Client(stdio_client(proxy, errlog=log), cache=None) as client:
                    await call(client, "read_text_file", {"path": f"{sandbox}/notes.txt"})
                    moved = {"source": f"{home}/Documents/will.txt", "destination": f"{sandbox}/will.txt"}
                    await call(client, "move_file", moved)
                    async with anyio.create_task_group() as tasks:
                        tasks.start_soon(answer, home, environment)
                        await call(client, "read_text_file", {"path": f"{home}/Desktop/plan.txt"})
        except BaseException:
            log.seek(0)
            sys.stderr.write(log.read())
            raise


if __name__ == "__main__":
    anyio.run(session)
