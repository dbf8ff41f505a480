"""The check that no argument which looks like a resource goes without a resource role.

It reads names, defaults, examples and descriptions, so it raises false alarms; a person confirms those,
with a reason, for the tool as it is: a changed tool has to be confirmed again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from ironcurtain.errors import IronCurtainError, UnconfirmedArgumentError
from ironcurtain.model import jsontext
from ironcurtain.model.annotations import Annotations, ToolAnnotation
from ironcurtain.model.base import Digest, Frozen, Json, ServerName
from ironcurtain.pipeline.schema_leaves import Leaf, leaves
from ironcurtain.roles.registry import Registry
from ironcurtain.text import quoted

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_NAMES = {
    "path": frozenset({"path", "paths", "file", "files", "filename", "filepath", "dir", "dirs", "directory"})
    | {"directories", "folder", "folders", "cwd", "worktree"},
    "URL": frozenset({"url", "urls", "uri", "uris", "link", "href", "endpoint", "webhook", "remote"}),
    "address": frozenset({"email", "emails", "mail", "recipient", "recipients", "cc", "bcc", "attendees"}),
}
_VALUES = {
    "path": re.compile(r"(?:~|\.{1,2})?/[^\s/].*|~|\.{1,2}|[A-Za-z]:\\.*"),
    "URL": re.compile(r"(?:https?|ssh|git|ftp)://.+|[\w.-]+@[\w.-]+:.+"),
    "address": re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+"),
}
_TEXTS = {
    "path": re.compile(
        r"\b(?:file|directory|folder|absolute|relative|destination|repository) path|\bpaths? (?:to|of)\b"
        r"|\b(?:file|directory|folder)s? to (?:read|write|delete|create|open|list|stage|move|copy)\b",
        re.IGNORECASE,
    ),
    "URL": re.compile(r"\bURLs?\b|\bURIs?\b|\bweb address", re.IGNORECASE),
    "address": re.compile(r"\be-?mail address(?:es)?\b|\brecipients?\b", re.IGNORECASE),
}
_LISTED = re.compile(
    r"comma[- ]separated|JSON(?:[- ]encoded)? (?:array|list|string|object)|as JSON", re.IGNORECASE
)
_VALUE_KEYS = ("default", "const", "example")


class ConfirmedArgument(Frozen):
    """A person's word about one argument of a tool, or about what the tool's effects are confined to.

    Attributes:
        arg: The argument that is no resource although it looks like one; None when `contained` is meant.
        contained: True confirms that every effect of the tool lies under its path arguments or is named
            by another resource argument.
        schema_digest: The tool as it was when the person looked at it.
        by: Who says so.
    """

    server: ServerName
    tool: str
    arg: str | None = None
    contained: bool = False
    schema_digest: Digest
    by: str = Field(min_length=1)
    reason: str = Field(min_length=1)


class Confirmations(Frozen):
    """The file `confirmations.yaml`."""

    format: Literal["ironcurtain/confirmations/v1"]
    confirmed: tuple[ConfirmedArgument, ...] = ()


def check_heuristics(annotations: Annotations, registry: Registry) -> list[IronCurtainError]:
    """Return an error for each argument that looks like a resource, has no such role and is not confirmed.

    Tools without `input_schema` are judged by their arguments' names alone.
    """
    return [
        error
        for server, annotated in annotations.servers.items()
        for tool in annotated.tools
        for error in _tool_errors(server, tool, registry)
    ]


def _tool_errors(server: str, tool: ToolAnnotation, registry: Registry) -> Iterator[IronCurtainError]:
    confirmed = {confirmation.arg for confirmation in tool.confirmed}
    covered = {name for composite in tool.composites for name in composite.join}
    for leaf in leaves(tool):
        if leaf.is_plain_element:
            continue  # the array itself is looked at, with what the schema says of its elements
        if {leaf.name, leaf.top_level} & (confirmed | covered) or _is_resource(leaf, tool, registry):
            continue
        suspicion = suspicion_of(leaf)
        if suspicion:
            yield UnconfirmedArgumentError(
                f"argument {quoted(leaf.name)} of {quoted(tool.tool)} looks like {suspicion} "
                "but has no such role",
                where=server,
                hint="Give it the role, or confirm that it is none in confirmations.yaml: "
                + jsontext.canonical(_entry(server, tool, leaf)).decode(),
            )


def suspicion_of(leaf: Leaf) -> str | None:
    """Say what an argument looks like and why, or None if it looks like nothing of the kind."""
    schema = leaf.schema
    items = _items(schema)
    if not leaf.holds_text or "enum" in schema or "enum" in items:
        return None
    words = {word.lower() for word in _WORD.findall(leaf.last_name)}
    texts = [text for part in (schema, items) for sample in _samples(part) for text in _strings(sample)]
    description = f"{schema.get('description', '')} {items.get('description', '')}"
    for kind, names in _NAMES.items():
        if words & names:
            return f"a {kind} (its name)"
        if any(_VALUES[kind].fullmatch(text) for text in texts):
            return f"a {kind} (its default or example)"
        if _TEXTS[kind].search(description):
            several = "a list of values in one string that mentions " if _LISTED.search(description) else ""
            return f"{several}a {kind} (its description)"
    return None


def _is_resource(leaf: Leaf, tool: ToolAnnotation, registry: Registry) -> bool:
    return any(
        role in registry and registry[role].resource
        for argument in tool.args
        if argument.name in {leaf.name, leaf.top_level, f"/{leaf.top_level}/*"}
        for role in argument.possible_roles
    )


def _entry(server: str, tool: ToolAnnotation, leaf: Leaf) -> dict[str, Json]:
    digest = tool.schema_digest or "sha256:…"
    return {
        "server": server,
        "tool": tool.tool,
        "arg": leaf.name,
        "schema_digest": digest,
        "by": "…",
        "reason": "…",
    }


def _items(schema: dict[str, Json]) -> dict[str, Json]:
    items = schema.get("items")
    return items if isinstance(items, dict) else {}


def _samples(schema: dict[str, Json]) -> list[Json]:
    return [schema[key] for key in _VALUE_KEYS if key in schema] + _listed(schema.get("examples"))


def _listed(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _strings(value: Json) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [item for item in _listed(value) if isinstance(item, str)]
