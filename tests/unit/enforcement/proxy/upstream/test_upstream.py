"""One server behind the proxy, here in this process: its tools read again, its end and its next start."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from anyio.lowlevel import checkpoint
from fixtures import plain_server
from mcp.server import NotificationOptions, Server, ServerRequestContext
from mcp.server.runner import serve_loop
from mcp.shared.exceptions import MCPError
from mcp.shared.memory import create_client_server_memory_streams
from support.deployments.proxied import descendants
from support.machines.frozen import freeze

from ironcurtain.enforcement.calls.destination import NoAnswerError
from ironcurtain.enforcement.proxy.upstream.events import UpstreamLimits
from ironcurtain.enforcement.proxy.upstream.upstream import Upstream
from ironcurtain.servers.config import ServerConfig
from ironcurtain.servers.config_model import Server as Configured
from ironcurtain.servers.server_process import PipeLimits, ServerProcess, ServerStart
from ironcurtain.system.structs import replace

pytestmark = pytest.mark.anyio
SERVERS = ServerConfig(Path("/mcp-servers.json"), {"in": Configured(command="true")})
LIMITS = UpstreamLimits(start=120, pulse=120, first_pause=0.01, longest_pause=0.01, patience=120, rest=0.01)


def offer(name: str, **properties: Any) -> types.Tool:
    schema = {"type": "object", "properties": properties}
    return types.Tool(name=name, description="A tool.", input_schema=schema)


class Machine:
    """Where the server runs, what it does, and what the proxy is told: in place of launcher and manager.

    Attributes:
        tools: What the server lists.
        on_start: Is done before it starts.
        on_list: Is done before it lists them.
        starts: How many times it was started.
        ends: How many times it was ended.
        said: What the person who started the proxy is told.
        changes: What the client is told.
    """

    def __init__(self, *tools: types.Tool) -> None:
        self.tools = list(tools)
        self.on_start: Callable[[], Awaitable[object]] = checkpoint
        self.on_list: Callable[[], Awaitable[object]] = checkpoint
        self.starts = self.ends = 0
        self.said: list[str] = []
        self.changes: list[str] = []
        self._session: Any = None

    async def announce(self) -> None:
        """Let the server say that its tools changed."""
        await self._session.send_tool_list_changed()

    async def _list(
        self, context: ServerRequestContext[Any, Any], _: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        self._session = context.session
        await self.on_list()
        return types.ListToolsResult(tools=self.tools)

    # -- as a launcher ----------------------------------------------------------------------------

    @asynccontextmanager
    async def connect(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        self.starts += 1
        await self.on_start()
        server: Server[Any] = Server("inside", on_list_tools=self._list)
        async with create_client_server_memory_streams() as (client, own), anyio.create_task_group() as tasks:
            options = server.create_initialization_options(NotificationOptions(tools_changed=True))
            tasks.start_soon(partial(serve_loop, server, *own, lifespan_state={}, init_options=options))
            try:
                yield client
            finally:
                self.ends += 1
                tasks.cancel_scope.cancel()

    def why_ended(self, _: str) -> None:
        """Say that the sandbox had nothing to do with it."""

    # -- as events --------------------------------------------------------------------------------

    def say(self, text: str) -> None:
        self.said.append(text)

    def varying(self, _: str) -> tuple[()]:
        return ()

    async def changed(self, _: str, what: str) -> None:
        self.changes.append(what)

    async def seen(self, *_: Any) -> None:
        """Hear nothing."""


class RealMachine(Machine):
    """A server in a process of its own, over real pipes.

    Attributes:
        process: The last one that was started.
        freezes: Whether the first one freezes when it is to list its tools.
    """

    process: ServerProcess

    def __init__(self, *, freezes: bool = False) -> None:
        super().__init__()
        self.freezes = freezes

    @asynccontextmanager
    async def connect(self, *_: Any, opened: Any, **told: Any) -> AsyncIterator[Any]:
        self.starts += 1
        options = ["--freezes"] if self.freezes and self.starts == 1 else []
        start = ServerStart(sys.executable, [plain_server.__file__, *options])
        self.process = await ServerProcess.start(start, PipeLimits(grace=0.1))
        async with opened(self.process, told["on_words"], told["on_end"]) as streams:
            yield streams


@asynccontextmanager
async def running(machine: Machine, limits: UpstreamLimits = LIMITS) -> AsyncIterator[Upstream]:
    upstream = Upstream("in", SERVERS, machine, machine, limits)  # type: ignore[arg-type]
    async with anyio.create_task_group() as tasks:
        with anyio.fail_after(90):
            assert upstream.reason == "it has not been started"
            upstream.want(types.ClientCapabilities(roots=types.RootsCapability()))
            tasks.start_soon(upstream.run)
            yield upstream
        tasks.cancel_scope.cancel()


async def until(condition: Callable[[], object]) -> None:
    while not condition():  # noqa: ASYNC110 - what is waited for has no event
        await anyio.sleep(0.005)


async def test_what_the_policy_newly_permits_is_no_crash() -> None:
    machine, let = Machine(offer("a")), anyio.Event()
    machine.on_start = let.wait
    async with running(machine) as upstream:
        await until(lambda: machine.starts)
        assert upstream.reason == "it is starting"
        let.set()
        await upstream.tried()
        assert (upstream.reason, machine.starts) == ("", 1)
        upstream.want(types.ClientCapabilities(sampling=types.SamplingCapability()))
        await until(lambda: machine.starts == 2)
        assert await upstream.digest_of("a")
    again = [line for line in machine.said if "again" in line]
    assert again == ["server in is started again: the policy lets it ask the client for something else"]


async def test_a_list_that_cannot_be_read_leaves_no_tool_and_is_tried_again() -> None:
    machine = Machine(offer("a"))
    failures = 2

    async def fail() -> None:
        nonlocal failures
        if failures:
            failures -= 1
            raise ValueError("out of tools")

    async with running(machine) as upstream:
        failures = 0
        await upstream.tried()
        old = await upstream.digest_of("a")
        failures, machine.on_list, machine.tools = 2, fail, [offer("a", x={}), offer("b")]
        await machine.announce()
        await until(lambda: "cannot be read" in str(machine.said))
        await until(lambda: upstream.inventory and "b" in upstream.inventory.tools)
        assert await upstream.digest_of("a") not in {old, "", None}
    assert len([line for line in machine.said if "tried again in" in line]) == 2
    # At its start, when the list was lost, and when it was there again.
    assert machine.changes == ["tools", "prompts", "resources", "tools", "tools"]


async def test_no_call_is_judged_by_the_tools_of_before_a_change() -> None:
    machine = Machine(offer("a"))
    let = anyio.Event()
    async with running(machine) as upstream:
        await upstream.tried()
        old = await upstream.digest_of("a")
        asked = anyio.Event()

        async def hold() -> None:
            asked.set()
            await let.wait()

        machine.on_list, machine.tools = hold, [offer("a", x={})]
        await machine.announce()
        await asked.wait()
        async with anyio.create_task_group() as tasks:
            found: list[str | None] = []

            async def ask() -> None:
                found.append(await upstream.digest_of("a"))

            for _ in range(3):
                tasks.start_soon(ask)
            await checkpoint()
            await checkpoint()
            assert not found
            let.set()
    assert len(set(found)) == 1
    assert old not in found


async def test_a_server_that_announces_a_change_with_each_list_is_no_worse_off() -> None:
    machine = Machine(offer("a"))
    async with running(machine) as upstream:
        await upstream.tried()
        machine.on_list = machine.announce
        await machine.announce()
        for _ in range(3):
            assert await upstream.digest_of("a")
        assert machine.changes.count("tools") == 1  # nothing did change


async def test_a_list_without_end_is_cut_and_does_not_hold_up_others() -> None:
    costly = [offer(f"c{n}", **{f"p{n}": {"type": "string"}}) for n in range(200)]
    machine = Machine(*costly, *(offer(f"t{n}") for n in range(799)), offer("c0"), *costly)
    listed = anyio.Event()

    async def tell() -> None:
        listed.set()

    machine.on_list = tell
    async with running(machine) as upstream:
        await listed.wait()
        turns = 0
        while upstream.inventory is None:
            await anyio.sleep(0.002)
            turns += 1
        assert turns > 2  # at one go there would be one
        assert len(upstream.inventory.tools) == 998
        assert "it lists more than 1,000 tools: the others are left out" in upstream.inventory.problems
        assert 'two tools are named "c0": both are left out' in upstream.inventory.problems


async def no_answer(machine: Machine, upstream: Upstream) -> None:
    machine.on_list = anyio.sleep_forever
    await upstream.request(types.ListToolsRequest())


async def an_error_of_its_own(_: Machine, upstream: Upstream) -> None:
    await upstream.request(types.CallToolRequest(params=types.CallToolRequestParams(name="a")))


async def a_fault_of_ours(_machine: Machine, _upstream: Upstream) -> None:
    raise KeyError


@pytest.mark.parametrize(
    ("work", "raised"),
    [(no_answer, NoAnswerError), (an_error_of_its_own, MCPError), (a_fault_of_ours, KeyError)],
)
async def test_a_server_for_one_call_is_ended_whatever_comes_of_the_call(
    work: Callable[[Machine, Upstream], Awaitable[None]], raised: type[Exception]
) -> None:
    machine = Machine(offer("a"))
    upstream = only_for_one_call(machine, replace(LIMITS, call=0.2) if work is no_answer else LIMITS)
    with pytest.raises(raised):
        await upstream.once(partial(work, machine, upstream))
    assert (machine.starts, machine.ends) == (1, 1)


async def test_a_server_for_one_call_that_does_not_start() -> None:
    machine = Machine(offer("a"))
    machine.on_list = anyio.sleep_forever
    upstream = only_for_one_call(machine, replace(LIMITS, start=0.2))
    with pytest.raises(NoAnswerError, match=r"it did not start within 0\.2 seconds"):
        await upstream.once(partial(a_fault_of_ours, machine, upstream))
    assert (machine.starts, machine.ends) == (1, 1)


async def test_a_server_for_one_call_that_is_called_off() -> None:
    machine = Machine(offer("a"))
    upstream = only_for_one_call(machine, LIMITS)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(upstream.once, anyio.sleep_forever)
        await until(lambda: upstream.capabilities)
        tasks.cancel_scope.cancel()
    assert (machine.starts, machine.ends) == (1, 1)


def only_for_one_call(machine: Machine, limits: UpstreamLimits) -> Upstream:
    usual = Upstream("in", SERVERS, machine, machine, limits)  # type: ignore[arg-type]
    return usual.for_one_call(machine, machine, ["/work"])  # type: ignore[arg-type]


async def answered(upstream: Upstream, params: dict[str, Any]) -> Any:
    """Return the first answer: a busy machine's next server may be too slow to be one at first, too."""
    while True:
        try:
            return await upstream.call_tool(params)
        except NoAnswerError:
            await anyio.sleep(0.05)


@pytest.mark.parametrize("is_call", [True, False])
async def test_a_server_that_reads_nothing_any_more_is_found_to_hang(is_call: bool) -> None:
    machine = RealMachine()
    async with running(machine, replace(LIMITS, call=0.5, pulse=0.5)) as upstream:
        await until(lambda: machine.said)  # its tools are listed
        for each in descendants(machine.process.process.pid):
            freeze(each)
        # More than the pipe and what asyncio keeps of it: whoever writes after that waits.
        params = {"name": "echo", "arguments": {"text": "x" * 500_000}}
        call = types.CallToolRequest(params=types.CallToolRequestParams.model_validate(params))
        for _ in range(2):
            with pytest.raises(NoAnswerError, match=r"no answer within|is not running|before it answered"):
                await (upstream.call_tool(params) if is_call else upstream.request(call))
        answer = await answered(upstream, {"name": "echo", "arguments": {"text": "anew"}})
    assert answer["structuredContent"] == {"text": "anew"}
    assert machine.starts > 1
    assert "server in: it hangs; it is started again in 0.01 s" in machine.said


async def test_a_server_that_hangs_while_it_lists_its_tools_is_started_again() -> None:
    machine = RealMachine(freezes=True)
    async with running(machine, replace(LIMITS, call=0.5, pulse=0.5)) as upstream:
        await until(lambda: not upstream.reason)
        with pytest.raises(NoAnswerError, match="no answer within"):
            await upstream.call_tool({"name": "echo", "arguments": {}})
        await answered(upstream, {"name": "echo", "arguments": {}})
    assert machine.said[0] == "server in: it hangs; it is started again in 0.01 s"


@pytest.mark.parametrize("is_call", [True, False])
@pytest.mark.parametrize("code", [types.CONNECTION_CLOSED, types.REQUEST_TIMEOUT])
async def test_a_servers_own_error_is_not_its_end(code: int, is_call: bool) -> None:
    machine, error = RealMachine(), {"code": code, "message": "out of stock"}
    async with running(machine) as upstream:
        await until(lambda: not upstream.reason)
        params = {"name": "raise", "arguments": error}
        call = types.CallToolRequest(params=types.CallToolRequestParams.model_validate(params))
        with pytest.raises(MCPError, match="out of stock") as raised:
            await (upstream.call_tool(params) if is_call else upstream.request(call))
        assert raised.value.error.code == code
        await upstream.call_tool({"name": "echo", "arguments": {}})
    assert machine.starts == 1
