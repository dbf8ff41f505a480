"""A proxy in front of servers whose tools have the names that a test gives them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fixtures import named_server

from ironcurtain.servers.tools import ToolListing, tool_digest
from support.deployments.proxied import Place
from support.projects.policies import rule, tool, write_bundle


class NamedTools(Place):
    """The directories of one test: each tool may be called, but those that are denied.

    Args:
        root: Where they lie.
        tools: The names of the tools, by server.
        denied: Names of tools.
    """

    def __init__(self, root: Path, tools: dict[str, list[str]], denied: tuple[str, ...] = ()) -> None:
        super().__init__(root, {server: [named_server.__file__, *names] for server, names in tools.items()})
        made = [rule("denied", "deny", tool=list(denied))] if denied else []
        made += [rule("all", "allow", tool=sorted({name for each in tools.values() for name in each}))]
        annotated = {server: [_annotated(name) for name in names] for server, names in tools.items()}
        self.bundle = write_bundle(root, annotated, made)


def _annotated(name: str) -> dict[str, Any]:
    listing = ToolListing(name=name, description="", input_schema=named_server.SCHEMA)
    pinned = {"schema_digest": tool_digest(listing), "input_schema": named_server.SCHEMA}
    return {**tool(name, contained=False), **pinned}
