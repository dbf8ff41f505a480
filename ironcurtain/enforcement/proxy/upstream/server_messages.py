"""What a server sends by itself, handed on: notifications, log messages, and what it asks of the client."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

import mcp_types as types
from mcp import Client
from mcp.client.session import ClientRequestContext
from mcp.client.subscriptions import PromptsListChanged, ResourcesListChanged, ResourceUpdated

from ironcurtain.enforcement.proxy.upstream.events import UpstreamEvents
from ironcurtain.enforcement.proxy.upstream.roots import RootsTold
from ironcurtain.enforcement.proxy.upstream.tool_inventory import LiveToolInventory

_log = logging.getLogger(__name__)


class ServerMessages:
    """The callbacks of one connection to a server. The SDK gives `context` by name."""

    def __init__(self, name: str, events: UpstreamEvents, tools: LiveToolInventory, roots: RootsTold) -> None:
        self._name, self._events, self._tools, self._roots = name, events, tools, roots
        self._is_noisy = False

    def noise(self, what: str) -> None:
        """Tell, once for all its lives, that the server writes lines that are no messages."""
        if not self._is_noisy:
            self._is_noisy = True
            self._events.say(f"server {self._name}: {what}")

    async def message(self, message: types.ServerNotification | Exception) -> None:
        """Tell of lists and resources that changed."""
        match message:
            case types.ToolListChangedNotification():
                self._tools.changed()
            case types.PromptListChangedNotification():
                await self._events.changed(self._name, "prompts")
            case types.ResourceListChangedNotification():
                await self._events.changed(self._name, "resources")
            case types.ResourceUpdatedNotification():
                await self._events.updated(self._name, message.params.uri)
            case _:
                pass

    async def listen(self, client: Client, subscribed: Iterable[str]) -> None:
        """Tell of the same, from a server of the stateless protocol; until the connection ends.

        Args:
            client: The connection.
            subscribed: URIs of the resources whose changes are wanted.
        """
        try:
            async with client.listen(
                tools_list_changed=True,
                prompts_list_changed=True,
                resources_list_changed=True,
                resource_subscriptions=sorted(subscribed),
            ) as events:
                async for event in events:
                    match event:
                        case ResourceUpdated():
                            await self._events.updated(self._name, event.uri)
                        case PromptsListChanged():
                            await self._events.changed(self._name, "prompts")
                        case ResourcesListChanged():
                            await self._events.changed(self._name, "resources")
                        case _:
                            self._tools.changed()
        except Exception as error:  # noqa: BLE001 - a server need not offer this
            _log.debug("server %s tells of no changes: %s", self._name, error)

    async def log(self, params: types.LoggingMessageNotificationParams) -> None:
        """Hand on a log message."""
        await self._events.logged(self._name, params)

    async def sampling(
        self,
        context: ClientRequestContext,  # noqa: ARG002
        params: types.CreateMessageRequestParams,
    ) -> Any:  # noqa: ANN401
        """Answer a question to the client's model."""
        return await self._events.ask(self._name, types.CreateMessageRequest(params=params))

    async def elicitation(
        self,
        context: ClientRequestContext,  # noqa: ARG002
        params: types.ElicitRequestParams,
    ) -> Any:  # noqa: ANN401
        """Answer a question to the client's person."""
        return await self._events.ask(self._name, types.ElicitRequest(params=params))

    async def roots(self, context: ClientRequestContext) -> Any:  # noqa: ANN401, ARG002
        """Answer with its roots, those of the calls that go on among them."""
        answer = await self._events.ask(self._name, types.ListRootsRequest())
        answer = self._roots.answered(answer)
        self._roots.read()
        return answer
