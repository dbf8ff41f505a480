"""Onboarding: what a new server brings to a policy, and the servers of a project."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from ironcurtain.analysis.matrix.report import Row
from ironcurtain.analysis.matrix.text import exactness_mark, outcome_words, places
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import Frozen, ServerName
from ironcurtain.system.text import visible

ToolStatus: TypeAlias = Literal["new", "changed", "known"]


class NewTool(Frozen):
    """One tool of the server.

    Attributes:
        status: `new` to the published policy, `changed` since it was annotated for it, or `known`.
        rows: What the rules that are published now would decide about it.
    """

    tool: str
    status: ToolStatus
    rows: tuple[Row, ...] = ()

    @property
    def uncovered(self) -> tuple[Row, ...]:
        """The rows in which everything is denied because no rule speaks of it."""
        return tuple(
            row
            for row in self.rows
            if all(outcome.verdict is Verdict.DENY and outcome.clause is None for outcome in row.outcomes)
        )


class Onboarding(Frozen):
    """How far a server has come.

    Attributes:
        stage: `annotated`: known, and every call to a new tool is denied; `compiled`: the published policy
            was made with its tools as they are.
        revision: Of the published policy; None if there is none.
        next: Commands that lead on, in their order.
    """

    format: Literal["ironcurtain/onboarding/v1"] = "ironcurtain/onboarding/v1"
    server: ServerName
    stage: Literal["annotated", "compiled"]
    revision: str | None
    tools: tuple[NewTool, ...]
    next: tuple[str, ...]


class ListedServer(Frozen):
    """One server of a project.

    Attributes:
        command: Program and arguments, or the URL; empty if it is not configured.
        tools: How many of its tools the published policy knows.
        state: `governed`: configured and known to the policy; `new`: only configured, so every call is
            denied; `removed`: only known to the policy.
    """

    name: ServerName
    command: tuple[str, ...]
    tools: int
    state: Literal["governed", "new", "removed"]


class ServerList(Frozen):
    """All servers of a project."""

    format: Literal["ironcurtain/server-list/v1"] = "ironcurtain/server-list/v1"
    servers: tuple[ListedServer, ...]


def text_lines(report: Onboarding) -> Iterator[str]:
    """Yield what the published policy decides about the new tools, and the commands that lead on."""
    if report.revision is None:
        yield "no policy is published yet: every call is denied until one is compiled"
    for tool in report.tools:
        if tool.status == "known":
            continue
        yield f"{tool.status} to the policy: {visible(tool.tool)}"
        for row in tool.rows:
            shown = "; ".join(" ".join(outcome_words(row, outcome).split()) for outcome in row.outcomes)
            mark = "uncovered: " if row in tool.uncovered else ""
            yield f"    {mark}{', '.join(row.roles)} in {places(row)}{exactness_mark(row)}: {shown}"
    uncovered = sum(len(tool.uncovered) for tool in report.tools)
    cells = sum(len(tool.rows) for tool in report.tools)
    if report.stage == "annotated":
        if cells:
            yield f"{uncovered} of {cells} cells are uncovered: denied until the constitution says otherwise"
        yield f"next: say in the constitution what {report.server} may do, then"
    else:
        yield f"{report.server} is in the published policy; next:"
    yield from (f"    {command}" for command in report.next)
