"""Is what was compiled still what the project says: its sources, and the tool lists of its servers?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ironcurtain.analysis.drift.drift import drift
from ironcurtain.analysis.drift.report import DriftedTool, DriftReport, argument_lines
from ironcurtain.bundle.content import clause_sources
from ironcurtain.bundle.provenance import provenance_of
from ironcurtain.bundle.provenance_model import Source
from ironcurtain.compiler.load.sources import project_sources
from ironcurtain.compiler.verify.gate_report import Check, Problem
from ironcurtain.integrations.gate.policy_under_review import PolicyUnderReview, shown_path
from ironcurtain.servers.tool_lists.published import DIRECTORY, read_recorded
from ironcurtain.system.files import has_content
from ironcurtain.system.text import counted, visible

_NAME = "sources"
_OWN = "user constitution"
_AGAIN = "Run `ironcurtain compile`, or take the change back."


def sources(reviewed: PolicyUnderReview) -> tuple[Check, ...]:
    """Hold the project's files against those that the bundle was compiled from.

    A bundle of hand-written rules was compiled from none; one that lies in no project has none beside it.
    """
    if not reviewed.bundle.manifest.metadata.provenance:
        return (Check(name=_NAME, status="skipped", summary="not compiled, so there is nothing to compare"),)
    compiled = {each.path: each for each in provenance_of(reviewed.bundle).sources}
    if not reviewed.in_project:
        said = f"{', '.join(sorted(compiled))} are not beside the bundle"
        return (Check(name=_NAME, status="unexamined", summary=said),)
    found = {each.path: each for each in project_sources(reviewed.root, reviewed.settings)}
    elsewhere = {path for path, each in compiled.items() if each.kind == _OWN and path not in found}
    looked_at = {path: each for path, each in compiled.items() if path not in elsewhere}
    problems = tuple(_problems(looked_at, found, reviewed))
    said = counted(len(looked_at), "file as it was compiled", "files as they were compiled")
    if problems:
        said = f"{', '.join(each.id for each in problems)}: not what was compiled"
    if elsewhere:
        said += f"; not compared: {', '.join(sorted(elsewhere))}, which is no file of the project"
    return (
        Check(
            name=_NAME,
            status="failed" if problems else "passed",
            summary=said,
            count=len(looked_at),
            problems=problems,
        ),
    )


def _problems(
    compiled: dict[str, Source], found: dict[str, Source], reviewed: PolicyUnderReview
) -> Iterator[Problem]:
    for path in sorted(compiled.keys() | found.keys()):
        file = shown_path(reviewed.root / path)
        if path not in found:
            message = f"{path} is gone, or the project names another file"
        elif path not in compiled:
            message = f"{path} was not there when the bundle was compiled"
        elif found[path] != compiled[path]:
            message = f"{path} changed since the bundle was compiled from it"
        else:
            continue
        problem = Problem(id=path, message=message, file=file, suggestion=_AGAIN)
        yield _with_clause(problem, reviewed) if path == reviewed.settings.constitution else problem


def _with_clause(problem: Problem, reviewed: PolicyUnderReview) -> Problem:
    """Return the problem of a constitution with the place of the first clause that reads otherwise."""
    path = reviewed.root / reviewed.settings.constitution
    compiled = reviewed.content.clauses
    if not has_content(path):
        return problem
    # Reading Markdown is a tenth of a gate's time, so only a change pays for it.
    from ironcurtain.compiler.load.clause_record import known_clauses  # noqa: PLC0415
    from ironcurtain.compiler.load.load import read_constitution  # noqa: PLC0415

    read = read_constitution(path, None, reviewed.root, known_clauses(reviewed.published))[1]
    for placed in read:
        clause = placed.clause
        before = compiled.get(clause.id)
        if before == clause.text:
            continue
        words = f"compiled: {before}" if before is not None else "compiled: no such clause"
        line = int(clause.source.rpartition(":")[2])
        return problem.model_copy(
            update={"clause": clause.id, "line": line, "details": (f"now: {clause.text}", words)}
        )
    ids = {placed.clause.id for placed in read}
    places = clause_sources(reviewed.bundle)
    prefix = f"{reviewed.settings.constitution}:"
    gone = tuple(
        f"gone: {id_}: {text}"
        for id_, text in compiled.items()
        if id_ not in ids and places[id_].startswith(prefix)
    )
    return problem.model_copy(update={"details": gone})


_LISTS = "tool lists"
_FATE = {
    "added": ("is recorded, and the policy does not know it", "are recorded, and unknown to the policy"),
    "gone": (
        "is known to the policy, and is not recorded any more",
        "are known to the policy, and not recorded any more",
    ),
    "changed": ("is not what was annotated: another {}", "are not what was annotated: another {}"),
}
_MOST = 3
"""Most tools of a server with the same deviation that are told one by one."""


def tool_lists(reviewed: PolicyUnderReview) -> tuple[Check, ...]:
    """Hold the tool lists that lie beside the bundle against the digests of its annotations."""
    servers = reviewed.content.annotations.servers.values()
    annotated = {tool.schema_digest for server in servers for tool in server.tools if tool.schema_digest}
    recorded = read_recorded(reviewed.published, annotated)
    if not recorded:
        if not reviewed.bundle.manifest.metadata.provenance:
            return (Check(name=_LISTS, status="skipped", summary="not compiled, so none was recorded"),)
        place = shown_path(reviewed.published / DIRECTORY)
        summary = f"{place}, where the compile recorded them, is not there"
        if not reviewed.is_at_home:
            return (Check(name=_LISTS, status="unexamined", summary=summary),)
        gone = Problem(id=_LISTS, message=f"{place} is gone", file=place, suggestion=_AGAIN)
        return (Check(name=_LISTS, status="failed", summary=summary, problems=(gone,)),)
    report = drift(reviewed.content, recorded, lambda _server, _tool: ())
    problems = (*_lists_gone(reviewed, report), *_deviating(reviewed, report))
    said = counted(report.unchanged, "tool as it was annotated", "tools as they were annotated")
    if problems:
        said = f"{', '.join(visible(each.id) for each in problems)}: not what was annotated"
    return (
        Check(
            name=_LISTS,
            status="failed" if problems else "passed",
            summary=said,
            count=report.unchanged,
            problems=problems,
        ),
    )


def _lists_gone(reviewed: PolicyUnderReview, report: DriftReport) -> Iterator[Problem]:
    for server in report.unread:
        file = _file(reviewed, server)
        yield Problem(id=server, message=f"{file} is gone", file=file, suggestion=_AGAIN)


def _deviating(reviewed: PolicyUnderReview, report: DriftReport) -> Iterator[Problem]:
    alike: dict[tuple[str, str, str], list[DriftedTool]] = {}
    for tool in report.tools:
        alike.setdefault((tool.server, tool.kind, " and ".join(tool.changed)), []).append(tool)
    for tools in alike.values():
        if len(tools) > _MOST:
            yield _joined(reviewed, tools)
        else:
            yield from (_problem(reviewed, tool) for tool in tools)
    for text in report.beside:
        yield Problem(
            id=f"{text.server}/{text.deviation.name or text.deviation.what}",
            message=f"{text.server}: {text.deviation.shown} is not what was annotated",
            file=_file(reviewed, text.server),
            suggestion=_AGAIN,
        )


def _joined(reviewed: PolicyUnderReview, tools: Sequence[DriftedTool]) -> Problem:
    """Return one problem for tools of a server that deviate in the same way."""
    first = tools[0]
    fate = _FATE[first.kind][1].format(" and ".join(first.changed))
    return Problem(
        id=f"{first.server} ({len(tools)} tools {first.kind})",
        message=f"{len(tools)} tools of {first.server} {fate}",
        file=_file(reviewed, first.server),
        details=(", ".join(visible(each.tool) for each in tools),),
        suggestion=_AGAIN,
    )


def _problem(reviewed: PolicyUnderReview, found: DriftedTool) -> Problem:
    fate = _FATE[found.kind][0].format(" and ".join(found.changed))
    return Problem(
        id=f"{found.server}/{found.tool}",
        message=f"the tool {visible(found.tool)} of {found.server} {fate}",
        file=_file(reviewed, found.server),
        details=tuple(argument_lines(found.arguments)),
        suggestion=_AGAIN,
    )


def _file(reviewed: PolicyUnderReview, server: str) -> str:
    return shown_path(reviewed.published / DIRECTORY / f"{server}.json")
