"""The tools of a gateway among the proxy's servers: declared in a module, run in this process."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from anyio import to_thread
from mcp.shared.dispatcher import ProgressFnT

from ironcurtain.enforcement.calls.destination import NoAnswerError
from ironcurtain.enforcement.calls.outputs import Outputs
from ironcurtain.enforcement.calls.refusal import error_result
from ironcurtain.enforcement.proxy.upstream.events import UpstreamEvents
from ironcurtain.enforcement.proxy.upstream.roots import RootsTold
from ironcurtain.enforcement.proxy.upstream.tool_inventory import ToolInventory, inventory_of
from ironcurtain.gateway.calling import NOTES, ToolFailedError, call_tool
from ironcurtain.gateway.gateway import Gateway, load_gateway
from ironcurtain.gateway.output.policy import OutputPolicy
from ironcurtain.gateway.workers import Workers
from ironcurtain.servers.config import ServerConfig
from ironcurtain.servers.declared import declared_digest
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import replace
from ironcurtain.system.text import counted


class LocalServer:
    """One gateway. What it lists is what was declared when its module was read, and nothing else ever."""

    instructions: str | None = None
    modern = False

    def __init__(self, name: str, gateway: Gateway, events: UpstreamEvents) -> None:
        self.name, self._gateway, self._events = name, gateway, events
        self.roots = RootsTold(())
        self.log_level: types.LoggingLevel | None = None
        self.inventory: ToolInventory | None = None
        self._workers = Workers()
        self._ready = anyio.Event()

    @property
    def capabilities(self) -> types.ServerCapabilities | None:
        """What it can do: tools, and nothing else."""
        return types.ServerCapabilities(tools=types.ToolsCapability())

    @property
    def reason(self) -> str:
        """Why it is down; it never is."""
        return ""

    @property
    def starting(self) -> bool:
        """Whether its tools are still to be read."""
        return not self._ready.is_set()

    async def run(self) -> None:
        """Read the tools, and keep the workers for as long as this is not cancelled."""
        listed = partial(inventory_of, self._gateway.listings(), of_handshake=True)
        found = await to_thread.run_sync(listed)
        declared = {
            name: declared_digest(self._gateway.tools[name], told) for name, told in found.listings.items()
        }
        self.inventory = replace(found, listings=declared)
        self._ready.set()
        self._events.say(f"server {self.name}: {counted(len(self.inventory.tools), 'tool')} of its own")
        await self._events.changed(self.name, "tools")
        _keep_output_away()
        try:
            await anyio.sleep_forever()
        finally:
            self._workers.close()

    async def tried(self) -> None:
        """Wait until its tools are read."""
        await self._ready.wait()

    async def settled(self) -> None:
        """Wait for nothing: its tools never change."""

    async def digest_of(self, tool: str) -> str | None:
        """Return the digest of a tool; empty where there is none of that name."""
        await self._ready.wait()
        return self.inventory.digests.get(tool, "") if self.inventory is not None else None

    async def request(
        self,
        request: types.ClientRequest,  # noqa: ARG002 - as every server is asked
        *,
        on_progress: ProgressFnT | None = None,  # noqa: ARG002 - likewise
    ) -> dict[str, JsonValue]:
        """Refuse every request that is no call of a tool.

        Raises:
            NoAnswerError: Always.
        """
        raise NoAnswerError("it has tools only")

    async def call_tool(
        self, params: Mapping[str, Any], *, on_progress: ProgressFnT | None = None
    ) -> dict[str, JsonValue]:
        """Call a tool with the arguments that were evaluated.

        Raises:
            NoAnswerError: If there is none of that name.
        """
        del on_progress
        tool = self._gateway.tools.get(params["name"])
        if tool is None:
            raise NoAnswerError("it has tools only")
        notes = NOTES.get()
        try:
            value = await call_tool(tool, params["arguments"], notes.trace_id, self._workers)
        except ToolFailedError as error:
            notes.stage, notes.detail = error.stage, error.detail
            return error_result(error.told)
        return {"content": [], "structuredContent": value}

    def want(self, wanted: types.ClientCapabilities, *, other_reach: bool = False) -> None:
        """Do nothing: a gateway asks nothing of the client."""

    async def notify_roots_changed(self) -> None:
        """Tell nobody: a gateway knows no roots."""

    async def set_log_level(self, level: types.LoggingLevel) -> None:
        """Keep quiet at any level: what handlers write reaches no client."""

    async def subscribe(self, uri: str, *, wanted: bool) -> None:  # noqa: ARG002 - as every server is asked
        """Refuse: a gateway has no resources.

        Raises:
            NoAnswerError: Always.
        """
        raise NoAnswerError("it has tools only")


def gateways_of(config: ServerConfig) -> dict[str, Gateway]:
    """Return the gateways among configured servers, by name.

    Raises:
        IronCurtainError: If a module cannot be read, or anything in it is wrong.
    """
    named = {name: server.gateway for name, server in config.servers.items() if server.gateway}
    return {name: load_gateway(config.directory / path) for name, path in named.items()}


def outputs_of(config: ServerConfig, gateways: dict[str, Gateway]) -> Outputs:
    """Return every output policy of a configuration."""
    policies = {
        (name, tool.name): tool.output_policy
        for name, each in gateways.items()
        for tool in each.tools.values()
    }
    for name, server in config.servers.items():
        policies |= {(name, tool): OutputPolicy.parse(rules) for tool, rules in server.output.items()}
    return Outputs(policies, frozenset(gateways))


def _keep_output_away() -> None:
    """Let what handlers print go nowhere: it is neither the protocol's nor for anybody's log."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)
    sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for as long as we run
