"""What the client is shown: the lists of all servers as one, narrowed by the policy."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import anyio
import mcp_types as types
from anyio.abc import TaskGroup
from mcp.shared.exceptions import MCPError

from ironcurtain.decision.decide import is_drifted
from ironcurtain.enforcement.calls.active_policy import PolicyInstance
from ironcurtain.enforcement.calls.destination import NoAnswerError
from ironcurtain.enforcement.calls.run_blocking import run_blocking
from ironcurtain.enforcement.proxy.kept_narrowing import kept_narrowing
from ironcurtain.enforcement.proxy.upstream.local import LocalServer
from ironcurtain.enforcement.proxy.upstream.tool_inventory import ToolInventory
from ironcurtain.enforcement.proxy.upstream.upstream import Upstream
from ironcurtain.enforcement.proxy.upstream.upstream_manager import UpstreamManager
from ironcurtain.engine.command import OpaCommand
from ironcurtain.errors import IronCurtainError
from ironcurtain.gateway.principal import Principal
from ironcurtain.servers.connect import cause
from ironcurtain.servers.endpoint_names import endpoint_name, full_name
from ironcurtain.servers.tool_lists.listed_tool import PROMPTS, RESOURCES, TEMPLATES, ListKind, read_entries
from ironcurtain.servers.tools import ToolListing
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import visible

if TYPE_CHECKING:
    from ironcurtain.analysis.narrowing.report import NarrowedTool, Narrowing
    from ironcurtain.policy import Policy

_MOST_NAMED = 20
_NARROWING_PATIENCE = 4.0

Told = dict[str, JsonValue]
"""All that a client is told of a tool, prompt, resource or template, as the protocol writes it."""


class NarrowedTools:
    """What the enforced policy leaves of each tool; worked out beside the calls, since it takes a while."""

    def __init__(self, manager: UpstreamManager, tasks: TaskGroup) -> None:
        self._manager, self._tasks = manager, tasks
        self._tools: Mapping[tuple[str, str], NarrowedTool] = {}
        self._work = anyio.CancelScope()
        self._done = anyio.Event()
        self._shown_early = False

    def follow(self, enforced: PolicyInstance) -> None:
        """Forget what another policy left, and begin to work it out for this one."""
        self._work.cancel()
        self._work, before, self._done = anyio.CancelScope(), self._done, anyio.Event()
        self._tools, self._shown_early = {}, False
        self._tasks.start_soon(self._work_out, enforced, self._work)
        before.set()

    async def _work_out(self, enforced: PolicyInstance, work: anyio.CancelScope) -> None:
        """Work it out; where that fails, tools are shown as their servers list them."""
        with work:
            try:
                found = await _narrow(enforced)
            except Exception as error:  # noqa: BLE001 - a list that shows too much lets nothing happen
                why = error.what if isinstance(error, IronCurtainError) else type(error).__name__
                self._manager.say(f"note: the tool list is not narrowed: {why}")
                found = {}
            if work.cancel_called:
                return  # another policy came at the last moment
            self._tools = found
            enforced.closed = frozenset(place for place, tool in found.items() if not tool.reachable)
            self._done.set()
            if self._shown_early:
                await self._manager.changed("", "tools")

    async def settled(self) -> None:
        """Wait a little until it has been worked out; where that takes longer, the clients will be told."""
        with anyio.move_on_after(_NARROWING_PATIENCE) as scope:
            while not self._done.is_set():
                await self._done.wait()
        self._shown_early |= scope.cancelled_caught

    def find(self, server: str, tool: str) -> NarrowedTool | None:
        """Return a tool; None where nothing is known of it as yet."""
        return self._tools.get((server, tool))


async def _narrow(enforced: PolicyInstance) -> Mapping[tuple[str, str], NarrowedTool]:
    policy = enforced.policy
    found = await run_blocking(partial(kept_narrowing, policy, partial(_narrowing, policy)))
    return {(tool.server, tool.tool): tool for tool in found.tools}


def _narrowing(policy: Policy) -> Narrowing:
    # Loaded here, in a thread of its own: the servers are started meanwhile.
    from ironcurtain.analysis.narrowing.narrowing import described_deployment, narrowing  # noqa: PLC0415

    world = described_deployment(policy.loaded.deployment)
    return narrowing(policy.bundle, world, OpaCommand(policy.opa))


class Listing:
    """The lists that clients are shown, and which server a prompt or a resource belongs to."""

    def __init__(self, manager: UpstreamManager, narrowed: NarrowedTools) -> None:
        self._manager = manager
        self._narrowed = narrowed
        self._owners: dict[str, str] = {}
        self._templates: list[tuple[re.Pattern[str], str]] = []

    async def tools(self, principal: Principal | None = None) -> list[Told]:
        """Return the tools that could be allowed or escalated, named as clients see them.

        Args:
            principal: Whom the client acts for: a gateway's tools that it may not call are left out.
        """
        async with anyio.create_task_group() as waiting:
            waiting.start_soon(self._narrowed.settled)
            await self._manager.tools_known()
        for upstream in self._manager.upstreams.values():
            await upstream.settled()
        self._manager.note_listed("tools")  # what changed before is in this list
        shown: list[Told] = []
        enforcer = self._manager.enforcer
        for server, upstream in self._manager.upstreams.items():
            inventory = upstream.inventory or self._manager.recalled(server)
            for name, tool in inventory.tools.items():
                schema = self._shown_schema(server, tool, inventory)
                if schema is not None and enforcer.admission.offers(server, name, principal):
                    output = enforcer.outputs.schema(server, name, tool.output_schema)
                    told = {**(tool.told or {}), "name": endpoint_name(server, name), "inputSchema": schema}
                    told.pop("outputSchema", None)
                    shown.append(told if output is None else {**told, "outputSchema": output})
        return shown

    def count(self, server: str) -> tuple[int, int, tuple[str, ...]]:
        """Return how many tools a server has listed, how many of these are hidden, and why."""
        inventory = self._manager.upstreams[server].inventory or ToolInventory()
        hidden = [
            name for name, t in inventory.tools.items() if self._shown_schema(server, t, inventory) is None
        ]
        found = [name for name in hidden if self._is_annotated(server, name, inventory)]
        closed = f"hidden, because no call of them can be permitted: {_named(found)}"
        why = (*self._manager.withheld.of(server), *([closed] if found else []))
        return len(inventory.tools), len(hidden), why

    def _is_annotated(self, server: str, tool: str, inventory: ToolInventory) -> bool:
        known = self._manager.enforcer.policy.current.loaded.annotation(server, tool)
        return known is not None and not is_drifted(known, inventory.digests[tool], inventory.listings[tool])

    def _shown_schema(self, server: str, tool: ToolListing, inventory: ToolInventory) -> Told | None:
        """Return the input schema to show; None for a tool of which no call could be permitted."""
        if self._manager.enforcer.observe:
            return tool.input_schema
        if not self._is_annotated(server, tool.name, inventory):
            return None
        narrowed = self._narrowed.find(server, tool.name)
        if narrowed is not None and not narrowed.reachable:
            return None
        return (
            tool.input_schema if narrowed is None or narrowed.input_schema is None else narrowed.input_schema
        )

    async def prompts(self) -> list[Told]:
        """Return all prompts that are what was annotated, named `server__prompt`."""
        self._manager.note_listed("prompts")
        found = await self._all(PROMPTS)
        hidden = {
            server: await self._manager.withheld.hidden_prompts(server, listed)
            for server, listed in found.items()
        }
        return [
            {**prompt, "name": full_name(server, str(prompt["name"]))}
            for server, listed in found.items()
            for prompt in listed
            if prompt["name"] not in hidden[server]
        ]

    async def hides_prompt(self, server: str, name: str) -> bool:
        """Tell whether a prompt of a server, as it lists it now, is not what was annotated."""
        annotated = self._manager.withheld.annotated(server)
        if annotated is None or annotated.prompts is None or self._manager.enforcer.observe:
            return False
        listed = (await self._all(PROMPTS, only=server)).get(server, ())
        hidden = await self._manager.withheld.hidden_prompts(server, listed)
        return name in hidden or all(prompt["name"] != name for prompt in listed)

    async def resources(self) -> list[Told]:
        """Return all resources under their own URIs; of two servers with one URI, the first one has it."""
        self._manager.note_listed("resources")
        return [
            resource
            for server, listed in (await self._all(RESOURCES)).items()
            for resource in listed
            if self._owners.setdefault(str(resource["uri"]), server) == server
        ]

    async def templates(self) -> list[Told]:
        """Return all resource templates."""
        self._manager.note_listed("resources")
        found = await self._all(TEMPLATES)
        self._templates = [
            (_pattern(str(template["uriTemplate"])), server)
            for server, listed in found.items()
            for template in listed
        ]
        return [template for listed in found.values() for template in listed]

    async def owner(self, uri: str) -> str | None:
        """Return the server that has a resource (or a template of exactly this text)."""
        if found := self._known_owner(uri):
            return found
        await self.resources()
        await self.templates()
        return self._known_owner(uri)

    def _known_owner(self, uri: str) -> str | None:
        if uri in self._owners:
            return self._owners[uri]
        if found := next((server for pattern, server in self._templates if pattern.fullmatch(uri)), None):
            return found
        having = [name for name, up in self._manager.upstreams.items() if _has(up, "resources")]
        return having[0] if len(having) == 1 else None

    async def _all(self, kind: ListKind, *, only: str = "") -> dict[str, tuple[Told, ...]]:
        """Return what every server, or one, lists, once tried; a server that fails to adds nothing."""
        await self._manager.tried(*([only] if only else []))
        found: dict[str, tuple[Told, ...]] = {}
        for name, upstream in self._manager.processes.items():
            if (only and name != only) or not _has(upstream, "prompts" if kind is PROMPTS else "resources"):
                continue
            try:
                listed, cut = await upstream.read_list(kind)
            except (MCPError, NoAnswerError) as error:
                is_none = isinstance(error, MCPError) and error.error.code == types.METHOD_NOT_FOUND
                problems: tuple[str, ...] = (
                    () if is_none else (f"{kind.method} cannot be read: {cause(error)}",)
                )
            else:
                found[name], wrong = await run_blocking(partial(read_entries, kind, listed))
                problems = cut + wrong
            self._manager.withheld.note(name, kind.method, problems)
        return found


def _named(tools: Sequence[str]) -> str:
    more = len(tools) - _MOST_NAMED
    return ", ".join(map(visible, tools[:_MOST_NAMED])) + (f" and {more:,} more" if more > 0 else "")


def _has(upstream: Upstream | LocalServer, what: str) -> bool:
    return upstream.capabilities is not None and getattr(upstream.capabilities, what) is not None


def _pattern(template: str) -> re.Pattern[str]:
    """Return what the URIs of a template look like: an expression stands for anything but nothing."""
    literal = re.split(r"(\{[^{}]*\})", template)
    return re.compile(
        "".join(".+" if part.startswith("{") else re.escape(part) for part in literal), re.DOTALL
    )
