"""Requests beside tool calls, as clients and servers make them and as the proxy decides them."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any
from urllib.parse import quote

import mcp_types as types

from ironcurtain.decision.decide import Call
from ironcurtain.decision.reserved_tools import RESERVED
from ironcurtain.enforcement.proxy.forwarding import server_requests
from support.generators.published import RESOURCES, WORLD
from support.generators.published_values import containers

REQUESTS: dict[str, dict[str, Any]] = {
    name: json.loads(annotation.model_dump_json(by_alias=True, exclude_unset=True))
    for name, annotation in RESERVED.items()
}
"""The annotation of each, as JSON."""
_TEXTS = ["", "a", "x1", "secret", "alice", "the SECRET\nline", "note:a", "7"]


def random_request(random: Random, server: str) -> tuple[str, dict[str, Any]]:
    """Return tool and arguments of the call that a random request is decided as."""
    asked = random.choice(_KINDS)(random, server)
    return asked.tool, json.loads(json.dumps(asked.arguments))


def _read(random: Random, server: str) -> Call:
    """Read a resource, or subscribe to it; that of a template has a URI like any other."""
    path = random.choice(RESOURCES["path"]).replace("~", WORLD.home)
    uris = [
        f"file://{path}",
        f"file://{quote(path)}",
        f"FILE://localhost{path}",
        f"file:{path}",
        random.choice(RESOURCES["fetch-url"]),
        random.choice(RESOURCES["resource-uri"]),
        random.choice(["note:", "no uri at all", "http:/x", "file://elsewhere/a"]),
    ]
    return server_requests.read_resource(server, random.choice(uris))


def _prompt(random: Random, server: str) -> Call:
    arguments = {random.choice(_TEXTS): random.choice(_TEXTS) for _ in range(random.randrange(3))}
    return server_requests.get_prompt(server, random.choice(_TEXTS), random.choice([None, arguments]))


def _completion(random: Random, server: str) -> Call:
    ref: Any = random.choice(
        [
            types.PromptReference(type="ref/prompt", name=random.choice(_TEXTS)),
            types.ResourceTemplateReference(type="ref/resource", uri="file:///{path}"),
        ]
    )
    argument = types.CompletionArgument(name=random.choice(_TEXTS), value=random.choice(_TEXTS))
    known = types.CompletionContext(arguments={"k": random.choice(_TEXTS)})
    params = types.CompleteRequestParams(ref=ref, argument=argument, context=random.choice([None, known]))
    return server_requests.complete(server, params)


def _sampling(random: Random, server: str) -> Call:
    text = types.TextContent(type="text", text=random.choice(_TEXTS))
    params = types.CreateMessageRequestParams(
        messages=[types.SamplingMessage(role="user", content=text)],
        max_tokens=random.choice([1, 7, 100]),
        system_prompt=random.choice([None, *_TEXTS]),
        metadata=random.choice([None, {"k": random.choice(containers())}]),
    )
    asked = types.CreateMessageRequest(params=params)
    return server_requests.asked_of_client(server, asked)


def _elicitation(random: Random, server: str) -> Call:
    params = types.ElicitRequestFormParams(
        message=random.choice(_TEXTS), requested_schema={"type": "object", "properties": {}}
    )
    asked = types.ElicitRequest(params=params)
    return server_requests.asked_of_client(server, asked)


_KINDS: list[Callable[[Random, str], Call]] = [
    _read,
    _read,
    _read,
    _prompt,
    _completion,
    _sampling,
    _elicitation,
]
