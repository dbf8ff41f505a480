"""A tool in the protocol's own spelling: the members that the protocol knows, and no others.

They are those of the SDK's models, which take longer to load than most servers to start; the digest of all
that a client is told of a tool is the same by either (`tests/unit/servers/tool_lists/test_listed_tool.py`).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import quoted


class _Told(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, frozen=True, extra="ignore", defer_build=True)


class _Icon(_Told):
    src: str
    mime_type: str | None = None
    sizes: list[str] | None = None
    theme: Literal["light", "dark"] | None = None


class _Execution(_Told):
    task_support: Literal["forbidden", "optional", "required"] | None = None


class _Hints(_Told):
    title: str | None = None
    read_only_hint: bool | None = None
    destructive_hint: bool | None = None
    idempotent_hint: bool | None = None
    open_world_hint: bool | None = None


class _SchemaRoot(_Told):
    """What the protocol itself asks of the root of a schema."""

    type: Literal["object"]
    properties: dict[str, dict[str, Any] | bool] | None = None
    required: list[str] | None = None
    dialect: Annotated[str | None, Field(alias="$schema")] = None


class ListedTool(_Told):
    """A tool of a `tools/list` result; what the protocol does not know is passed over."""

    name: str
    title: str | None = None
    description: str | None = None
    input_schema: dict[str, Any]
    execution: _Execution | None = None
    output_schema: dict[str, Any] | None = None
    icons: list[_Icon] | None = None
    annotations: _Hints | None = None
    meta: Annotated[dict[str, Any] | None, Field(alias="_meta")] = None

    @property
    def told(self) -> dict[str, JsonValue]:
        """All that a client is told of it."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    def check_schemas(self, *, of_handshake: bool) -> None:
        """Hold its schemas to what the protocol asks of them.

        Args:
            of_handshake: Whether a protocol of the handshake era was agreed on, where schemas of results are
                of objects, too.

        Raises:
            ValueError: If one is none of the protocol; it says which.
        """
        schemas = {"inputSchema": self.input_schema}
        if of_handshake and self.output_schema is not None:
            schemas["outputSchema"] = self.output_schema
        for member, schema in schemas.items():
            try:
                _SchemaRoot.model_validate(schema)
            except ValidationError as error:
                first = error.errors()[0]
                place = ".".join(map(str, (member, *first["loc"])))
                raise ValueError(f"the tool {quoted(self.name)} has {place}: {first['msg']}") from None


class _PromptArgument(_Told):
    name: str
    title: str | None = None
    description: str | None = None
    required: bool | None = None


class ListedPrompt(_Told):
    """A prompt of a `prompts/list` result."""

    name: str
    title: str | None = None
    description: str | None = None
    arguments: list[_PromptArgument] | None = None
    icons: list[_Icon] | None = None
    meta: Annotated[dict[str, Any] | None, Field(alias="_meta")] = None

    @property
    def told(self) -> dict[str, JsonValue]:
        """All that a client is told of it."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class PromptPage(_Told):
    """One page of a list of prompts."""

    prompts: list[ListedPrompt]
    next_cursor: str | None = None


class ToolPage(_Told):
    """One page of a tool list."""

    tools: list[ListedTool]
    next_cursor: str | None = None


class StatelessPage(ToolPage):
    """One page of a tool list in the stateless protocol."""

    cache_scope: Literal["private", "public"]
    ttl_ms: int
    result_type: str
