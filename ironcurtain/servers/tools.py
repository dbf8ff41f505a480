"""One tool as its server lists it: whether its schema can be used, and the digest that shows a change.

Lists are also saved (`ironcurtain tools SERVER > FILE`), for servers that cannot be started here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, overload

from pydantic import BaseModel, ConfigDict, Field

from ironcurtain.errors import ServerFailedError, raise_all
from ironcurtain.model.metaschema import schema_fault
from ironcurtain.model.plain_schemas import DIALECTS
from ironcurtain.model.varying import Varying, settled, texts_of
from ironcurtain.system import json_text
from ironcurtain.system.files import load
from ironcurtain.system.frozen import Digest, Frozen, JsonValue
from ironcurtain.system.structs import AbstractStruct
from ironcurtain.system.text import quoted, visible

_DATA_KEYWORDS = frozenset({"const", "enum", "default", "examples", "example"})
_NAME_KEYWORDS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
# Checking a schema takes some seconds per megabyte.
_MAX_BYTES = 1 << 18
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


def schema_problem(schema: dict[str, JsonValue]) -> str | None:
    """Say in plain words why a tool's input schema cannot be used, or None if it can.

    Checked: strict JSON of at most 64 levels and 256 KiB; the meta-schema of its dialect; type `object`;
    every reference stays inside the document and leads somewhere.
    """
    try:
        json_text.check(schema, any_double=True)
    except json_text.MalformedJsonError as error:
        return visible(str(error))
    if schema.get("type", "object") != "object":
        return f"its type is {quoted(str(schema['type']))}, not object"
    dialect = schema.get("$schema")
    if dialect is not None and not _known(dialect):
        return f"its dialect is unknown ($schema is {quoted(str(dialect))})"
    if len(json_text.canonical(schema)) > _MAX_BYTES:
        return f"it is longer than {_MAX_BYTES >> 10} KiB"
    return schema_fault(schema) or _reference_problem(schema)


def _known(dialect: JsonValue) -> bool:
    if not isinstance(dialect, str) or dialect in DIALECTS:
        return isinstance(dialect, str)
    from referencing.jsonschema import UnknownDialect, specification_with  # noqa: PLC0415 - few need it

    try:
        return bool(specification_with(dialect))
    except UnknownDialect:
        return False


def _reference_problem(schema: dict[str, JsonValue]) -> str | None:
    references = list(_references(schema))
    if not references:
        return None
    from referencing import Registry, Specification  # noqa: PLC0415 - few schemas refer to anything
    from referencing.exceptions import Unresolvable  # noqa: PLC0415
    from referencing.jsonschema import DRAFT202012, specification_with  # noqa: PLC0415

    dialect = schema.get("$schema")
    specification: Specification[JsonValue] = (
        specification_with(dialect) if isinstance(dialect, str) else DRAFT202012
    )
    resolver = Registry().resolver_with_root(specification.create_resource(schema))
    for reference in references:
        if not reference.startswith("#"):
            return f"it refers to {quoted(reference)}, outside the document"
        try:
            resolver.lookup(reference)
        except Unresolvable:
            return f"it refers to {quoted(reference)}, which does not exist"
    return None


def _references(node: JsonValue, *, names: bool = False) -> Iterator[str]:
    """Yield every reference of a schema; in an object of `names` the keys are names, not keywords."""
    if isinstance(node, list):
        for item in node:
            yield from _references(item)
    elif isinstance(node, dict):
        for key, value in node.items():
            if names:
                yield from _references(value)
            elif key in _REFERENCES and isinstance(value, str):
                yield value
            elif key not in _DATA_KEYWORDS:
                yield from _references(value, names=key in _NAME_KEYWORDS)


# What is no tool call is decided as a call of `mcp/…`, so no server has a tool of such a name.
_TOOL_NAME = re.compile(r"(?!mcp/)[A-Za-z0-9_.:/-]{1,128}\Z")
MAX_TOOLS = 1_000
"""How many tools of one server are read."""
_MOST_TOLD = 10


class ToolListing(Frozen):
    """A tool of a `tools/list` result.

    Attributes:
        description: The server's own text about it: untrusted.
        input_schema: JSON Schema of its arguments.
        output_schema: JSON Schema of its structured results, where it has one: untrusted and not checked.
        annotations: The server's hints (`readOnlyHint`, …): untrusted, shown to the annotator only.
        listing_digest: Digest of all that a client is told of the tool; None where that is not known.
        told: All that a client is told of it, as the protocol writes it; None where that is not known.
    """

    name: str
    description: str = ""
    input_schema: dict[str, JsonValue]
    output_schema: dict[str, JsonValue] | None = None
    annotations: dict[str, JsonValue] = Field(default_factory=dict)
    listing_digest: str | None = None
    told: dict[str, Any] | None = Field(default=None, exclude=True, repr=False)

    @classmethod
    def of(cls, told: Mapping[str, JsonValue]) -> ToolListing:
        """Return the listing of a tool as the protocol writes it, with the digest of the whole of it."""
        return cls.model_validate(
            {
                "name": told["name"],
                "description": told.get("description") or "",
                "input_schema": told["inputSchema"],
                "output_schema": told.get("outputSchema"),
                "annotations": told.get("annotations") or {},
                "listing_digest": json_text.digest(told),
                "told": dict(told),
            }
        )

    def settled(self, varying: Sequence[Varying]) -> ToolListing:
        """Return the tool with its texts that vary as they were recorded."""
        told = self.told or {"description": self.description, "inputSchema": self.input_schema}
        now = settled(told, varying)
        if now == told:
            return self
        if self.told is not None:
            return ToolListing.of(now)
        # The digest was of what is not known any more.
        texts = {"description": now["description"], "input_schema": now["inputSchema"]}
        return self.model_copy(update={**texts, "listing_digest": None})


class ToldBeside(Frozen):
    """What a server tells clients beside its tools: untrusted.

    Attributes:
        instructions: For the model; empty where it gives none.
        prompts: All that clients are told of each prompt, as the protocol writes it.
    """

    instructions: str = ""
    prompts: tuple[dict[str, JsonValue], ...] = ()

    def settled(self, varying: Sequence[Varying]) -> ToldBeside:
        """Return it with its texts that vary as they were recorded."""
        instructions = settled({"description": self.instructions}, varying)["description"]
        prompts = tuple(settled(prompt, varying) for prompt in self.prompts)
        return ToldBeside(instructions=str(instructions), prompts=prompts)


class ListedServer(AbstractStruct, Sequence[ToolListing]):
    """A server's tools, sorted by name, with what it tells beside them.

    Attributes:
        tools: The tools.
        beside: The rest; None where it was not read.
        problems: What is wrong with the entries of its lists that are left out, in plain words.
    """

    tools: tuple[ToolListing, ...] = ()
    beside: ToldBeside | None = None
    problems: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Return the number of tools."""
        return len(self.tools)

    @overload
    def __getitem__(self, place: int) -> ToolListing: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[ToolListing]: ...

    def __getitem__(self, place: int | slice) -> ToolListing | Sequence[ToolListing]:
        """Return a tool by its place."""
        return self.tools[place]

    @property
    def texts(self) -> str:
        """All descriptions and titles, one below the other."""
        told = [tool.told or {"description": tool.description, "s": tool.input_schema} for tool in self.tools]
        beside = self.beside or ToldBeside()
        return "\n".join(texts_of([*told, *beside.prompts, {"description": beside.instructions}]))

    def settled(self, varying: Sequence[Varying]) -> ListedServer:
        """Return the server with its texts that vary as they were recorded."""
        beside = self.beside.settled(varying) if self.beside is not None else None
        return ListedServer(tuple(tool.settled(varying) for tool in self.tools), beside, self.problems)


Tools = dict[str, ListedServer]
"""Each server as it was listed, by its name."""


def tool_digest(tool: ToolListing) -> str:
    """Return `sha256:<hex>` over name, description and input schema: what an annotation was made for."""
    return json_text.digest(
        {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
    )


def usable_tools(
    tools: Iterable[ToolListing], known: Collection[str] = (), between: Callable[[], object] = lambda: None
) -> tuple[tuple[ToolListing, ...], list[str]]:
    """Return the tools that can be used, and what is wrong with those left out.

    Args:
        tools: The list; a tool that is listed again, the same in all that is told of it, is one tool.
        known: Digests of tools whose schemas were looked at before, which costs more than all the rest.
        between: Called before each tool is looked at.
    """
    first: dict[str, ToolListing] = {}
    problems: dict[str, str] = {}
    for tool in tools:
        if first.setdefault(tool.name, tool) != tool:
            problems[tool.name] = f"two tools are named {quoted(tool.name)}: both are left out"
    for name, tool in first.items():
        between()
        if name not in problems and (problem := _problem(tool, known)):
            problems[name] = f"the tool {quoted(name)} is left out: {problem}"
    return tuple(tool for name, tool in first.items() if name not in problems), [*problems.values()]


def _problem(tool: ToolListing, known: Collection[str]) -> str:
    if not _TOOL_NAME.match(tool.name):
        return "names are of letters, digits and _ . : / - (at most 128), and none begins with mcp/"
    problem = None if known and tool_digest(tool) in known else schema_problem(tool.input_schema)
    return f"its input schema is no usable JSON Schema: {problem}" if problem else ""


def few(problems: Sequence[str]) -> tuple[str, ...]:
    """Return the first of some problems, and how many more there are."""
    more = len(problems) - _MOST_TOLD
    return (*problems[:_MOST_TOLD], *([f"and {more:,} more like these"] if more > 0 else []))


def left_out(tools: Tools) -> list[str]:
    """Return, for who reads lists of servers, a sentence for each entry of them that is left out."""
    return [f"server {name}: {problem}" for name, server in tools.items() for problem in server.problems]


class _SavedTool(BaseModel):
    """A tool in MCP's own spelling; what we do not use (icons, titles, …) is passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    name: str
    description: str | None = None
    input_schema: dict[str, JsonValue] = Field(alias="inputSchema")
    output_schema: dict[str, JsonValue] | None = Field(default=None, alias="outputSchema")
    annotations: dict[str, JsonValue] | None = None
    listing_digest: Digest | None = Field(default=None, alias="listingDigest")


class SavedTools(BaseModel):
    """A saved `tools/list` result; the bare result of another program (without `format`) is one too."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    format: Literal["ironcurtain/tools/v1"] = "ironcurtain/tools/v1"
    tools: tuple[_SavedTool, ...]
    instructions: str | None = None
    prompts: tuple[dict[str, JsonValue], ...] | None = None


def read_saved_tools(server: str, path: Path, known: Collection[str] = ()) -> ListedServer:
    """Read a saved tool list, held to the same rules as a live one; `known` as in `usable_tools`.

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
            output_schema=tool.output_schema,
            annotations=tool.annotations or {},
            listing_digest=tool.listing_digest,
        )
        for tool in saved.tools
    )
    usable, problems = usable_tools(tools, known)
    raise_all([ServerFailedError(problem, where=f"{server} ({path})") for problem in problems])
    if len(usable) > MAX_TOOLS:
        raise ServerFailedError(f"more than {MAX_TOOLS:,} tools", where=f"{server} ({path})")
    if saved.instructions is None or saved.prompts is None:
        return ListedServer(usable)
    return ListedServer(usable, ToldBeside(instructions=saved.instructions, prompts=saved.prompts))


def saved_document(server: ListedServer) -> dict[str, JsonValue]:
    """Return the document that `read_saved_tools` reads, for writing as JSON."""
    return {
        "format": "ironcurtain/tools/v1",
        "tools": [
            {
                "name": tool.name,
                "description": tool.description,
                "inputSchema": tool.input_schema,
                **({"outputSchema": tool.output_schema} if tool.output_schema is not None else {}),
                "annotations": tool.annotations,
                **({"listingDigest": tool.listing_digest} if tool.listing_digest else {}),
            }
            for tool in server
        ],
        **(server.beside.model_dump(mode="json") if server.beside is not None else {}),
    }
