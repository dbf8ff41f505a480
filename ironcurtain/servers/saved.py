"""Saved tool lists: `ironcurtain tools SERVER > FILE`, for servers that cannot be started here."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from ironcurtain.errors import raise_all
from ironcurtain.servers.tools import ToolListing, check_tools
from ironcurtain.system.files import load
from ironcurtain.system.frozen import Digest, JsonValue


class _SavedTool(BaseModel):
    """A tool in MCP's own spelling; what we do not use (icons, output schema, …) is passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    name: str
    description: str | None = None
    input_schema: dict[str, JsonValue] = Field(alias="inputSchema")
    annotations: dict[str, JsonValue] | None = None
    listing_digest: Digest | None = Field(default=None, alias="listingDigest")


class SavedTools(BaseModel):
    """A saved `tools/list` result; the bare result of another program (without `format`) is one too."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    format: Literal["ironcurtain/tools/v1"] = "ironcurtain/tools/v1"
    tools: tuple[_SavedTool, ...]


def read_saved_tools(server: str, path: Path, known: Collection[str] = ()) -> tuple[ToolListing, ...]:
    """Read a saved tool list, held to the same rules as a live one; `known` as in `check_tools`.

    Raises:
        FileError, FormatError: If the file is no tool list.
        ServerFailedError: If a name or schema in it cannot be used.
    """
    saved = load(path, SavedTools)
    tools = tuple(
        ToolListing(
            name=tool.name,
            description=tool.description or "",
            input_schema=tool.input_schema,
            annotations=tool.annotations or {},
            listing_digest=tool.listing_digest,
        )
        for tool in saved.tools
    )
    raise_all(check_tools(f"{server} ({path})", tools, known))
    return tools


def saved_document(tools: Iterable[ToolListing]) -> dict[str, JsonValue]:
    """Return the document that `read_saved_tools` reads, for writing as JSON."""
    return {
        "format": "ironcurtain/tools/v1",
        "tools": [
            {
                "name": tool.name,
                "description": tool.description,
                "inputSchema": tool.input_schema,
                "annotations": tool.annotations,
                **({"listingDigest": tool.listing_digest} if tool.listing_digest else {}),
            }
            for tool in tools
        ],
    }
