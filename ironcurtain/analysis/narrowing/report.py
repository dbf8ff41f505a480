"""What a policy leaves of each tool's input schema (`ironcurtain/narrowing/v1`)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ironcurtain.system.frozen import Digest, Frozen, JsonValue, ServerName


class NarrowedTool(Frozen):
    """One tool as an agent may be shown it.

    Attributes:
        reachable: Whether some call of it could be allowed or escalated; if not, the tool can be hidden.
        input_schema: The server's schema, reduced to what could be allowed or escalated. Every call that is
            is valid under it. None where the tool has no schema or is not reachable.
        reasons: Why the schema may be wider than the policy; empty where every test was followed.
    """

    server: ServerName
    tool: str
    reachable: bool
    input_schema: dict[str, JsonValue] | None = None
    reasons: tuple[str, ...] = ()


class Narrowing(Frozen):
    """Every annotated tool under one policy.

    Attributes:
        revision: The bundle's revision.
        tools: In order of server and annotation.
    """

    format: Literal["ironcurtain/narrowing/v1"] = "ironcurtain/narrowing/v1"
    revision: Digest
    tools: tuple[NarrowedTool, ...] = Field(default=())

    def find(self, server: str, tool: str) -> NarrowedTool | None:
        """Return a tool, or None if it is not annotated."""
        return next((t for t in self.tools if (t.server, t.tool) == (server, tool)), None)
