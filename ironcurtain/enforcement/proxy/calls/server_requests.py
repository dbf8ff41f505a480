"""Requests of a client that go on to a server: the call that each is decided as, and what the server is sent.

The call is decided first. What the server is sent is then made of the judged arguments, never of what the
client wrote, so that nothing reaches a server that was not part of the decision.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import mcp_types as types

from ironcurtain.decision.decide import Call
from ironcurtain.enforcement.proxy.calls import reserved
from ironcurtain.system.frozen import JsonValue


@dataclass(frozen=True)
class ServerRequest(ABC):
    """One request of a client.

    Attributes:
        call: What is decided, without an id, caller and client.
    """

    call: Call

    is_tool = False
    """Whether it calls a tool that a server lists; else it is decided as a reserved tool."""

    @abstractmethod
    def message(self, arguments: Mapping[str, JsonValue], envelope: Mapping[str, Any]) -> types.ClientRequest:
        """Return the message to the server.

        Args:
            arguments: The judged arguments.
            envelope: The members of its params that are not judged: `_meta`, answers, state.
        """


class ToolCall(ServerRequest):
    """`tools/call`."""

    is_tool = True

    def message(self, arguments: Mapping[str, JsonValue], envelope: Mapping[str, Any]) -> types.ClientRequest:
        """Return the message to the server."""
        params = {"name": self.call.tool, "arguments": arguments, **envelope}
        return types.CallToolRequest(params=types.CallToolRequestParams.model_validate(params))


class ResourceRead(ServerRequest):
    """`resources/read`."""

    def message(self, arguments: Mapping[str, JsonValue], envelope: Mapping[str, Any]) -> types.ClientRequest:
        """Return the message to the server."""
        params = {"uri": reserved.resource_uri(arguments), **envelope}
        return types.ReadResourceRequest(params=types.ReadResourceRequestParams.model_validate(params))


class PromptGet(ServerRequest):
    """`prompts/get`."""

    def message(self, arguments: Mapping[str, JsonValue], envelope: Mapping[str, Any]) -> types.ClientRequest:
        """Return the message to the server."""
        params = types.GetPromptRequestParams.model_validate({**arguments, **envelope})
        return types.GetPromptRequest(params=params)


class Completion(ServerRequest):
    """`completion/complete`."""

    def message(self, arguments: Mapping[str, JsonValue], envelope: Mapping[str, Any]) -> types.ClientRequest:
        """Return the message to the server."""
        params = types.CompleteRequestParams.model_validate({**arguments, **envelope})
        return types.CompleteRequest(params=params)
