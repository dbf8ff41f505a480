"""What is not a tool call, as the call of a reserved tool (specification 2.10), and back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

import mcp_types as types

from ironcurtain.decision.decide import Call
from ironcurtain.decision.reserved_tools import COMPLETE, ELICITATION, GET_PROMPT, READ_RESOURCE, SAMPLING
from ironcurtain.decision.roles import NONE
from ironcurtain.model.policy import If
from ironcurtain.system.frozen import JsonValue

_FILE = "file://"


def read_resource(server: str, uri: str) -> Call:
    """Return the call that reading a resource is decided as."""
    scheme = uri.partition(":")[0].casefold()
    if scheme == "file":
        return Call(server, READ_RESOURCE, {"uri": _path(uri), "scheme": "file"})
    kind = "web" if scheme in ("http", "https") else "other"
    return Call(server, READ_RESOURCE, {"uri": uri, "scheme": kind})


def resource_uri(arguments: Mapping[str, JsonValue]) -> str:
    """Return the URI that a server is sent for judged arguments."""
    uri = str(arguments["uri"])
    return PurePosixPath(uri).as_uri() if arguments["scheme"] == "file" else uri


def _path(uri: str) -> str:
    """Return a file URI's path; one that names no local path stays as it is, and is refused as a path."""
    rest = uri[len(_FILE) :] if uri[: len(_FILE)].casefold() == _FILE else ""
    host, _, path = rest.partition("/")
    if host not in ("", "localhost") or not path or "?" in path or "#" in path:
        return uri
    return "/" + unquote(path, errors="surrogateescape")


def get_prompt(server: str, name: str, arguments: Mapping[str, str] | None) -> Call:
    """Return the call that getting a prompt is decided as; `name` is the server's own."""
    return Call(server, GET_PROMPT, {"name": name, "arguments": dict(arguments or {})})


def complete(server: str, params: types.CompleteRequestParams) -> Call:
    """Return the call that a completion is decided as."""
    return Call(server, COMPLETE, _plain(params, "ref", "argument", "context"))


def asked_of_client(server: str, request: types.CreateMessageRequest | types.ElicitRequest) -> Call:
    """Return the call that a server's question to the client is decided as.

    A person who reads it must know who asks, so the server's name stands before an elicitation's text.
    """
    params = request.params.model_dump(by_alias=True, mode="json", exclude_none=True, exclude={"meta"})
    if isinstance(request, types.CreateMessageRequest):
        return Call(server, SAMPLING, {"request": params})
    return Call(server, ELICITATION, {"request": {**params, "message": f"[{server}] {params['message']}"}})


def question_of(
    tool: str, arguments: Mapping[str, JsonValue]
) -> types.CreateMessageRequest | types.ElicitRequest:
    """Return the question that a client is asked for judged arguments."""
    kind = types.CreateMessageRequest if tool == SAMPLING else types.ElicitRequest
    return kind.model_validate(
        {"method": kind.model_fields["method"].default, "params": arguments["request"]}
    )


def _plain(params: Any, *names: str) -> dict[str, JsonValue]:  # noqa: ANN401 - any of the SDK's models
    dumped = params.model_dump(by_alias=True, mode="json", exclude_none=True)
    return {name: dumped[name] for name in names if name in dumped}


def could_allow(conditions: If | None, server: str, tool: str) -> bool:
    """Tell whether a rule could speak of a reserved tool without resources; a doubt means yes."""
    if conditions is None:
        return True
    return (
        (conditions.server is None or server in conditions.server)
        and (conditions.tool is None or tool in conditions.tool)
        and conditions.side_effects is not False
        and (not conditions.named_roles or NONE in conditions.named_roles)
    )
