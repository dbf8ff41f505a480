"""Stage 2, annotate: from live tool schemas to what each argument is; the next stage is `compile_rules`.

At most 25 tools of one server make one question, so a changed tool asks its own batch again and no other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from ironcurtain.errors import AnnotationError, raise_all
from ironcurtain.llm.providers import MANUAL
from ironcurtain.llm.question import Answer, Question
from ironcurtain.model import jsontext
from ironcurtain.model.annotations import (
    Annotations,
    Confirmation,
    IdentifierRole,
    ServerAnnotations,
    ToolAnnotation,
)
from ironcurtain.model.base import Json
from ironcurtain.pipeline.annotation_checks import check_annotations, tool_problems
from ironcurtain.pipeline.annotation_schema import annotation_schema
from ironcurtain.pipeline.answers import AnswerBook
from ironcurtain.pipeline.heuristics import Confirmations, check_heuristics
from ironcurtain.pipeline.templates import as_data, fill
from ironcurtain.roles.registry import Registry
from ironcurtain.servers.listing import Tools
from ironcurtain.servers.tools import ToolListing, tool_digest
from ironcurtain.text import quoted, visible

BATCH = 25
"""The most tools that one question asks about."""


@dataclass(frozen=True)
class Batch:
    """Tools of one server that one question asks about."""

    server: str
    number: int
    tools: tuple[ToolListing, ...]


@dataclass(frozen=True)
class Annotated:
    """The stage's result.

    Attributes:
        notes: What a person should know, one line each.
    """

    annotations: Annotations
    notes: tuple[str, ...]


def annotate(
    tools: Tools, roles: Sequence[IdentifierRole], confirmations: Confirmations, book: AnswerBook
) -> Annotated:
    """Annotate all tools of all servers.

    Args:
        tools: The tool lists, by server.
        roles: Identifier roles that the project adds.
        confirmations: What people confirmed.
        book: Where answers come from.

    Raises:
        UnconfirmedArgumentError: For each argument that looks like a resource, has no such role and is
            not confirmed.
        AnnotationError: If a confirmation names nothing that exists.
        OpenQuestionError, BadAnswerError, AnswerMissingError, ModelFailedError: From the answers.
    """
    registry = Registry(roles)
    batches = split(tools)
    answers = book.ask([_question(batch, registry) for batch in batches])
    found: dict[str, list[ToolAnnotation]] = {server: [] for server in tools}
    notes: list[str] = []
    for batch, answer in zip(batches, answers, strict=True):
        for tool in batch.tools:
            annotation = _confirmed(batch.server, _read(_entry(answer.content, tool), tool), confirmations)
            annotation, note = _contained(batch.server, annotation, answer, confirmations)
            found[batch.server].append(annotation)
            notes += note
    annotations = Annotations(
        format="ironcurtain/annotations/v1",
        roles=tuple(roles),
        servers={server: ServerAnnotations(tools=tuple(listed)) for server, listed in found.items()},
    )
    _check_confirmations(annotations, confirmations)
    check_annotations(annotations, registry)
    raise_all(check_heuristics(annotations, registry))
    return Annotated(annotations, tuple(notes))


def split(tools: Tools) -> list[Batch]:
    """Cut the servers' tools, in the order of their names, into batches."""
    batches = []
    for server, listed in sorted(tools.items()):
        ordered = sorted(listed, key=lambda tool: tool.name)
        for number, start in enumerate(range(0, len(ordered), BATCH), 1):
            batches.append(Batch(server, number, tuple(ordered[start : start + BATCH])))
    return batches


def _question(batch: Batch, registry: Registry) -> Question:
    data = [
        {
            "tool": tool.name,
            "description": tool.description,
            "input_schema": tool.input_schema,
            "server_hints": tool.annotations,
        }
        for tool in batch.tools
    ]
    return Question(
        stage="annotate",
        key=f"annotate-{batch.server}-{batch.number}",
        system=fill("annotate.system", roles=_roles_text(registry)),
        prompt=fill("annotate.user", count=str(len(batch.tools)), server=batch.server, tools=as_data(data)),
        schema=annotation_schema(batch.tools, registry),
        check=lambda content: _mistakes(content, batch, registry),
    )


def _roles_text(registry: Registry) -> str:
    return "\n".join(
        f"- `{role.name}` ({role.category}): {role.description} {role.guidance}".rstrip()
        for role in registry.all
    )


def _mistakes(content: Json, batch: Batch, registry: Registry) -> list[str]:
    """Return what is wrong with an answer that fits its schema: every tool once, each valid in itself."""
    counts = Counter(entry["tool"] for entry in content["tools"])
    mistakes = [f"tool {quoted(tool.name)} is missing" for tool in batch.tools if not counts[tool.name]]
    mistakes += [f"tool {quoted(name)} is given {count} times" for name, count in counts.items() if count > 1]
    for tool in batch.tools:
        for entry in (entry for entry in content["tools"] if entry["tool"] == tool.name):
            mistakes += [
                f"tool {quoted(tool.name)}: {text}" for text in _entry_mistakes(entry, tool, registry)
            ]
    return mistakes


def _entry_mistakes(entry: Json, tool: ToolListing, registry: Registry) -> list[str]:
    try:
        return tool_problems(_read(entry, tool), registry)
    except ValidationError as error:
        return [visible(f"{'/'.join(map(str, e['loc']))}: {e['msg']}") for e in error.errors()]


def _entry(content: Json, tool: ToolListing) -> Json:
    return next(entry for entry in content["tools"] if entry["tool"] == tool.name)


def _read(entry: Json, tool: ToolListing) -> ToolAnnotation:
    """Join what was answered about a tool with what its server says of it."""
    complete = {**entry, "input_schema": tool.input_schema, "schema_digest": tool_digest(tool)}
    return ToolAnnotation.model_validate_json(jsontext.canonical(complete))


def _confirmed(server: str, tool: ToolAnnotation, confirmations: Confirmations) -> ToolAnnotation:
    matching = tuple(
        Confirmation(arg=entry.arg, by=entry.by, reason=entry.reason)
        for entry in confirmations.confirmed
        if entry.arg is not None
        and (entry.server, entry.tool, entry.schema_digest) == (server, tool.tool, tool.schema_digest)
    )
    return tool.model_copy(update={"confirmed": matching}) if matching else tool


def _contained(
    server: str, tool: ToolAnnotation, answer: Answer, confirmations: Confirmations
) -> tuple[ToolAnnotation, list[str]]:
    """Take `contained` from people only: a model's word for it counts when somebody confirmed it."""
    confirmed = any(
        entry.contained
        and (entry.server, entry.tool, entry.schema_digest) == (server, tool.tool, tool.schema_digest)
        for entry in confirmations.confirmed
    )
    if not tool.contained or confirmed or answer.provider == MANUAL:
        return tool, []
    note = (
        f"{server}: the model calls {tool.tool} contained; nobody confirmed it, so it counts as not "
        f"contained (confirmations.yaml, schema_digest {tool.schema_digest})"
    )
    return tool.model_copy(update={"contained": False}), [note]


def _check_confirmations(annotations: Annotations, confirmations: Confirmations) -> None:
    """Refuse confirmations of servers and tools that do not exist: a typing error must not go unnoticed."""
    raise_all(
        [
            AnnotationError(
                f"a confirmation names {quoted(entry.server)} {quoted(entry.tool)}, which does not exist",
                where="confirmations.yaml",
            )
            for entry in confirmations.confirmed
            if annotations.find(entry.server, entry.tool) is None
        ]
    )
