"""The check that no argument which looks like a resource, or like several, is annotated as less.

It reads names, defaults, examples and descriptions, so it raises false alarms; a person confirms those,
with a reason, for the tool as it is: a changed tool has to be confirmed again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from ironcurtain.compiler.annotate.embedded_languages import languages
from ironcurtain.compiler.annotate.schema_leaves import SchemaLeaf, leaves, required_arguments
from ironcurtain.decision.roles import Registry
from ironcurtain.errors import IronCurtainError, UnconfirmedArgumentError
from ironcurtain.model.annotations import Annotations, IdentifierRole, ToolAnnotation
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import quoted

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_NAMES = {
    "path": frozenset({"path", "paths", "file", "files", "filename", "filepath", "dir", "dirs", "directory"})
    | {"directories", "folder", "folders", "cwd", "worktree"},
    "URL": frozenset({"url", "urls", "uri", "uris", "link", "href", "endpoint", "webhook", "remote"}),
    "address": frozenset({"email", "emails", "mail", "recipient", "recipients", "cc", "bcc", "attendees"}),
}
_CONTENT = (
    r"contents?|text|body|subject|title|description|data|bytes|size|type|format|mode|encoding|language|lines?"
    r"|extension|hash|checksum|permissions"
)
_OF_ANOTHER = re.compile(_CONTENT, re.IGNORECASE)
"""A name that ends so is that of something in or about the resource: `file_content`, `emailSubject`."""

_REFERENCES = frozenset({"key", "keys", "id", "ids"})
"""A name that ends so is that of what stands for the resource at the server: `fileKey`, `email_id`."""

_VALUES = {
    "path": re.compile(r"(?:~|\.{1,2})?/[^\s/].*|~|\.{1,2}|[A-Za-z]:\\.*"),
    "URL": re.compile(r"(?:https?|ssh|git|ftp)://.+|[\w.-]+@[\w.-]+:.+"),
    "address": re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+"),
}
_USED = {**_VALUES, "path": re.compile(r"~?/[^\s/]+/\S.*")}
"""What values of calls must look like; a `.` or one name after a slash may well be something else."""
_TEXTS = {
    "path": re.compile(
        r"\b(?:file|directory|folder|absolute|relative|destination|repository) path|\bpaths? (?:to|of)\b",
        re.IGNORECASE,
    ),
    "URL": re.compile(r"\bURLs?\b|\bURIs?\b|\bweb address", re.IGNORECASE),
    "address": re.compile(r"\be-?mail address(?:es)?\b", re.IGNORECASE),
}
_MENTIONS = {
    "path": re.compile(
        r"\b(?:file|directory|folder)s? to (?:read|write|delete|create|open|list|stage|move|copy)\b",
        re.IGNORECASE,
    ),
    "address": re.compile(r"\brecipients?\b", re.IGNORECASE),
}
"""What a description says of a resource, or of what goes into one: `The content of the file to create`."""

_RECIPIENTS = re.compile(
    r"to|ccs?|bccs?|(?:recipient|payee|beneficiary|receiver|addressee|attendee|invitee|iban|phone)s?"
    r"|beneficiaries|e?mails?"
)
_RECEIVING = re.compile(
    r"\b(?:recipient|payee|beneficiar(?:y|ie)|addressee|receiver|invitee|attendee|IBAN)s?\b|\bwho(?:m)? to\b"
    r"|\bphone number|\be-?mail address",
    re.IGNORECASE,
)
"""How names end, and what descriptions say, where an argument tells who gets something."""

_BEGINS_WITH_CONTENT = re.compile(
    rf"\W*(?:(?:the|a|an|its|new|full|complete|entire|whole|updated|initial|raw|plain|optional) )*"
    rf"(?:{_CONTENT})\b(?! files?\b| paths?\b)",
    re.IGNORECASE,
)
_LISTED = re.compile(
    r"comma[- ]separated|JSON(?:[- ]encoded)? (?:array|list|string|object)|as JSON", re.IGNORECASE
)
_VALUE_KEYS = ("default", "const", "example")
_STATED_DEFAULT = re.compile(
    r"\bdefault(?:s\s+to|\s+is|\s+value(?:\s+is)?|\s*[:=])\s*[:=]?\s*(?P<value>[^\s,;()]+)", re.IGNORECASE
)


def check_heuristics(
    annotations: Annotations, registry: Registry, proposed: Collection[tuple[str, str, str]] = ()
) -> list[IronCurtainError]:
    """Return an error for each argument that looks like a resource, has no such role and is not confirmed.

    Tools without `input_schema` are judged by their arguments' names alone.

    `proposed` names server, tool and name of each argument that a role is proposed for: it is something, so
    nobody is told to confirm that it is nothing.
    """
    return [
        error
        for server, annotated in annotations.servers.items()
        for tool in annotated.tools
        for error in _tool_errors(server, tool, registry, proposed)
    ]


def heuristic_notes(annotations: Annotations, registry: Registry) -> list[str]:
    """Return what a person should know about arguments, one line each.

    These are resources whose default stands only in a description, and arguments that hold a language.
    """
    return [
        f"{server}: {note}"
        for server, annotated in annotations.servers.items()
        for tool in annotated.tools
        for note in (*_stated_defaults(tool, registry), *_language_notes(tool))
    ]


def _stated_defaults(tool: ToolAnnotation, registry: Registry) -> Iterator[str]:
    required = {argument.name for argument in tool.args if argument.required}
    demanded = required_arguments(tool.input_schema or {})
    for leaf in leaves(tool):
        stated = _STATED_DEFAULT.search(str(leaf.schema.get("description", "")))
        if stated is None or leaf.schema.get("default") is not None or not _is_resource(leaf, tool, registry):
            continue
        if leaf.name not in required and leaf.name not in demanded:
            yield (
                f"argument {quoted(leaf.name)} of {quoted(tool.tool)} is said to default to "
                f"{quoted(stated['value'].rstrip('.'))}, but the schema declares no default, so nothing is "
                "judged where it is left out"
            )


def _language_notes(tool: ToolAnnotation) -> Iterator[str]:
    for name, language in languages(tool).items():
        yield (
            f"argument {quoted(name)} of {quoted(tool.tool)} holds {language}, which cannot be judged by its "
            "value; rules judge the tool as a whole"
        )


def _tool_errors(
    server: str, tool: ToolAnnotation, registry: Registry, proposed: Collection[tuple[str, str, str]]
) -> Iterator[IronCurtainError]:
    confirmed = {confirmation.arg for confirmation in tool.confirmed}
    covered = {name for composite in tool.composites for name in composite.join}
    for leaf in leaves(tool):
        if leaf.is_plain_element:
            continue  # the array itself is looked at, with what the schema says of its elements
        if leaf.spellings & (confirmed | covered):
            continue
        if _is_resource(leaf, tool, registry):
            yield from _codec_errors(server, tool, leaf)
            continue
        suspicion = suspicion_of(leaf)
        if suspicion and not any((server, tool.tool, name) in proposed for name in leaf.spellings):
            yield UnconfirmedArgumentError(
                f"argument {quoted(leaf.name)} of {quoted(tool.tool)} looks like {suspicion} "
                "but has no such role",
                where=server,
                hint="Give it the role, or confirm that it is none in confirmations.yaml: "
                + json_text.canonical(_entry(server, tool, leaf)).decode(),
            )


def _codec_errors(server: str, tool: ToolAnnotation, leaf: SchemaLeaf) -> Iterator[IronCurtainError]:
    """Yield an error for a string that seems to hold several resources but is judged as one."""
    argument = next((a for a in tool.args if a.name == leaf.name), None)
    texts = leaf.schema.get("type") in ("string", ["string", "null"], ["null", "string"])
    if argument is None or argument.codec or not texts:
        return
    if _LISTED.search(str(leaf.schema.get("description", ""))):
        yield UnconfirmedArgumentError(
            f"argument {quoted(leaf.name)} of {quoted(tool.tool)} seems to hold several values in one string "
            "but has no codec",
            where=server,
            hint="Give it the codec, or confirm that it holds one value in confirmations.yaml: "
            + json_text.canonical(_entry(server, tool, leaf)).decode(),
        )


def suspicion_of(leaf: SchemaLeaf) -> str | None:
    """Say what an argument looks like and why, or None if it looks like nothing of the kind."""
    schema = leaf.schema
    items = _items(schema)
    if not leaf.holds_text or "enum" in schema or "enum" in items:
        return None
    named = [word.lower() for word in _WORD.findall(leaf.last_name)]
    is_other = bool(named) and (named[-1] in _REFERENCES or bool(_OF_ANOTHER.fullmatch(named[-1])))
    words = set() if is_other else set(named)
    texts = [text for part in (schema, items) for sample in _samples(part) for text in _strings(sample)]
    description = f"{schema.get('description', '')} {items.get('description', '')}"
    for kind, names in _NAMES.items():
        if words & names:
            return f"{_an(kind)} (its name)"
        if any(_VALUES[kind].fullmatch(text) for text in texts):
            return f"{_an(kind)} (its default or example)"
        if _is_described(kind, description):
            several = "a list of values in one string that mentions " if _LISTED.search(description) else ""
            return f"{several}{_an(kind)} (its description)"
    return None


def _an(kind: str) -> str:
    return f"an {kind}" if kind == "address" else f"a {kind}"


def recipient_in(leaf: SchemaLeaf) -> str | None:
    """Say by what an argument seems to name who gets something, or None if it does not seem so.

    Wider than `suspicion_of`: it alarms nobody, and only keeps advice from calling such an argument nothing.
    """
    if not leaf.holds_text:
        return None
    named = [word.lower() for word in _WORD.findall(leaf.last_name)]
    if named and not _OF_ANOTHER.fullmatch(named[-1]) and _RECIPIENTS.fullmatch(named[-1]):
        return "its name"
    description = str(leaf.schema.get("description", ""))
    described = _RECEIVING.search(description) and not _BEGINS_WITH_CONTENT.match(description)
    return "its description" if described else None


def names_recipients(role: IdentifierRole) -> bool:
    """Tell whether a role that somebody proposes is one of who gets something, by its name and words."""
    words = [word.lower() for word in _WORD.findall(role.name)]
    if any(_RECIPIENTS.fullmatch(word) for word in words):
        return True
    return bool(_RECEIVING.search(f"{role.description} {role.guidance}"))


def suspicion_of_use(leaf: SchemaLeaf, values: Iterable[str]) -> str | None:
    """Say as what kind of resource an argument looks, by itself or by values that calls gave it.

    Returns:
        `path`, `URL`, `address`, or None for content and for what looks like nothing of the kind.
    """
    suspicion = suspicion_of(leaf)
    if suspicion is not None:
        return next(kind for kind in _NAMES if kind in suspicion)
    named = _WORD.findall(leaf.last_name)
    if not leaf.holds_text or "enum" in leaf.schema or (named and _OF_ANOTHER.fullmatch(named[-1])):
        return None
    texts = list(values)
    return next((k for k, pattern in _USED.items() if any(pattern.fullmatch(text) for text in texts)), None)


def _is_described(kind: str, description: str) -> bool:
    mentions = _MENTIONS.get(kind)
    if mentions is None or _BEGINS_WITH_CONTENT.match(description):
        return bool(_TEXTS[kind].search(description))
    return bool(_TEXTS[kind].search(description) or mentions.search(description))


def _is_resource(leaf: SchemaLeaf, tool: ToolAnnotation, registry: Registry) -> bool:
    return any(
        role in registry and registry[role].resource
        for argument in tool.args
        if argument.name in leaf.spellings
        for role in argument.possible_roles
    )


def _entry(server: str, tool: ToolAnnotation, leaf: SchemaLeaf) -> dict[str, JsonValue]:
    digest = tool.schema_digest or "sha256:…"
    return {
        "server": server,
        "tool": tool.tool,
        "arg": leaf.name,
        "schema_digest": digest,
        "by": "…",
        "reason": "…",
    }


def _items(schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
    return json_text.members(schema.get("items"))


def _samples(schema: dict[str, JsonValue]) -> list[JsonValue]:
    return [schema[key] for key in _VALUE_KEYS if key in schema] + _listed(schema.get("examples"))


def _listed(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _strings(value: JsonValue) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [item for item in _listed(value) if isinstance(item, str)]
