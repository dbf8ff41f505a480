"""What a server lists, entry by entry, in the protocol's own spelling.

The members that the protocol knows are those of the SDK's models, which take longer to load than most
servers to start (`tests/unit/servers/tool_lists/test_listed_tool.py` holds them against each other). Members
that it does not know are carried, and are part of the digest. An entry that is none of the protocol is left
out, and named; the others are used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from ironcurtain.servers.tools import MAX_TOOLS, ToolListing, few, usable_tools
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted, visible

_MAX_LABEL = 128
_MAX_FAULT = 200

T = TypeVar("T")


class _Told(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, frozen=True, extra="allow", defer_build=True)


class _Icon(_Told):
    src: str
    mime_type: str | None = None
    sizes: list[str] | None = None
    theme: Literal["light", "dark"] | None = None


class _Entry(_Told):
    """An entry of a list."""

    name: str
    title: str | None = None
    description: str | None = None
    icons: list[_Icon] | None = None
    meta: Annotated[dict[str, Any] | None, Field(alias="_meta")] = None

    @property
    def told(self) -> dict[str, JsonValue]:
        """All that a client is told of it."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


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


class ListedTool(_Entry):
    """A tool of a `tools/list` result."""

    input_schema: dict[str, Any]
    execution: _Execution | None = None
    output_schema: dict[str, Any] | None = None
    annotations: _Hints | None = None

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
                raise ValueError(f"{member}.{_fault(error)}") from None


class _PromptArgument(_Told):
    name: str
    title: str | None = None
    description: str | None = None
    required: bool | None = None


class _Prompt(_Entry):
    arguments: list[_PromptArgument] | None = None


class _Annotations(_Told):
    audience: list[Literal["user", "assistant"]] | None = None
    priority: Annotated[float, Field(ge=0.0, le=1.0)] | None = None
    last_modified: str | None = None


class _Resource(_Entry):
    uri: str
    mime_type: str | None = None
    size: int | None = None
    annotations: _Annotations | None = None


class _Template(_Entry):
    uri_template: str
    mime_type: str | None = None
    annotations: _Annotations | None = None


class ListKind(Struct):
    """A kind of list.

    Attributes:
        method: What it is asked for by.
        member: The member of the result that has its entries.
        word: What one of them is called.
        entry: What one of them is, in the protocol.
    """

    method: str
    member: str
    word: str
    entry: type[_Entry]


TOOLS: Final = ListKind("tools/list", "tools", "tool", ListedTool)
PROMPTS: Final = ListKind("prompts/list", "prompts", "prompt", _Prompt)
RESOURCES: Final = ListKind("resources/list", "resources", "resource", _Resource)
TEMPLATES: Final = ListKind("resources/templates/list", "resourceTemplates", "resource template", _Template)


def read_entries(
    kind: ListKind, listed: Sequence[JsonValue]
) -> tuple[tuple[dict[str, JsonValue], ...], tuple[str, ...]]:
    """Return all that clients are told of each entry of a list, and what is wrong with those left out."""
    entries, problems = _each(kind, listed, kind.entry.model_validate)
    return tuple(entry.told for entry in entries), few(problems)


def read_tools(
    listed: Sequence[JsonValue], *, of_handshake: bool, between: Callable[[], object] = lambda: None
) -> tuple[tuple[ToolListing, ...], tuple[str, ...]]:
    """Return the tools of a list that can be used, and what is wrong with those left out.

    Args:
        listed: The entries, as the server wrote them.
        of_handshake: As in `ListedTool.check_schemas`.
        between: Called before each tool is looked at, which may take a second.
    """
    tools, problems = _each(TOOLS, listed[:MAX_TOOLS], partial(_tool, of_handshake=of_handshake))
    usable, more = usable_tools(tools, between=between)
    if len(listed) > MAX_TOOLS:
        problems.append(f"it lists more than {MAX_TOOLS:,} tools: the others are left out")
    return usable, few([*problems, *more])


def _tool(entry: JsonValue, *, of_handshake: bool) -> ToolListing:
    tool = ListedTool.model_validate(entry)
    tool.check_schemas(of_handshake=of_handshake)
    return ToolListing.of(tool.told)


def _each(
    kind: ListKind, listed: Sequence[JsonValue], read: Callable[[JsonValue], T]
) -> tuple[list[T], list[str]]:
    good: list[T] = []
    problems: list[str] = []
    for number, entry in enumerate(listed, 1):
        try:
            if not isinstance(entry, dict):
                raise ValueError("it is no object")  # noqa: TRY004, TRY301 - as of any other entry
            good.append(read(entry))
        except ValueError as error:
            problems.append(f"the {kind.word} {_label(entry, number)} is left out: {_fault(error)}")
    return good, problems


def _label(entry: JsonValue, number: int) -> str:
    name = entry.get("name") if isinstance(entry, dict) else None
    return quoted(name[:_MAX_LABEL]) if isinstance(name, str) else f"at place {number:,}"


def _fault(error: ValueError) -> str:
    if not isinstance(error, ValidationError):
        return visible(str(error))[:_MAX_FAULT]
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"]))
    return visible(f"{place}: {first['msg']}" if place else first["msg"])[:_MAX_FAULT]
