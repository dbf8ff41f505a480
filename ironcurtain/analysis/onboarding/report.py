"""Onboarding: what a new server brings to a policy, and the servers of a project."""

from __future__ import annotations

from typing import Literal, TypeAlias

from ironcurtain.analysis.matrix.report import Row
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import Frozen, ServerName

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
