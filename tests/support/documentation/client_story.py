"""The story of the transcript wrapped-client: a desktop client's servers behind the proxy, and back."""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
from anyio import to_thread
from fixtures import drifting_server
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from ironcurtain.engine.locate import find
from ironcurtain.servers.tools import ToolListing, tool_digest
from support.deployments.proxied import text_of, until
from support.documentation.transcript import ROOT, Transcript
from support.documents import object_at
from support.people.terminal import in_terminal
from support.projects.policies import rule, tool, write_bundle

NODE = ROOT / "node_modules" / "@modelcontextprotocol"
DRIFTING = Path(drifting_server.__file__)
CONFIGURATION = """\
{
  "globalShortcut": "Alt+Space",
  "mcpServers": {
    "filesystem": {
      "command": "node",
      "args": ["MODULES/server-filesystem/dist/index.js", "HOME/work"]
    },
    "memory": {
      "command": "node",
      "args": ["MODULES/server-memory/dist/index.js"],
      "env": {"MEMORY_FILE_PATH": "HOME/memory.jsonl"}
    },
    "notes": {
      "command": "PYTHON",
      "args": ["NOTES", "HOME/words"],
      "x-added-by": "notes.example.com"
    }
  },
  "preferences": {"sidebarMode": "chat", "launchAtLogin": true}
}
"""
SERVERS = 3
WRAP = (
    "ironcurtain wrap claude-desktop --bundle ~/policy/bundle.tar.gz --sandbox ~/work "
    "-- --session desk --no-approver"
)
CONTAINED = "What a server does by itself"
ROLES = {"read_note": ["read-path"]}
_SETTLED = (
    (re.compile(r"sha256:[0-9a-f…]+"), "sha256:…"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z| UTC|\+00:00)?"), "TIME"),
    (re.compile(r"(clients/[A-Za-z-]+-json)-[0-9a-f]{12}/[0-9a-f]{12}/"), r"\1-FILE/WRAP/"),
    (re.compile(r"\b[0-9a-f]{32}\b"), "NUMBER"),
    (re.compile(r"\b[0-9a-f]{16}\b"), "ID"),
)


class Story:
    """Runs commands in a terminal and a client as a desktop starts it, and writes down what both see."""

    def __init__(self, root: Path, transcript: Transcript, *, contained: bool) -> None:
        self.root, self.transcript, self.contained = root, transcript, contained
        self.home = root / "you"
        self.config = self.home / ".config" / "Claude" / "claude_desktop_config.json"
        self.words = self.home / "words"
        self._stderr = root / "stderr"
        self._programs = root / "bin"
        for directory in (self._programs, self.home / "work", self.home / "policy", self.config.parent):
            directory.mkdir(parents=True)
        program = self._programs / "ironcurtain"
        program.write_text(f"#!{sys.executable} -I\nfrom ironcurtain.cli.main import main\nmain()\n")
        program.chmod(0o755)
        places = {"MODULES": NODE, "HOME": self.home, "PYTHON": sys.executable, "NOTES": DRIFTING}
        written = CONFIGURATION
        for name, place in places.items():
            written = written.replace(name, str(place))
        self.config.write_text(written)

    @property
    def _path(self) -> str:
        return f"{self._programs}{os.pathsep}{os.environ['PATH']}"

    def run(self, command: str, code: int = 0) -> None:
        """Run a command line in the terminal, in the home directory."""
        environment = {"PATH": self._path, "HOME": str(self.home), "LANG": "C.UTF-8", "TERM": "dumb"}
        ended, printed = in_terminal(["bash", "-c", command], self.home, environment)
        assert ended == code, (command, printed)
        end = f"[exit {code}]\n" if code else ""
        self.transcript.show(self._settled(f"$ {command}\n{printed}{end}"), "console")

    async def terminal(self, command: str, code: int = 0) -> None:
        """Run a command line in the terminal while the client runs."""
        await to_thread.run_sync(self.run, command, code)

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        """Start what the configuration says, with what a desktop client has, and wait for all its servers."""
        servers = json.loads(self.config.read_text())["mcpServers"]
        (entry,) = servers.values()
        small = {"HOME": str(self.home), "USER": "you", "SHELL": "/bin/sh", "PATH": "/usr/bin:/bin"}
        started = StdioServerParameters(
            command=entry["command"], args=entry["args"], env={**small, **entry["env"]}, cwd="/"
        )
        with self._stderr.open("w") as said:
            async with Client(stdio_client(started, errlog=said), mode="legacy", cache=None) as client:
                await until(lambda: len(re.findall(r" tools?, protocol ", self.said)) == SERVERS)
                yield client

    @property
    def said(self) -> str:
        """What the proxy wrote to its standard error."""
        return self._stderr.read_text()

    async def call(self, client: Client, name: str, arguments: dict[str, Any]) -> None:
        """Call a tool and write down what the agent sees."""
        result = await client.call_tool(name, arguments)
        kind = "error" if result.is_error else "result"
        written = json.dumps(arguments).replace(str(self.home), "~")
        shown = f"{name} {written}\n-> {kind}: {text_of(result).strip()}"
        self.transcript.show(self._settled(shown))

    def publish(self, listed: dict[str, list[ToolListing]]) -> None:
        """Put the bundle there that a compile would publish for the servers' tools as they are listed."""
        shipped = json.loads((ROOT / "generated" / "tool-annotations.json").read_text())["servers"]
        servers = {"filesystem": shipped["filesystem"]["tools"]}
        for name, tools in listed.items():
            servers[name] = [_annotated(each) for each in tools]
        within = {"roles": ["read-path"], "within": ["~/work"]}
        made = [
            rule("filesystem-allow-list", "allow", server=["filesystem"], tool=["list_allowed_directories"]),
            rule("memory-allow", "allow", server=["memory"]),
            rule("notes-allow-read", "allow", server=["notes"], paths=within),
            rule("notes-allow-tags", "allow", server=["notes"], tool=["list_tags"]),
        ]
        scratch = self.root / "scratch"
        scratch.mkdir(exist_ok=True)
        write_bundle(scratch, servers, made).replace(self.home / "policy" / "bundle.tar.gz")

    @contextmanager
    def servers_that_can_start(self) -> Iterator[None]:
        """Let the servers run uncontained for as long, if this machine has no sandbox."""
        (path,) = (self.home / ".ironcurtain" / "clients").glob("*/*/mcp-servers.json")
        wrapped = path.read_bytes()
        if not self.contained:
            path.write_text(json.dumps({**json.loads(wrapped), "sandbox": {"policy": "skip"}}))
        yield
        path.write_bytes(wrapped)

    def _settled(self, text: str) -> str:
        known = {
            self._path: "SEARCH-PATH",
            str(self._programs): "/opt/ironcurtain/bin",
            str(self.home): "/home/you",
            str(DRIFTING): "CHECKOUT/tests/fixtures/drifting_server.py",
            str(find().path): "OPA",
            sys.executable: "PYTHON",
            str(ROOT): "CHECKOUT",
        }
        for place, name in known.items():
            text = text.replace(place, name)
        for pattern, instead in _SETTLED:
            text = pattern.sub(instead, text)
        return text


def _annotated(listed: ToolListing) -> dict[str, Any]:
    own = ROLES.get(listed.name, ["none"])
    roles: dict[str, Any] = dict.fromkeys(object_at(listed.input_schema.get("properties", {})), own)
    made = tool(listed.name, contained=listed.name in ROLES, **roles)
    return {**made, "schema_digest": tool_digest(listed), "input_schema": listed.input_schema}


def of_sdk(tools: Sequence[types.Tool]) -> list[ToolListing]:
    """Return tools as IronCurtain reads them."""
    return [
        ToolListing(name=each.name, description=each.description or "", input_schema=each.input_schema)
        for each in tools
    ]


async def _listed_memory() -> list[ToolListing]:
    server = StdioServerParameters(command="node", args=[str(NODE / "server-memory" / "dist" / "index.js")])
    async with Client(stdio_client(server), mode="legacy", cache=None) as client:
        return of_sdk((await client.list_tools()).tools)


async def tell(story: Story) -> None:
    """Run the whole story."""
    say = story.transcript.say
    memory = await _listed_memory()
    story.publish({"memory": memory, "notes": of_sdk(drifting_server.listed(set()))})
    (story.home / "work" / "plan.txt").write_text("Ship on Friday.\n")
    (story.home / "taxes.txt").write_text("secret\n")
    say("The configuration, as the client wrote it")
    await story.terminal("cp .config/Claude/claude_desktop_config.json before.json; cat before.json")
    say("Wrapped")
    await story.terminal(WRAP.replace(" -- ", " --dry-run -- "))
    await story.terminal(WRAP.replace(" -- ", " --yes -- "))
    with story.servers_that_can_start():
        say("Used", "The client starts again. Its agent sees the servers' tools and calls some.")
        async with story.client() as client:
            await _used(story, client)
        said = "The server `notes` is updated: an argument has another name, and a description gives orders."
        say("Drifted", said)
        story.words.write_text("renamed told")
        async with story.client() as client:
            await _drifted(story, client, memory)
    say("Unwrapped")
    await story.terminal("ironcurtain unwrap claude-desktop")
    await story.terminal("cmp before.json .config/Claude/claude_desktop_config.json && echo the same bytes")


async def _used(story: Story, client: Client) -> None:
    tools = Counter(each.name.partition("__")[0] for each in (await client.list_tools()).tools)
    story.transcript.show("\n".join(f"{name}: {tools[name]} tools" for name in sorted(tools)))
    await story.call(client, "filesystem__read_text_file", {"path": f"{story.home}/work/plan.txt"})
    await story.call(client, "filesystem__read_text_file", {"path": f"{story.home}/taxes.txt"})
    if story.contained:
        said = "The policy allows every call of `memory`. But its file lies outside the session's sandbox."
        story.transcript.say(CONTAINED, said)
        entity = {"name": "Ann", "entityType": "person", "observations": ["ships on Fridays"]}
        await story.call(client, "memory__create_entities", {"entities": [entity]})
        await story.terminal("test -e memory.jsonl || echo there is no such file")
        await until(lambda: "deny unlink" in story.said)
        await story.terminal("ironcurtain audit report desk | grep violation")


async def _drifted(story: Story, client: Client, memory: list[ToolListing]) -> None:
    plan = f"{story.home}/work/plan.txt"
    await story.call(client, "notes__list_tags", {})
    await story.call(client, "notes__read_note", {"file": plan})
    await story.call(client, "filesystem__read_text_file", {"path": plan})
    await story.terminal(
        "ironcurtain drift --bundle policy/bundle.tar.gz --server notes "
        "--servers .ironcurtain/clients/*/*/mcp-servers.json",
        1,
    )
    said = (
        "A person has read what is new, annotated `read_note` again, and compiled. The running proxy takes "
        "the new bundle up. `list_tags` stays as it is until its server explains itself."
    )
    story.transcript.say("Annotated again", said)
    renamed, old = drifting_server.listed({"renamed"}), drifting_server.listed(set())
    story.publish({"memory": memory, "notes": of_sdk([renamed[0], old[1]])})
    await until(lambda: "now enforced" in story.said)
    await story.call(client, "notes__read_note", {"file": plan})
    await story.call(client, "notes__list_tags", {})
