"""Requests of a client that go on to a server: the call that each is decided as, and what the server is sent.

The call is decided first. What the server is sent is then made of the evaluated arguments, never of what the
client wrote, so that nothing reaches a server that was not part of the decision. What is no tool call is
decided as the call of a reserved tool (specification 2.10): reading a resource, getting a prompt,
completing, and what a server asks of the client.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import mcp_types as types

from ironcurtain.decision.canonical import resource_uris
from ironcurtain.decision.decide import Call
from ironcurtain.decision.reserved_tools import COMPLETE, ELICITATION, GET_PROMPT, READ_RESOURCE, SAMPLING
from ironcurtain.servers.config_model import PROTOCOL_META
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import AbstractStruct

_OF_EACH_REQUEST = frozenset({"progressToken", "progress_token"})


class ServerRequest(AbstractStruct):
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
            arguments: The evaluated arguments.
            envelope: The members of its params that are not evaluated: `_meta`, answers, state.
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
        params = {"uri": resource_uri(arguments), **envelope}
        return types.ReadResourceRequest(params=types.ReadResourceRequestParams.model_validate(params))


class PromptGet(ServerRequest):
    """`prompts/get`."""

    def message(self, arguments: Mapping[str, JsonValue], envelope: Mapping[str, Any]) -> types.ClientRequest:
        """Return the message to the server."""
        params = types.GetPromptRequestParams.model_validate({**arguments, **envelope})
        return types.GetPromptRequest(params=params)


class CompletionRequest(ServerRequest):
    """`completion/complete`."""

    def message(self, arguments: Mapping[str, JsonValue], envelope: Mapping[str, Any]) -> types.ClientRequest:
        """Return the message to the server."""
        params = types.CompleteRequestParams.model_validate({**arguments, **envelope})
        return types.CompleteRequest(params=params)


# -- calls of reserved tools -------------------------------------------------------------------


def read_resource(server: str, uri: str) -> Call:
    """Return the call that reading a resource is decided as.

    A file's URI that programs read in several ways stays a URI, which is no path, and is refused as one.
    """
    kind = resource_uris.kind_of(uri)
    path = resource_uris.path_of(uri) if kind == "file" else None
    return Call(server, READ_RESOURCE, {"uri": uri if path is None else path, "scheme": kind})


def resource_uri(arguments: Mapping[str, JsonValue]) -> str:
    """Return the URI that a server is sent for evaluated arguments."""
    uri = str(arguments["uri"])
    return resource_uris.uri_of(uri) if arguments["scheme"] == "file" else uri


def get_prompt(server: str, name: str, arguments: Mapping[str, str] | None) -> Call:
    """Return the call that getting a prompt is decided as; `name` is the server's own."""
    return Call(server, GET_PROMPT, {"name": name, "arguments": dict(arguments or {})})


def complete(server: str, params: types.CompleteRequestParams) -> Call:
    """Return the call that a completion is decided as."""
    return Call(server, COMPLETE, _plain(params, "ref", "argument", "context"))


def asked_of_client(server: str, request: types.CreateMessageRequest | types.ElicitRequest) -> Call:
    """Return the call that a server's question to the client is decided as.

    A person who reads it must know who asks, so the server's name stands before an elicitation's text. Of its
    `_meta` the client gets all but what belongs to the protocol.
    """
    params = request.params.model_dump(by_alias=True, mode="json", exclude_none=True)
    meta = {
        name: value
        for name, value in params.pop("_meta", {}).items()
        if name not in _OF_EACH_REQUEST and not name.startswith(PROTOCOL_META)
    }
    if isinstance(request, types.CreateMessageRequest):
        return Call(server, SAMPLING, {"request": params}, meta=meta)
    asked = {**params, "message": f"[{server}] {params['message']}"}
    return Call(server, ELICITATION, {"request": asked}, meta=meta)


def question_of(
    call: Call, arguments: Mapping[str, JsonValue]
) -> types.CreateMessageRequest | types.ElicitRequest:
    """Return the question that a client is asked for evaluated arguments, with the `_meta` of its call."""
    kind = types.CreateMessageRequest if call.tool == SAMPLING else types.ElicitRequest
    params = json_text.members(arguments["request"])
    if call.meta:
        params = {**params, "_meta": {**call.meta}}
    return kind.model_validate({"method": kind.model_fields["method"].default, "params": params})


def _plain(params: Any, *names: str) -> dict[str, JsonValue]:  # noqa: ANN401 - any of the SDK's models
    dumped = params.model_dump(by_alias=True, mode="json", exclude_none=True)
    return {name: dumped[name] for name in names if name in dumped}
