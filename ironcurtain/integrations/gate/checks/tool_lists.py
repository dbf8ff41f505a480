"""The check of the recorded tool lists: do they still describe the tools that the policy was annotated for?

Authoring goes on from these lists where a server cannot be started, and reviewers read them as what the
servers offer. They are compared as `drift` compares live servers.
"""

from __future__ import annotations

from collections.abc import Iterator

from ironcurtain.analysis.drift.drift import drift
from ironcurtain.analysis.drift.report import DriftedTool, DriftReport, argument_lines
from ironcurtain.compiler.verify.gate_report import Check, Problem
from ironcurtain.integrations.gate.document import shown_path
from ironcurtain.integrations.gate.subject import PolicyUnderReview
from ironcurtain.servers.recorded import DIRECTORY, read_recorded
from ironcurtain.system.text import counted, visible

_LISTS = "tool lists"
_FATE = {
    "added": "is recorded, and the policy does not know it",
    "gone": "is known to the policy, and is not recorded any more",
    "changed": "is not what was annotated: another {changed}",
}


def tool_lists(subject: PolicyUnderReview) -> tuple[Check, ...]:
    """Hold the tool lists that lie beside the bundle against the digests of its annotations."""
    servers = subject.content.annotations.servers.values()
    annotated = {tool.schema_digest for server in servers for tool in server.tools if tool.schema_digest}
    recorded = read_recorded(subject.published, annotated)
    if not recorded:
        if not subject.bundle.manifest.metadata.provenance:
            return (Check(name=_LISTS, status="skipped", summary="not compiled, so none was recorded"),)
        place = shown_path(subject.published / DIRECTORY)
        summary = f"{place}, where the compile recorded them, is not there"
        if not subject.is_at_home:
            return (Check(name=_LISTS, status="unexamined", summary=summary),)
        gone = Problem(id=_LISTS, message=f"{place} is gone", file=place, suggestion=_AGAIN)
        return (Check(name=_LISTS, status="failed", summary=summary, problems=(gone,)),)
    report = drift(subject.content, recorded, lambda _server, _tool: ())
    problems = (*_lists_gone(subject, report), *(_problem(subject, tool) for tool in report.tools))
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


def _lists_gone(subject: PolicyUnderReview, report: DriftReport) -> Iterator[Problem]:
    for server in report.unread:
        file = _file(subject, server)
        yield Problem(id=server, message=f"{file} is gone", file=file, suggestion=_AGAIN)


def _problem(subject: PolicyUnderReview, found: DriftedTool) -> Problem:
    fate = _FATE[found.kind].format(changed=" and ".join(found.changed))
    return Problem(
        id=f"{found.server}/{found.tool}",
        message=f"the tool {visible(found.tool)} of {found.server} {fate}",
        file=_file(subject, found.server),
        details=tuple(argument_lines(found.arguments)),
        suggestion=_AGAIN,
    )


def _file(subject: PolicyUnderReview, server: str) -> str:
    return shown_path(subject.published / DIRECTORY / f"{server}.json")
