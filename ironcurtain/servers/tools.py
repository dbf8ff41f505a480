"""One tool as its server lists it, and the digest by which we notice that it changed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from pydantic import Field

from ironcurtain.errors import IronCurtainError, ServerFailedError
from ironcurtain.servers.schemas import schema_problem
from ironcurtain.system import json_text
from ironcurtain.system.frozen import Frozen, JsonValue
from ironcurtain.system.text import quoted

_TOOL_NAME = re.compile(r"[A-Za-z0-9_.:/-]{1,128}\Z")
MAX_TOOLS = 1_000
"""How many tools of one server are read."""


class ToolListing(Frozen):
    """A tool of a `tools/list` result.

    Attributes:
        description: The server's own text about it: untrusted.
        input_schema: JSON Schema of its arguments.
        annotations: The server's hints (`readOnlyHint`, …): untrusted, shown to the annotator only.
        listing_digest: Digest of all that a client is told of the tool; None where that is not known.
    """

    name: str
    description: str = ""
    input_schema: dict[str, JsonValue]
    annotations: dict[str, JsonValue] = Field(default_factory=dict)
    listing_digest: str | None = None

    @classmethod
    def of(cls, told: Mapping[str, JsonValue]) -> ToolListing:
        """Return the listing of a tool as the protocol writes it, with the digest of the whole of it."""
        return cls.model_validate(
            {
                "name": told["name"],
                "description": told.get("description") or "",
                "input_schema": told["inputSchema"],
                "annotations": told.get("annotations") or {},
                "listing_digest": json_text.digest(told),
            }
        )


def tool_digest(tool: ToolListing) -> str:
    """Return `sha256:<hex>` over name, description and input schema: what an annotation was made for."""
    return json_text.digest(
        {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
    )


def check_tools(
    server: str, tools: Iterable[ToolListing], known: Collection[str] = ()
) -> list[IronCurtainError]:
    """Return what makes a server's tool list unusable: bad or repeated names, schemas that are none.

    Args:
        server: What the errors name.
        tools: The list.
        known: Digests of tools whose schemas were looked at before, which costs more than all the rest.
    """
    listed = list(tools)
    if len(listed) > MAX_TOOLS:
        return [
            ServerFailedError(f"lists {len(listed):,} tools; at most {MAX_TOOLS:,} are read", where=server)
        ]
    problems = [
        f"lists two tools named {quoted(name)}"
        for name, count in sorted(Counter(tool.name for tool in listed).items())
        if count > 1
    ]
    problems += [
        f"lists a tool named {quoted(tool.name)}; names are of letters, digits and _ . : / - (at most 128)"
        for tool in listed
        if not _TOOL_NAME.match(tool.name)
    ]
    for tool in (each for each in listed if not known or tool_digest(each) not in known):
        problem = schema_problem(tool.input_schema)
        if problem:
            problems.append(f"the input schema of {quoted(tool.name)} is no usable JSON Schema: {problem}")
    return [
        ServerFailedError(f"the server {problem}" if problem.startswith("lists") else problem, where=server)
        for problem in problems
    ]
