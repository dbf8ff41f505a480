"""The questions of the annotate stage: one for each tool, asked together in batches of at most 25.

What is kept is one answer for each tool. Its key is the digest of the question about this tool alone: the
prompt, all roles, and what the server lists of the tool (name, description, schema, hints). The other tools
of its batch are no part of it, so a changed tool is asked again and its neighbours are not; and what is
valid in a batch is exactly what is valid for each of its tools alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import get_args

from pydantic import ValidationError

from ironcurtain.compiler.annotate.checks import tool_problems
from ironcurtain.compiler.annotate.known import ChangedTool
from ironcurtain.compiler.annotate.schema_leaves import schema_leaves
from ironcurtain.compiler.llm.question import AnswerCheck, Question
from ironcurtain.compiler.questions.answers import BatchedQuestion
from ironcurtain.compiler.questions.schema_parts import (
    BOOLEAN,
    STRING,
    Schema,
    array_of,
    closed_object,
    entries,
    objects,
    one_of,
    read_answer,
    reference,
    with_definitions,
)
from ironcurtain.compiler.questions.templates import as_data, fill
from ironcurtain.decision.roles import NONE, Registry
from ironcurtain.model.annotations import Codec, IdentifierRole, ToolAnnotation
from ironcurtain.servers.tools import ToolListing, Tools, tool_digest
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.json_text import JsonSource
from ironcurtain.system.structs import Struct, replace
from ironcurtain.system.text import quoted, visible

BATCH = 25
"""The most tools that one question asks about."""

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")
_NOT_ANNOTATION = ("server", "proposed_roles")


class ServerTool(Struct):
    """One tool of one server.

    Attributes:
        changed: What it was when it was reviewed for the collection of well-known servers, if it was another.
    """

    server: str
    tool: ToolListing
    changed: ChangedTool | None = None


def all_listed(tools: Tools) -> list[ServerTool]:
    """Return all tools in the order of their servers' and their own names."""
    return [
        ServerTool(server, tool)
        for server, listed in sorted(tools.items())
        for tool in sorted(listed, key=lambda tool: tool.name)
    ]


def tool_question(listed: ServerTool, registry: Registry) -> Question:
    """Return the question about one tool: `{"tools": [entry]}` answers it."""
    key = f"annotate-{listed.server}__{_file_name(listed.tool.name)}"
    return _question(key, [listed], registry, lambda content: _entry_mistakes(content, listed, registry))


def batches(listed: Sequence[ServerTool], registry: Registry) -> list[BatchedQuestion]:
    """Join tools, of whichever servers, into as few questions as there can be."""
    chunks = [listed[start : start + BATCH] for start in range(0, len(listed), BATCH)]
    return [_joint(number, chunk, registry) for number, chunk in enumerate(chunks, 1)]


def read_annotation(content: JsonValue, listed: ServerTool) -> ToolAnnotation:
    """Join what was answered about a tool with what its server says of it.

    Raises:
        ValidationError: If the answer is none of an annotation's shape.
    """
    (entry,) = entries(content, "tools")
    complete = {key: value for key, value in entry.items() if key not in _NOT_ANNOTATION} | {
        "input_schema": listed.tool.input_schema,
        "schema_digest": tool_digest(listed.tool),
    }
    return read_answer(ToolAnnotation, complete)


def read_proposals(content: JsonValue) -> list[tuple[str, IdentifierRole]]:
    """Return the identifier roles that an answer proposes, each with the argument it is for.

    Raises:
        ValidationError: If one is no valid declaration.
    """
    (entry,) = entries(content, "tools")
    return [
        (
            str(proposal["arg"]),
            read_answer(IdentifierRole, {key: value for key, value in proposal.items() if key != "arg"}),
        )
        for proposal in entries(entry, "proposed_roles")
    ]


def _joint(number: int, chunk: Sequence[ServerTool], registry: Registry) -> BatchedQuestion:
    servers = {server_tool.server for server_tool in chunk}
    mixed = len(servers) > 1
    parts = tuple(tool_question(server_tool, registry) for server_tool in chunk)

    def divide(content: JsonValue) -> list[JsonValue]:
        return [
            {"tools": [_without_server(entry)]}
            for server_tool in chunk
            for entry in entries(content, "tools")
            if _names(entry, server_tool)
        ]

    def narrow(content: JsonValue) -> JsonValue:
        tools = objects(content.get("tools")) if isinstance(content, dict) else None
        if tools is None:
            return content
        about = [entry for entry in tools if any(_names(entry, server_tool) for server_tool in chunk)]
        return {"tools": [entry if mixed else _without_server(entry) for entry in about]}

    def check(content: JsonValue) -> list[str]:
        tools = entries(content, "tools")
        given = [
            (server_tool, part, [entry for entry in tools if _names(entry, server_tool)])
            for server_tool, part in zip(chunk, parts, strict=True)
        ]
        return _count_mistakes(tools, chunk) + [
            f"tool {quoted(server_tool.tool.name)}: {mistake}"
            for server_tool, part, named in given
            if len(named) == 1
            for mistake in part.mistakes({"tools": [_without_server(named[0])]})
        ]

    key = f"annotate-{'mixed' if mixed else chunk[0].server}-{number}"
    question = _question(key, chunk, registry, check)
    return BatchedQuestion(
        replace(question, parts=tuple(part.digest for part in parts)), parts, divide, narrow
    )


def _without_server(entry: dict[str, JsonValue]) -> JsonValue:
    return {key: value for key, value in entry.items() if key != "server"}


def _file_name(tool: str) -> str:
    """Return a tool's name as a part of a file's name; two different names stay different."""
    safe = _UNSAFE.sub("_", tool)
    return safe if safe == tool else f"{safe}-{json_text.digest(tool)[-8:]}"


def _names(entry: dict[str, JsonValue], listed: ServerTool) -> bool:
    """Tell whether an entry is about a tool; in a batch of one server it names no server."""
    return bool(entry.get("tool") == listed.tool.name and entry.get("server", listed.server) == listed.server)


def _question(key: str, listed: Sequence[ServerTool], registry: Registry, check: AnswerCheck) -> Question:
    data: list[dict[str, JsonSource]] = [
        {
            "server": server_tool.server,
            "tool": server_tool.tool.name,
            "description": server_tool.tool.description,
            "input_schema": server_tool.tool.input_schema,
            "server_hints": server_tool.tool.annotations,
        }
        for server_tool in listed
    ]
    servers = sorted({server_tool.server for server_tool in listed})
    return Question(
        stage="annotate",
        key=key,
        system=fill("annotate.system", roles=_roles_text(registry)),
        prompt=fill("annotate.user", count=str(len(listed)), tools=as_data(data)),
        schema=annotation_schema([server_tool.tool for server_tool in listed], registry, servers=servers),
        check=check,
        previous=_previous_text(listed, registry),
        about=_about(listed, servers),
    )


def _about(listed: Sequence[ServerTool], servers: Sequence[str]) -> str:
    if len(listed) == 1:
        return f"what the arguments of {visible(f'{listed[0].server}/{listed[0].tool.name}')} are"
    return f"what the arguments of {len(listed)} tools of {', '.join(servers)} are"


def _previous_text(listed: Sequence[ServerTool], registry: Registry) -> str:
    """Return what is told of tools that were reviewed in another form; no part of the question's key."""
    data: list[dict[str, JsonSource]] = [
        {
            "server": server_tool.server,
            "package": server_tool.changed.known.package,
            "differs": list(server_tool.changed.changes),
            "annotation": server_tool.changed.known.entry(registry),
        }
        for server_tool in listed
        if server_tool.changed is not None
    ]
    return fill("annotate.known", known=as_data(data)) if data else ""


def _roles_text(registry: Registry) -> str:
    return "\n".join(
        f"- `{role.name}` ({role.category}): {role.description} {role.guidance}".rstrip()
        for role in registry.all
    )


def _count_mistakes(tools: Sequence[dict[str, JsonValue]], chunk: Sequence[ServerTool]) -> list[str]:
    """Return what is wrong with the number of entries: every tool has to be there once."""
    mistakes = []
    for server_tool in chunk:
        count = sum(_names(entry, server_tool) for entry in tools)
        if count != 1:
            state = "is missing" if not count else f"is given {count} times"
            mistakes.append(f"tool {quoted(server_tool.tool.name)} of {server_tool.server} {state}")
    counts = Counter((entry.get("server"), entry["tool"]) for entry in tools)
    known = {(server_tool.server, server_tool.tool.name) for server_tool in chunk} | {
        (None, server_tool.tool.name) for server_tool in chunk
    }
    mistakes += [
        f"{server} has no tool {quoted(str(tool))}" for server, tool in counts if (server, tool) not in known
    ]
    return mistakes


def _entry_mistakes(content: JsonValue, listed: ServerTool, registry: Registry) -> list[str]:
    tools = entries(content, "tools")
    if len(tools) != 1:
        return _count_mistakes(tools, [listed])
    try:
        annotation, proposals = read_annotation(content, listed), read_proposals(content)
    except ValidationError as error:
        return [visible(f"{'/'.join(map(str, e['loc']))}: {e['msg']}") for e in error.errors()]
    return [
        *tool_problems(annotation, registry),
        *(
            problem
            for name, role in proposals
            for problem in _proposal_problems(name, role, annotation, registry)
        ),
    ]


def _proposal_problems(
    name: str, role: IdentifierRole, annotation: ToolAnnotation, registry: Registry
) -> Iterator[str]:
    if role.name in registry:
        yield f"proposed role {quoted(role.name)} exists already; use it"
    carried = [each for a in annotation.args if a.name == name for each in a.possible_roles if each != NONE]
    if carried:
        yield f"the role {quoted(role.name)} is proposed for {quoted(name)}, which is {carried[0]} already"


def annotation_schema(tools: Sequence[ToolListing], registry: Registry, *, servers: Sequence[str]) -> Schema:
    """Return the schema for a batch of tools; with several servers each entry names its own."""
    places = sorted({leaf.name for tool in tools for leaf in schema_leaves(tool.input_schema)})
    definitions: Schema = {
        "place": one_of(places) if places else STRING,
        "roles": array_of(one_of(role.name for role in registry.all)),
        "scalar": {"anyOf": [STRING, {"type": "number"}, BOOLEAN]},
    }
    name = reference("place")
    identifiers = [role.name for role in registry.resources if role.category == "identifier"]
    of_server: Schema = {"server": one_of(servers)} if len(servers) > 1 else {}
    tool = closed_object(
        required={
            **of_server,
            "tool": one_of(dict.fromkeys(tool.name for tool in tools)),
            "side_effects": BOOLEAN,
            "contained": BOOLEAN,
            "comment": STRING,
            "args": array_of(_argument(places)),
        },
        optional={
            "composites": array_of(
                closed_object({"role": one_of(identifiers), "join": array_of(name), "with": STRING})
            ),
            "proposed_roles": array_of(_proposal(name)),
        },
    )
    return with_definitions(closed_object({"tools": array_of(tool)}), definitions)


def _argument(places: Sequence[str]) -> Schema:
    name, roles, scalar = reference("place"), reference("roles"), reference("scalar")
    branch = closed_object(
        required={"arg": name, "roles": roles},
        optional={"equals": scalar, "in": array_of(scalar), "present": BOOLEAN},
    )
    return closed_object(
        required={"name": name},
        optional={
            "roles": roles,
            "conditional": closed_object({"default": roles, "when": array_of(branch)}),
            "required": BOOLEAN,
            "codec": one_of(get_args(Codec)),
            "relative_to": _base(places),
            "recursive": BOOLEAN,
            "repository": BOOLEAN,
            "assume_scheme": STRING,
        },
    )


def _base(places: Sequence[str]) -> Schema:
    """Return what `relative_to` can name: a place by its name, and a top-level one by its pointer too."""
    names = [place for place in places if not place.startswith("/")]
    pointers = ["/" + name.replace("~", "~0").replace("/", "~1") for name in names]
    return {"anyOf": [reference("place"), one_of(pointers)]} if pointers else reference("place")


def _proposal(name: Schema) -> Schema:
    return closed_object(
        required={
            "arg": name,
            "name": STRING,
            "description": STRING,
            "guidance": STRING,
            "case": one_of(["exact", "fold"]),
        },
        optional={"separator": STRING, "decode": one_of(["none", "percent"]), "numbers": BOOLEAN},
    )
