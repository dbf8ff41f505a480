"""A running proxy in front of fixture servers, for tests: real processes, real pipes, a real engine."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, cast

import anyio
import mcp_types as types
import pytest
from fixtures import fixture_server, plain_server
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from ironcurtain.decision.reserved_tools import RESERVED, RESOURCE_URI
from ironcurtain.servers.tools import ToolListing, tool_digest
from support.projects.policies import rule, tool, write_bundle, write_servers

# For whatever a busy machine does at last: its proxies, too, take their time to start, to write their last
# records and to end what they started.
LONG = 120.0

SERVER = Path(fixture_server.__file__)
LEGACY = [str(SERVER), "--legacy"]
MODERN = [str(SERVER)]
PLAIN = [plain_server.__file__]
RESERVED_TOOLS = [
    each.model_dump(mode="json", by_alias=True, exclude_unset=True) for each in RESERVED.values()
]
PATHS = {"echo": {"path": ["none"]}, "read": {"path": ["read-path"]}, "remove": {"path": ["delete-path"]}}


def annotated(name: str, **roles: list[str]) -> dict[str, Any]:
    """Annotate a tool of the fixture server, with the digest of what it really lists; roles by argument."""
    listed = fixture_server.TOOLS[name]
    schema = listed.input_schema
    arguments: dict[str, Any] = {
        **{arg: ["none"] for arg in schema["properties"]},
        **PATHS.get(name, {}),
        **roles,
    }
    digest = tool_digest(ToolListing(name=name, description=listed.description or "", input_schema=schema))
    return {**tool(name, contained=False, **arguments), "schema_digest": digest, "input_schema": schema}


def rules(*allowed: str) -> list[dict[str, Any]]:
    """Allow every tool but `read` (only below ~/notes) and `remove` (a person has to say)."""
    free = sorted({*fixture_server.TOOLS} - {"read", "remove"})
    within = {"roles": ["read-path"], "within": ["~/notes"]}
    return [
        rule("free", "allow", tool=free),
        rule("notes", "allow", paths=within),
        rule("removal", "escalate", tool=["remove"]),
        *(rule(f"allowed-{name.replace('/', '-')}", "allow", tool=[name]) for name in allowed),
    ]


class Place:
    """The directories of one test: a home, servers, a bundle."""

    def __init__(self, root: Path, servers: dict[str, list[str]] | None = None, *allowed: str) -> None:
        self.root = root
        self.home = root / "home"
        (self.home / "notes").mkdir(parents=True)
        self.journal = root / "journal"
        found = servers or {"fix": PLAIN}
        environment = {"FIXTURE_JOURNAL": str(self.journal), "PYTHONPATH": ""}
        configured = {
            name: {"command": sys.executable, "args": args, "env": environment, "sandbox": False}
            for name, args in found.items()
        }
        self.servers = write_servers(root, configured)
        self.made, self.names = rules(*allowed), list(found)
        self.bundle = self.publish(self.made, self.names)

    def configure(self, **keys: Any) -> None:
        """Add keys to the entry of every server."""
        document = json.loads(self.servers.read_text())
        for entry in document["mcpServers"].values():
            entry.update(keys)
        self.servers.write_text(json.dumps(document))

    def publish(
        self,
        made: list[dict[str, Any]],
        servers: list[str],
        *,
        policy: Mapping[str, Any] | None = None,
        roles_of: Mapping[str, dict[str, list[str]]] | None = None,
    ) -> Path:
        """Write the bundle anew, in one step; `roles_of` are roles of arguments by tool."""
        given = roles_of or {}
        tools = [annotated(name, **given.get(name, {})) for name in fixture_server.TOOLS] + RESERVED_TOOLS
        scratch = self.root / "scratch"
        scratch.mkdir(exist_ok=True)
        roles = [RESOURCE_URI.model_dump(mode="json")]
        written = write_bundle(scratch, dict.fromkeys(servers, tools), made, roles=roles, policy=policy)
        return written.replace(self.root / "bundle.tar.gz")

    def publish_with_notes(self, *uris: str) -> Path:
        """Publish what was published, and let these resources be read."""
        notes = rule("notes-uris", "allow", lists={"roles": ["resource-uri"], "allowed": list(uris)})
        return self.publish([*self.made, notes], self.names)

    def command(self, *options: str) -> list[str]:
        """Return the command that starts the proxy."""
        return [
            *(sys.executable, "-c", "from ironcurtain.cli.main import main; main()", "proxy"),
            *("--bundle", str(self.bundle), "--servers", str(self.servers), "--session", "test"),
            *options,
        ]

    def environment(self) -> dict[str, str]:
        """Return the environment that the proxy gets."""
        return {"PATH": os.environ["PATH"], "HOME": str(self.home), "SECRET_OF_OURS": "x"}

    def sent(self) -> list[dict[str, Any]]:
        """Return what the servers were really sent."""
        return [json.loads(line) for line in written_lines(self.journal)] if self.journal.exists() else []

    def records(self) -> list[dict[str, Any]]:
        """Return the records of the audit log."""
        log = self.home / ".ironcurtain" / "audit" / "test.jsonl"
        return [json.loads(line)["record"] for line in written_lines(log)]

    def ends(self) -> list[str]:
        """Return how the forwarded calls ended."""
        return [record["status"] for record in self.records() if record["kind"] == "result"]

    @property
    def decisions(self) -> list[dict[str, Any]]:
        """The decisions in the audit log."""
        return [record for record in self.records() if record["kind"] == "decision"]

    @property
    def said(self) -> str:
        """What the proxy wrote to its standard error."""
        path = self.root / "stderr"
        return path.read_text() if path.exists() else ""

    def is_up(self, *servers: str) -> bool:
        """Tell whether servers have started: a busy machine may take longer than a call is held for them."""
        return all(re.search(rf"server {name}: \d+ tools?, protocol", self.said) for name in servers)

    @asynccontextmanager
    async def client(self, *options: str, mode: str = "legacy", **callbacks: Any) -> AsyncIterator[Client]:
        """Start the proxy and connect a client to it."""
        command, *arguments = self.command(*options)
        started = StdioServerParameters(
            command=command, args=arguments, env=self.environment(), cwd=self.root
        )
        with (self.root / "stderr").open("a") as stderr, self.explained():
            async with Client(
                stdio_client(started, errlog=stderr), mode=mode, cache=None, **callbacks
            ) as client:
                yield client

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Let a failure tell what the proxy said and recorded last."""
        try:
            yield
        except BaseException as error:
            self.explain(error)
            raise

    def explain(self, error: BaseException) -> None:
        """Add what the proxy said and recorded last to an error."""
        error.add_note("The proxy said:\n" + self.said[-3000:])
        log = self.home / ".ironcurtain" / "audit" / "test.jsonl"
        if log.exists():
            lines = [line.partition('"record":')[2] for line in log.read_text().splitlines()]
            error.add_note("Its last records:\n" + "\n".join(line[:1500] for line in lines[-4:]))


def written_lines(path: Path) -> list[str]:
    """Return the lines of a file that are written to their ends; another one may just be written."""
    return path.read_bytes().decode(errors="replace").split("\n")[:-1]


def text_of(result: Any) -> str:
    """Return the text of a tool's result."""
    return "\n".join(block.text for block in result.content if block.type == "text")


def wait_for(condition: Callable[[], Any], seconds: float = LONG) -> Any:
    """Wait until a condition holds; return what it returned."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
    return found


def descendants(pid: int) -> set[int]:
    """Return every process below one."""
    parents: dict[int, int] = dict(_parents())
    below: set[int] = set()
    while found := {child for child, parent in parents.items() if parent in {pid, *below}} - below:
        below |= found
    return below


def _parents() -> Iterator[tuple[int, int]]:
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
        except (OSError, ValueError):
            continue
        if state != "Z":
            yield int(entry.name), int(parent)


def is_alive(pid: int) -> bool:
    """Tell whether a process runs."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Living:
    """The processes below one, as they are now: a later one of the same number is another.

    Args:
        pid: The one.
        before: Processes that are none of those.
    """

    def __init__(self, pid: int, before: Collection[int] = ()) -> None:
        self.began = {each: _began(each) for each in descendants(pid) - {*before}}

    def wait_until_gone(self) -> None:
        """Wait until none of them lives, or tell which does."""
        try:
            wait_for(lambda: not any(map(is_alive, self._left())))
        except AssertionError as error:
            for pid in self._left():
                error.add_note(f"{pid} lives: {Path(f'/proc/{pid}/cmdline').read_bytes()!r}")
            raise

    def _left(self) -> list[int]:
        return [pid for pid, began in self.began.items() if began is not None and _began(pid) == began]


def _began(pid: int) -> str | None:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return None


def request_meta(members: dict[str, Any]) -> types.RequestParamsMeta:
    """Return the `_meta` of a request; mypy does not see that the SDK's type takes further members."""
    return cast("types.RequestParamsMeta", members)


async def equal_calls(
    client: Client, between: Callable[[int], object] = lambda _: None
) -> tuple[str, list[Any]]:
    """Make 21 equal calls within a minute, however often that has to be tried; return text and results."""
    for text in "abcde":
        began = time.monotonic()
        given, results = [{"text": text, "data": 1}, {"data": 1, "text": text}], []
        for number in range(21):
            between(number)
            results.append(await client.call_tool("fix__echo", given[number % 2]))
        if time.monotonic() - began < 60:
            return text, results
    raise AssertionError("no 21 calls came within a minute")


def chosen(visits: Mapping[str, Callable[..., Any]], request: pytest.FixtureRequest) -> dict[str, Any]:
    """Return the visits that tests of this run are about, so that the test of one pays this one alone."""
    # What parametrizes an item is at `callspec`, which only those have that are parametrized.
    specs = (getattr(item, "callspec", None) for item in request.session.items)
    wanted = {spec.params.get("visit") for spec in specs if spec is not None}
    return {name: visit for name, visit in visits.items() if name in wanted}


def visit_all(
    place: Place,
    visits: Mapping[str, Callable[..., Any]],
    *options: str,
    mode: str = "legacy",
    up: Collection[str] = (),
    **callbacks: Any,
) -> dict[str, Exception]:
    """Pay visits to one proxy once its servers are up, one after the other; return what went wrong, by visit.

    A proxy takes seconds to start on a busy machine, so what does not disturb each other shares one.
    """
    found: dict[str, Exception] = {}

    async def visit() -> None:
        async with place.client(*options, mode=mode, **callbacks) as client:
            await until(lambda: place.is_up(*up))
            for name, one in visits.items():
                try:
                    with anyio.fail_after(LONG):
                        await one(client, place)
                except Exception as error:  # noqa: BLE001 - it is raised in the test that it belongs to
                    place.explain(error)
                    found[name] = error

    anyio.run(visit)
    return found


async def until(condition: Callable[[], Any], seconds: float = LONG) -> Any:
    """Wait, in an event loop, until a condition holds; return what it returned."""
    with anyio.fail_after(seconds):
        while not (found := condition()):  # noqa: ASYNC110 - it is about files and processes
            await anyio.sleep(0.02)
        return found
