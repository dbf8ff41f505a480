"""Stage 2, annotate: from live tool schemas to what each argument is; the next stage is `compile_rules`.

A model's answer is data: it becomes an annotation only after the checks against the tool's schema and the
registry, and people have the last word on what could make enforcement judge less.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ironcurtain.compiler.annotate.changes import drift_notes, unconfirmed_weakenings
from ironcurtain.compiler.annotate.checks import check_annotations
from ironcurtain.compiler.annotate.confirmations import Confirmations
from ironcurtain.compiler.annotate.embedded_languages import languages
from ironcurtain.compiler.annotate.heuristics import check_heuristics, heuristic_notes
from ironcurtain.compiler.annotate.known import SHIPPED, KnownServers, KnownTool
from ironcurtain.compiler.annotate.proposed_roles import RoleProposal, open_proposals
from ironcurtain.compiler.annotate.questions import (
    ServerTool,
    all_listed,
    batches,
    read_annotation,
    tool_question,
)
from ironcurtain.compiler.annotate.tool_texts import text_findings
from ironcurtain.compiler.llm.question import MANUAL, Answer, Question
from ironcurtain.compiler.questions.answers import AnswerCache, BatchedQuestion
from ironcurtain.decision.comparison import instructions_digest, prompt_digest
from ironcurtain.decision.roles import Registry
from ironcurtain.errors import AnnotationError, raise_all
from ironcurtain.model.annotations import (
    Annotations,
    Confirmation,
    IdentifierRole,
    ServerAnnotations,
    Shipped,
    ToolAnnotation,
)
from ironcurtain.model.varying import Varying
from ironcurtain.servers.tools import ToldBeside, Tools
from ironcurtain.system.structs import Struct, replace
from ironcurtain.system.text import quoted, visible


class Annotated(Struct):
    """The stage's result.

    Attributes:
        notes: What a person should know, one line each.
        proposals: Roles that the answers propose and that nobody has decided about.
    """

    annotations: Annotations
    notes: tuple[str, ...]
    proposals: tuple[RoleProposal, ...] = ()

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
    cache: AnswerCache,
    *,
    previous: Annotations | None = None,
    known: KnownServers | None = None,
    declared: Annotations | None = None,
) -> Annotated:
    """Annotate all tools of all servers; only tools without a kept or known answer are asked about.

    Args:
        tools: The tool lists, by server, as `Confirmations.settled` returns them.
        roles: Identifier roles that the project adds.
        confirmations: What people confirmed.
        cache: Where answers come from.
        previous: The published annotations, which new ones must not weaken unseen.
        known: Annotations of well-known servers, which are taken before anybody is asked.
        declared: Annotations of gateways, whose definitions say them: nobody is asked about their tools.

    Raises:
        UnconfirmedArgumentError: For each argument that looks like a resource (or like several), is
            annotated as less and is not confirmed.
        UnconfirmedAnnotationError: For each annotation that is weaker than the published one.
        AnnotationError: If a confirmation names nothing that exists.
        OpenQuestionError, BadAnswerError, AnswerMissingError, ModelFailedError: From the answers.
    """
    by_hand = declared.servers if declared is not None else {}
    roles = tuple({role.name: role for role in (*roles, *(declared.roles if declared else ()))}.values())
    registry = Registry(roles)
    notes = [
        note
        for server_tool in all_listed(tools)
        for note in text_findings(server_tool.server, server_tool.tool)
    ]
    listed = all_listed({server: listed for server, listed in tools.items() if server not in by_hand})
    answers = _ask(listed, registry, cache, known)
    by_server = {server: list(by_hand[server].tools) if server in by_hand else [] for server in tools}
    for server_tool, answer in zip(listed, answers, strict=True):
        reviewed = known.find(server_tool.tool) if known is not None and answer.provider == SHIPPED else None
        annotation, note = _annotated(server_tool, answer, reviewed, confirmations)
        by_server[server_tool.server].append(annotation)
        notes += [*note, *_corrected(server_tool, answer, reviewed, registry)]
    annotations = Annotations(
        format="ironcurtain/annotations/v1",
        roles=tuple(roles),
        servers={
            server: _server(tuple(annotated), confirmations.varying_of(server), tools[server].beside)
            for server, annotated in by_server.items()
        },
    )
    notes += _shipped_notes(annotations, known)
    _check_confirmations(annotations, confirmations)
    check_annotations(annotations, registry)
    if previous is not None:
        notes += drift_notes(previous, tools)
        raise_all(unconfirmed_weakenings(previous, annotations, confirmations))
    proposals = open_proposals(listed, answers, confirmations)
    proposed = {
        (server_tool.server, server_tool.tool.name, arg)
        for each in proposals
        for server_tool, arg in each.places
    }
    raise_all(check_heuristics(annotations, registry, proposed))
    notes += heuristic_notes(annotations, registry)
    return Annotated(annotations, tuple(notes), proposals)


def _server(
    annotated: tuple[ToolAnnotation, ...], varying: tuple[Varying, ...], beside: ToldBeside | None
) -> ServerAnnotations:
    """Return a server's annotations, with digests of its instructions and prompts, where these were read."""
    texts = {"varying": varying} if varying else {}
    pins = {}
    if beside is not None:
        prompts = {str(told.get("name")): prompt_digest(told) for told in beside.prompts}
        pins = {"instructions": instructions_digest(beside.instructions), "prompts": prompts}
    return ServerAnnotations.model_validate({"tools": annotated, **texts, **pins})


def _annotated(
    server_tool: ServerTool, answer: Answer, reviewed: KnownTool | None, confirmations: Confirmations
) -> tuple[ToolAnnotation, Sequence[str]]:
    """Return the annotation that an answer and what people confirmed come to, and notes about it."""
    server = server_tool.server
    annotation = _shipped(read_annotation(answer.content, server_tool), answer, reviewed)
    annotation = _confirmed(server, annotation, confirmations)
    annotation = _only_reading(server, annotation, confirmations)
    annotation, notes = _contained(server, annotation, answer, confirmations, reviewed)
    return _listed(annotation, server_tool), notes


def _ask(
    listed: Sequence[ServerTool], registry: Registry, cache: AnswerCache, known: KnownServers | None
) -> list[Answer]:
    """Return one answer for each tool, in their order; what is neither kept nor known is asked in batches."""
    parts = [tool_question(server_tool, registry) for server_tool in listed]
    by_digest = {part.digest: server_tool for part, server_tool in zip(parts, listed, strict=True)}
    if known is not None and not cache.asks_anew("annotate"):
        _take_known(parts, listed, registry, cache, known)

    def join(missing: Sequence[Question]) -> list[BatchedQuestion]:
        return batches([_as_reviewed(by_digest[part.digest], listed, known) for part in missing], registry)

    return cache.ask_joint(parts, join)


def _take_known(
    parts: Sequence[Question],
    listed: Sequence[ServerTool],
    registry: Registry,
    cache: AnswerCache,
    known: KnownServers,
) -> None:
    """Answer from the collection what no kept answer answers: a project's own annotation wins."""
    for server_tool, part in zip(listed, parts, strict=True):
        shipped = None if cache.has(part) else known.find(server_tool.tool)
        content = shipped.answer(registry) if shipped else None
        if shipped and not part.mistakes(content):
            cache.take(part, content, provider=SHIPPED, model=shipped.package)


def _as_reviewed(
    server_tool: ServerTool, listed: Sequence[ServerTool], known: KnownServers | None
) -> ServerTool:
    """Return a tool with what it was in the collection, where it is another now."""
    if known is None:
        return server_tool
    beside = [other.tool for other in listed if other.server == server_tool.server]
    return replace(server_tool, changed=known.changed(server_tool.tool, beside))


def _shipped(tool: ToolAnnotation, answer: Answer, reviewed: KnownTool | None) -> ToolAnnotation:
    """Say of an annotation that it ships with the product, with what was confirmed when it was reviewed."""
    if answer.provider != SHIPPED:
        return tool
    told = {"source": Shipped(kind=SHIPPED, package=answer.model or "")}
    confirmed = {"confirmed": reviewed.confirmed} if reviewed is not None and reviewed.confirmed else {}
    return tool.model_copy(update={**told, **confirmed})


def _corrected(
    server_tool: ServerTool, answer: Answer, reviewed: KnownTool | None, registry: Registry
) -> Iterator[str]:
    """Say where the collection speaks otherwise of a tool now than when its answer was kept."""
    if reviewed is not None and reviewed.answer(registry) != answer.content:
        yield (
            f"{server_tool.server}: the collection that ships with IronCurtain annotates "
            f"{visible(server_tool.tool.name)} "
            f"otherwise now than the answer that is kept; remove {answer.file_name} to take that"
        )


def _shipped_notes(annotations: Annotations, known: KnownServers | None) -> Iterator[str]:
    for server, annotated in annotations.servers.items():
        yield from _conditions(server, annotated, known)
        packages = sorted({tool.source.package for tool in annotated.tools if tool.source is not None})
        count = sum(tool.source is not None for tool in annotated.tools)
        if count:
            yield (
                f"{server}: {count} of {len(annotated.tools)} {'tool is' if count == 1 else 'tools are'} "
                f"annotated by the collection that ships with IronCurtain ({', '.join(packages)})"
            )


def _conditions(server: str, annotated: ServerAnnotations, known: KnownServers | None) -> Iterator[str]:
    """Yield for a server what has to hold before tools of it are contained, and the entries that say so."""
    waiting: dict[str, list[ToolAnnotation]] = {}
    for tool in annotated.tools:
        entry = known.of_digest(tool.schema_digest) if known is not None and tool.source is not None else None
        if entry is not None and entry.annotation.contained and entry.contained_if and not tool.contained:
            waiting.setdefault(entry.contained_if, []).append(tool)
    for condition, tools in waiting.items():
        names = ", ".join(tool.tool for tool in tools)
        entries = (
            f"  - {{server: {server}, tool: {tool.tool}, contained: true, "
            f'schema_digest: "{tool.schema_digest}", by: "…", reason: "…"}}'
            for tool in tools
        )
        said = (
            f"{server}: not contained until somebody confirms it: {names}; they are contained if "
            f"{condition}; where that is so, these lines in confirmations.yaml confirm it:"
        )
        yield "\n".join([said, "confirmed:", *entries])


def _confirmed(server: str, tool: ToolAnnotation, confirmations: Confirmations) -> ToolAnnotation:
    matching = tuple(
        Confirmation(arg=entry.arg, by=entry.by, reason=entry.reason)
        for entry in confirmations.of_tool(server, tool.tool, tool.schema_digest)
        if entry.arg is not None
    )
    named = {entry.arg for entry in matching}
    kept = tuple(entry for entry in tool.confirmed if entry.arg not in named)
    return tool.model_copy(update={"confirmed": (*matching, *kept)}) if matching else tool


def _listed(tool: ToolAnnotation, server_tool: ServerTool) -> ToolAnnotation:
    """Pin all that clients are told of the tool, where that was read from its server."""
    digest = server_tool.tool.listing_digest
    return tool.model_copy(update={"listing_digest": digest}) if digest else tool


def _contained(
    server: str,
    tool: ToolAnnotation,
    answer: Answer,
    confirmations: Confirmations,
    reviewed: KnownTool | None,
) -> tuple[ToolAnnotation, list[str]]:
    """Take `contained` from people only: a model's word for it counts when somebody confirmed it.

    What runs a language can do anything, so there a person has to confirm it in so many words; so has one
    where it depends on how a server is started.
    """
    if not tool.contained or any(
        entry.contained for entry in confirmations.of_tool(server, tool.tool, tool.schema_digest)
    ):
        return tool, []
    held = languages(tool)
    if reviewed is not None and reviewed.contained_if:
        return tool.model_copy(update={"contained": False}), []  # told once for the server
    if (answer.provider == MANUAL or reviewed is not None) and not held:
        return tool, []
    what = f"it takes {next(iter(held.values()))}, and " if held else ""
    note = (
        f"{server}: the answer calls {visible(tool.tool)} contained; {what}nobody confirmed it, so it counts "
        f"as not contained (confirmations.yaml, schema_digest {tool.schema_digest})"
    )
    return tool.model_copy(update={"contained": False}), [note]


def _only_reading(server: str, tool: ToolAnnotation, confirmations: Confirmations) -> ToolAnnotation:
    """Take from people only that a tool reads and does nothing else."""
    reads = any(entry.reads for entry in confirmations.of_tool(server, tool.tool, tool.schema_digest))
    return tool if tool.reads == reads else tool.model_copy(update={"reads": reads})


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
    raise_all([*_outdated_reads(annotations, confirmations)])


def _outdated_reads(annotations: Annotations, confirmations: Confirmations) -> Iterator[AnnotationError]:
    """Yield an error where a person's word that a tool only reads is about the tool as it is not.

    Without it the tool would look nothing up any more, and what its rules say of records would be a mistake.
    """
    for entry in confirmations.confirmed:
        tool = annotations.find(entry.server, entry.tool)
        if entry.reads and tool is not None and not tool.reads:
            digest = tool.schema_digest
            yield AnnotationError(
                f"the confirmation that {quoted(entry.tool)} only reads is not about the tool as it is now",
                where="confirmations.yaml",
                hint=f"Look at what the tool does; if it still only reads, write its schema_digest: {digest}",
            )
