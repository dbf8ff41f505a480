"""The tools of a session: every call goes through the MCP endpoint of the proxy, in this process.

What is listed, narrowed, decided, asked, recorded and answered is what the proxy lists, narrows, decides,
asks, records and answers; this module only translates between the agent library and MCP.
"""

from __future__ import annotations

import base64
import re
import time
from typing import Any

import mcp_types as types
from mcp import Client
from mcp.shared.exceptions import MCPError
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import BinaryContent
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from ironcurtain.bundle.content import PolicyContent
from ironcurtain.enforcement.audit.record_types import DecisionRecord, ResultRecord
from ironcurtain.servers.endpoint_names import full_name, split_endpoint_name
from ironcurtain.servers.unchecked_call import call_unchecked
from ironcurtain.session.events import CallBegan, CallEnded, EventListener
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct

MAX_RESULT = 100_000
"""Characters of a result that the model reads."""

# The policy and the server check arguments; the library only has to read JSON, and the steps are limited.
_ANY_ARGUMENTS = SchemaValidator(core_schema.dict_schema(core_schema.str_schema()))
RETRIES = 1_000
"""How often the library lets a model call what it cannot: the limit of steps ends that sooner."""
# What every provider takes; others would refuse the conversation with it in, at this turn and at each later.
_IMAGES = {
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "image/webp": re.compile(rb"RIFF.{4}WEBP", re.DOTALL),
}
"""By type: how the bytes of such an image begin."""
_MAX_IMAGE = 5_000_000


class LastDecision:
    """What enforcement recorded of the call that is carried out; calls are carried out one after another."""

    def __init__(self) -> None:
        self.record: DecisionRecord | None = None

    def decision(self, record: DecisionRecord) -> None:
        """Hear of a decision."""
        self.record = record

    def result(self, record: ResultRecord) -> None:
        """Hear how a call ended."""


class _Listed(Struct):
    definition: ToolDefinition
    server: str
    full_name: str


class EnforcedToolset(AbstractToolset[None]):
    """The tools that the policy leaves, as the agent library wants them.

    Args:
        client: The client of the endpoint.
        content: The policy.
        recorded: Hears what enforcement records.
        tell: Is told of each call.
    """

    def __init__(
        self, client: Client, content: PolicyContent, recorded: LastDecision, tell: EventListener
    ) -> None:
        self._client, self._content, self._recorded, self._tell = client, content, recorded, tell
        self._tools: dict[str, _Listed] = {}
        self._seen: list[types.Tool] = []
        self._offered: dict[str, ToolsetTool[None]] = {}

    @property
    def id(self) -> str:
        """The library's name of this toolset."""
        return "ironcurtain"

    @property
    def names(self) -> list[str]:
        """The names of the tools as they were listed last."""
        return list(self._tools)

    @property
    def definitions(self) -> list[ToolDefinition]:
        """The tools as they were listed last, for a model."""
        return [listed.definition for listed in self._tools.values()]

    async def refresh(self) -> None:
        """List the tools anew."""
        listed = (await self._client.list_tools(cache_mode="bypass")).tools
        if listed == self._seen:
            return
        self._seen, self._tools, servers = listed, {}, self._content.annotations.servers
        for tool in listed:
            definition = ToolDefinition(
                name=tool.name,
                description=tool.description or "",
                parameters_json_schema=dict(tool.input_schema),
                sequential=True,
            )
            server, own = split_endpoint_name(tool.name, servers, self._content.tools)
            self._tools[tool.name] = _Listed(definition, server, full_name(server, own) if server else own)
        self._offered = {
            name: ToolsetTool(
                toolset=self,
                tool_def=known.definition,
                max_retries=RETRIES,
                args_validator=_ANY_ARGUMENTS,
            )
            for name, known in self._tools.items()
        }

    async def get_tools(self, ctx: RunContext[None]) -> dict[str, ToolsetTool[None]]:  # noqa: ARG002
        """Return the tools as they were listed last."""
        return dict(self._offered)

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[None],
        tool: ToolsetTool[None],  # noqa: ARG002
    ) -> list[str | BinaryContent] | str:
        """Have a call enforced; return what the model is told of it.

        Raises:
            ToolFailed: If the call was refused or failed, with what the model is told.
        """
        began, id_, listed = time.monotonic(), ctx.tool_call_id or "", self._tools[name]
        arguments: dict[str, JsonValue] = tool_args
        self._tell(CallBegan(id_, listed.server, listed.full_name, arguments))
        self._recorded.record = None
        try:
            result = await call_unchecked(self._client, name, arguments)
            failed, content = result.is_error is True, _content(result)
        except MCPError as error:
            failed, content = True, [str(error)]
        text = "\n".join(part for part in content if isinstance(part, str))
        self._tell(self._ended(id_, listed, time.monotonic() - began, text))
        if failed:
            raise ToolFailed(text)
        return text if all(isinstance(part, str) for part in content) else content

    def _ended(self, id_: str, listed: _Listed, seconds: float, text: str) -> CallEnded:
        record = self._recorded.record
        return CallEnded(
            id=id_,
            server=listed.server,
            tool=listed.full_name,
            verdict=record.verdict if record else None,
            approved=bool(record and record.approval and record.approval.state == "approved"),
            happened=bool(record and record.forwarded),
            decision=record.id if record else None,
            rule=record.rule if record else None,
            clause=record.clause if record else None,
            reason=record.reason if record else "",
            seconds=seconds,
            text=text,
            sentence=self._content.clauses.get(record.clause or "", "") if record else "",
        )


def _content(result: types.CallToolResult) -> list[str | BinaryContent]:
    """Return a result for the model: its texts, cut where they are too long, and its images."""
    left, more, parts = MAX_RESULT, 0, list[str | BinaryContent]()
    for block in result.content:
        image = _image(block) if isinstance(block, types.ImageContent) else None
        text = "" if image is not None else _text(block)
        if image is not None or left > 0:
            parts.append(image or text[:left])
        more += max(0, len(text) - left)
        left = max(0, left - len(text) - 1)
    return [*parts, _cut(more)] if more else parts


def _image(block: types.ImageContent) -> BinaryContent | None:
    """Return an image that a model can be shown; None for what is none."""
    beginning = _IMAGES.get(block.mime_type)
    if beginning is None or len(block.data) > _MAX_IMAGE:
        return None
    try:
        data = base64.b64decode(block.data, validate=True)
    except ValueError:
        return None
    return BinaryContent(data, media_type=block.mime_type) if beginning.match(data) else None


def _text(block: types.ContentBlock) -> str:
    match block:
        case types.TextContent():
            return block.text
        case types.EmbeddedResource(resource=types.TextResourceContents() as resource):
            return resource.text
        case types.ResourceLink():
            return f"{block.name}: {block.uri}"
        case _:
            return f"(content of the type {block.type}, which is not shown)"


def _cut(more: int) -> str:
    return f"(IronCurtain: {more:,} more characters are not shown.)"
