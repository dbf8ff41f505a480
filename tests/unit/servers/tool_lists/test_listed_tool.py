"""What a server tells of a tool, read without the SDK: as its models read it, whatever that is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import ListToolsResult, methods
from pydantic import ValidationError

from ironcurtain.servers.tool_lists.listed_tool import ToolPage

SCALARS = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "object", "true", "dark", "any"])
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)


def members(**each: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return objects with some of these members, each mostly as it should be, and some others."""
    known = {name: values | ANYTHING for name, values in each.items()}
    return st.fixed_dictionaries({}, optional={**known, "unknown": ANYTHING})


TEXT = st.text(max_size=5)
FLAG = st.booleans() | st.sampled_from(["true", "no", 1, 0])
SCHEMA = members(
    **{"$schema": TEXT},
    type=st.just("object"),
    properties=st.dictionaries(TEXT, st.booleans() | st.just({"type": "string"}), max_size=2),
    required=st.lists(TEXT, max_size=2),
)
ICON = members(
    src=TEXT, mimeType=TEXT, sizes=st.lists(TEXT, max_size=2), theme=st.sampled_from(["light", "dark"])
)
HINTS = members(title=TEXT, readOnlyHint=FLAG, destructiveHint=FLAG, idempotentHint=FLAG, openWorldHint=FLAG)
MORE = members(
    title=TEXT,
    description=TEXT,
    outputSchema=SCHEMA,
    icons=st.lists(ICON, max_size=2),
    annotations=HINTS,
    execution=members(taskSupport=st.sampled_from(["forbidden", "optional"])),
    _meta=st.dictionaries(TEXT, ANYTHING, max_size=2),
)
PLAIN = {"name": "t", "inputSchema": {"type": "object"}}
TOOLS = st.builds(
    lambda schema, more: {**PLAIN, "inputSchema": schema, **more}, SCHEMA | st.just({"type": "object"}), MORE
)
VERSIONS = st.sampled_from(["2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"])


def told_by_sdk(tool: dict[str, Any], version: str) -> dict[str, Any] | None:
    result = {"tools": [tool], "ttlMs": 0, "cacheScope": "private", "resultType": "complete"}
    try:
        page = methods.parse_server_result("tools/list", version, result)
    except ValidationError:
        return None
    assert isinstance(page, ListToolsResult)
    return page.tools[0].model_dump(mode="json", by_alias=True, exclude_none=True)


def told(tool: dict[str, Any], version: str) -> dict[str, Any] | None:
    try:
        (listed,) = ToolPage.model_validate({"tools": [tool]}).tools
        listed.check_schemas(of_handshake=version != "2026-07-28")
    except ValueError:
        return None
    return listed.told


@given(TOOLS, VERSIONS)
def test_a_tool_is_told_as_by_the_models_of_the_sdk(tool: dict[str, Any], version: str) -> None:
    assert told(tool, version) == told_by_sdk(tool, version)


@pytest.mark.parametrize("name", ["name", "inputSchema"])
def test_a_tool_without_name_or_schema_is_none(name: str) -> None:
    tool = {key: value for key, value in PLAIN.items() if key != name}
    assert told(tool, "2025-11-25") is None
