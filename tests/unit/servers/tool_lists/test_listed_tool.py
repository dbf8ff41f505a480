"""What a server tells of a tool, read without the SDK: as its models read it, whatever that is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import ListToolsResult, methods
from pydantic import ValidationError

from ironcurtain.servers.tool_lists.listed_tool import ListedTool, read_tools

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
ICONS = {"src", "mimeType", "sizes", "theme"}
PARTS = {
    "annotations": {"title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"},
    "execution": {"taskSupport"},
}
KNOWN = {"name", "title", "description", "inputSchema", "outputSchema", "icons", "_meta", *PARTS}
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
        listed = ListedTool.model_validate(tool)
        listed.check_schemas(of_handshake=version != "2026-07-28")
    except ValueError:
        return None
    return without_unknown(listed.told)


def without_unknown(told: dict[str, Any]) -> dict[str, Any]:
    """Return what the SDK knows of what is told; where nothing is left of a member, the SDK has it empty."""
    known = {name: value for name, value in told.items() if name in KNOWN}
    for name, members_ in PARTS.items():
        if isinstance(part := known.get(name), dict):
            known[name] = {key: value for key, value in part.items() if key in members_}
    if "icons" in known:
        icons = known["icons"]
        known["icons"] = [{key: value for key, value in icon.items() if key in ICONS} for icon in icons]
    return known


@given(TOOLS, VERSIONS)
def test_a_tool_is_told_as_by_the_models_of_the_sdk(tool: dict[str, Any], version: str) -> None:
    assert told(tool, version) == told_by_sdk(tool, version)


def test_what_the_protocol_does_not_know_is_carried_and_in_the_digest() -> None:
    plain: dict[str, Any] = {**PLAIN, "annotations": {"readOnlyHint": True}}
    more = {**plain, "annotations": {"readOnlyHint": True, "category": "files"}, "tags": ["a", None]}
    (listed,), (with_more,) = (read_tools([each], of_handshake=True)[0] for each in (plain, more))
    assert with_more.told == more
    assert with_more.listing_digest != listed.listing_digest


@pytest.mark.parametrize("name", ["name", "inputSchema"])
def test_a_tool_without_name_or_schema_is_none(name: str) -> None:
    tool = {key: value for key, value in PLAIN.items() if key != name}
    assert told(tool, "2025-11-25") is None
