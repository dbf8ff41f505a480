"""Stage 2, annotate: from live tool schemas to what each argument is; the next stage is `compile_rules`.

A model's answer is data: it becomes an annotation only after the checks against the tool's schema and the
registry, and people have the last word on what could make enforcement judge less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ironcurtain.errors import AnnotationError, raise_all
from ironcurtain.llm.question import MANUAL, Answer, Question
from ironcurtain.model.annotations import (
    Annotations,
    Confirmation,
    IdentifierRole,
    ServerAnnotations,
    ToolAnnotation,
)
from ironcurtain.pipeline.annotate_questions import (
    Listed,
    all_listed,
    batches,
    read_annotation,
    tool_question,
)
from ironcurtain.pipeline.annotation_changes import drift_notes, unconfirmed_weakenings
from ironcurtain.pipeline.annotation_checks import check_annotations
from ironcurtain.pipeline.answers import AnswerBook, Joint
from ironcurtain.pipeline.confirmations import Confirmations
from ironcurtain.pipeline.heuristics import check_heuristics, heuristic_notes
from ironcurtain.pipeline.languages import languages
from ironcurtain.pipeline.proposed_roles import Proposal, open_proposals
from ironcurtain.pipeline.tool_texts import text_findings
from ironcurtain.roles.registry import Registry
from ironcurtain.servers.listing import Tools
from ironcurtain.text import quoted, visible


@dataclass(frozen=True)
class Annotated:
    """The stage's result.

    Attributes:
        notes: What a person should know, one line each.
        proposals: Roles that the answers propose and that nobody has decided about.
    """

    annotations: Annotations
    notes: tuple[str, ...]
    proposals: tuple[Proposal, ...] = ()

    def require_roles(self) -> None:
        """Make sure that no proposed role is open, before rules are asked for that would need it.

        Raises:
            ProposedRoleError: For each role that is.
        """
        raise_all([proposal.error for proposal in self.proposals])


def annotate(
    tools: Tools,
    roles: Sequence[IdentifierRole],
    confirmations: Confirmations,
    book: AnswerBook,
    *,
    previous: Annotations | None = None,
) -> Annotated:
    """Annotate all tools of all servers; only tools without a kept answer are asked about.

    Args:
        tools: The tool lists, by server.
        roles: Identifier roles that the project adds.
        confirmations: What people confirmed.
        book: Where answers come from.
        previous: The published annotations, which new ones must not weaken unseen.

    Raises:
        UnconfirmedArgumentError: For each argument that looks like a resource (or like several), is
            annotated as less and is not confirmed.
        UnconfirmedAnnotationError: For each annotation that is weaker than the published one.
        AnnotationError: If a confirmation names nothing that exists.
        OpenQuestionError, BadAnswerError, AnswerMissingError, ModelFailedError: From the answers.
    """
    registry = Registry(roles)
    listed = all_listed(tools)
    notes = [note for one in listed for note in text_findings(one.server, one.tool)]
    answers = _ask(listed, registry, book)
    found: dict[str, list[ToolAnnotation]] = {server: [] for server in tools}
    for one, answer in zip(listed, answers, strict=True):
        annotation = _confirmed(one.server, read_annotation(answer.content, one), confirmations)
        annotation, note = _contained(one.server, annotation, answer, confirmations)
        found[one.server].append(_listed(annotation, one))
        notes += note
    annotations = Annotations(
        format="ironcurtain/annotations/v1",
        roles=tuple(roles),
        servers={server: ServerAnnotations(tools=tuple(annotated)) for server, annotated in found.items()},
    )
    _check_confirmations(annotations, confirmations)
    check_annotations(annotations, registry)
    if previous is not None:
        notes += drift_notes(previous, annotations)
        raise_all(unconfirmed_weakenings(previous, annotations, confirmations))
    proposals = open_proposals(listed, answers, confirmations)
    proposed = {(one.server, one.tool.name, arg) for each in proposals for one, arg in each.places}
    raise_all(check_heuristics(annotations, registry, proposed))
    notes += heuristic_notes(annotations, registry)
    return Annotated(annotations, tuple(notes), proposals)


def _ask(listed: Sequence[Listed], registry: Registry, book: AnswerBook) -> list[Answer]:
    """Return one answer for each tool, in their order; what is not kept is asked in batches."""
    parts = [tool_question(one, registry) for one in listed]
    by_digest = {part.digest: one for part, one in zip(parts, listed, strict=True)}

    def join(missing: Sequence[Question]) -> list[Joint]:
        return batches([by_digest[part.digest] for part in missing], registry)

    return book.ask_joint(parts, join)


def _confirmed(server: str, tool: ToolAnnotation, confirmations: Confirmations) -> ToolAnnotation:
    matching = tuple(
        Confirmation(arg=entry.arg, by=entry.by, reason=entry.reason)
        for entry in confirmations.of_tool(server, tool.tool, tool.schema_digest)
        if entry.arg is not None
    )
    return tool.model_copy(update={"confirmed": matching}) if matching else tool


def _listed(tool: ToolAnnotation, one: Listed) -> ToolAnnotation:
    """Pin all that clients are told of the tool, where that was read from its server."""
    digest = one.tool.listing_digest
    return tool.model_copy(update={"listing_digest": digest}) if digest else tool


def _contained(
    server: str, tool: ToolAnnotation, answer: Answer, confirmations: Confirmations
) -> tuple[ToolAnnotation, list[str]]:
    """Take `contained` from people only: a model's word for it counts when somebody confirmed it.

    What runs a language can do anything, so there a person has to confirm it in so many words.
    """
    if not tool.contained or any(
        entry.contained for entry in confirmations.of_tool(server, tool.tool, tool.schema_digest)
    ):
        return tool, []
    held = languages(tool)
    if answer.provider == MANUAL and not held:
        return tool, []
    what = f"it takes {next(iter(held.values()))}, and " if held else ""
    note = (
        f"{server}: the answer calls {visible(tool.tool)} contained; {what}nobody confirmed it, so it counts "
        f"as not contained (confirmations.yaml, schema_digest {tool.schema_digest})"
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
