"""The collection of annotations that ships with the product: tools of well-known servers, reviewed by hand.

A tool is found by its digest: name, description and schema as they were reviewed. Then neither a model nor a
person is asked about it. A tool that differs is asked about, and shown what was written for the one it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal

from ironcurtain.compiler.annotate.schema_leaves import argument_schemas
from ironcurtain.decision.roles import NONE, Registry
from ironcurtain.model.annotations import Confirmation, ToolAnnotation
from ironcurtain.model.known import KnownServer
from ironcurtain.servers.tools import ListedServer, ToolListing, read_saved_tools, tool_digest
from ironcurtain.system.assets import KNOWN_SERVERS
from ironcurtain.system.files import load
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted

SHIPPED: Literal["shipped"] = "shipped"
"""The provider of answers that the collection gives."""

LISTS = "lists"
"""Where in the collection's directory the recorded tool lists lie."""

_NOT_ANSWERED = {"schema_digest", "listing_digest", "input_schema", "confirmed", "source"}


class KnownTool(Struct):
    """A tool of the collection.

    Attributes:
        package: Where the tool was read, as `npm:NAME@VERSION`.
        contained_if: What has to hold before it is contained; empty if it is wherever it says so.
    """

    annotation: ToolAnnotation
    server: KnownServer
    package: str

    @property
    def contained_if(self) -> str:
        """What has to hold of the server before the tool is contained."""
        return self.server.contained_if

    @property
    def confirmed(self) -> tuple[Confirmation, ...]:
        """The arguments that look like a resource and were found to be none."""
        return self.annotation.confirmed

    def answer(self, registry: Registry) -> JsonValue:
        """Return the annotation as the content of an answer."""
        return {"tools": [self.entry(registry)]}

    def entry(self, registry: Registry) -> dict[str, JsonValue]:
        """Return the annotation as an entry of an answer; roles that a project lacks become proposals."""
        declared = {role.name: role for role in self.server.roles if role.name not in registry}
        args: list[JsonValue] = []
        proposed: list[JsonValue] = []
        for argument in self.annotation.args:
            dumped = argument.model_dump(mode="json", by_alias=True, exclude_unset=True)
            lacking = [role for role in argument.possible_roles if role in declared]
            args.append({**dumped, "roles": [NONE]} if lacking else dumped)
            proposed += [
                {"arg": argument.name, **declared[role].model_dump(mode="json", exclude_unset=True)}
                for role in lacking
            ]
        entry: dict[str, JsonValue] = self.annotation.model_dump(
            mode="json", by_alias=True, exclude_unset=True, exclude=_NOT_ANSWERED
        )
        entry |= {"contained": self.annotation.contained, "comment": self.annotation.comment, "args": args}
        return entry | ({"proposed_roles": proposed} if proposed else {})


class ChangedTool(Struct):
    """A tool that is not in the collection as it is, and the one of it that it was.

    Attributes:
        changes: What differs, one phrase each.
    """

    known: KnownTool
    changes: tuple[str, ...]


class KnownServers:
    """The well-known servers of a directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    @cached_property
    def servers(self) -> tuple[KnownServer, ...]:
        """All servers, by name.

        Raises:
            FileError, FormatError: If a file cannot be used.
        """
        return tuple(load(path, KnownServer) for path in sorted(self._directory.glob("*.json")))

    def find(self, tool: ToolListing) -> KnownTool | None:
        """Return the annotation of a tool as it is now, or None if there is none for it."""
        digest = tool_digest(tool)
        found = self._by_digest.get(digest) or self._varied(tool)
        return self._known(*found) if found else None

    def of_digest(self, digest: str | None) -> KnownTool | None:
        """Return the annotation of a tool by its digest, as `find` does for what varies in no way."""
        found = self._by_digest.get(digest or "")
        return self._known(*found) if found else None

    def changed(self, tool: ToolListing, beside: Sequence[ToolListing]) -> ChangedTool | None:
        """Return what a tool was that is not in the collection as it is; None if nothing is like it.

        `beside` are all tools of its server, which tell whose it is.
        """
        names = {other.name for other in beside}
        like = [
            (len(names & {each.tool for each in server.tools}), listed, server)
            for server in self.servers
            for listed in self.listed(server, server.versions[-1])
            if listed.name == tool.name and _is_like(listed, tool)
        ]
        if not like:
            return None
        _, listed, server = max(like, key=lambda each: each[0])
        annotation = self._by_digest[tool_digest(listed)][1]
        return ChangedTool(self._known(server, annotation), tuple(_differences(listed, tool)))

    def listed(self, server: KnownServer, version: str) -> ListedServer:
        """Return the tools of a version, as they were recorded."""
        if (server.server, version) not in self._lists:
            path = self._directory / LISTS / f"{server.server}-{version}.json"
            self._lists[server.server, version] = read_saved_tools(
                server.server, path, self._by_digest.keys()
            )
        return self._lists[server.server, version]

    @cached_property
    def _lists(self) -> dict[tuple[str, str], ListedServer]:
        return {}

    @cached_property
    def _by_digest(self) -> Mapping[str, tuple[KnownServer, ToolAnnotation]]:
        return {tool.schema_digest or "": (server, tool) for server in self.servers for tool in server.tools}

    def _known(self, server: KnownServer, annotation: ToolAnnotation) -> KnownTool:
        digest = annotation.schema_digest
        version = next(
            (
                each
                for each in reversed(server.versions)
                if digest in {tool_digest(tool) for tool in self.listed(server, each)}
            ),
            server.versions[-1],
        )
        number = version.partition("~")[0]
        return KnownTool(annotation, server, f"{server.package.registry}:{server.package.name}@{number}")

    def _varied(self, tool: ToolListing) -> tuple[KnownServer, ToolAnnotation] | None:
        """Find a tool that differs only in what each machine fills in for itself."""
        varying = (server.varying for server in self.servers if server.varying is not None)
        digests = (tool_digest(tool.settled((each,))) for each in varying)
        return next((self._by_digest[digest] for digest in digests if digest in self._by_digest), None)


def shipped_collection() -> KnownServers:
    """Return the collection that ships with the product."""
    return KnownServers(KNOWN_SERVERS)


def _is_like(recorded: ToolListing, tool: ToolListing) -> bool:
    """Tell whether two tools of one name can be the same at two times: they share an argument."""
    before, now = argument_schemas(recorded.input_schema), argument_schemas(tool.input_schema)
    return bool(before.keys() & now.keys()) or not (before and now)


def _differences(recorded: ToolListing, tool: ToolListing) -> Iterator[str]:
    before, now = argument_schemas(recorded.input_schema), argument_schemas(tool.input_schema)
    if recorded.description != tool.description:
        yield "its description changed"
    for name in (*before, *(each for each in now if each not in before)):
        if name not in now:
            yield f"argument {quoted(name)} is gone"
        elif name not in before:
            yield f"argument {quoted(name)} is new"
        elif before[name] != now[name]:
            yield f"argument {quoted(name)} changed"
    if recorded.input_schema.get("required") != tool.input_schema.get("required"):
        yield "which arguments are required changed"
