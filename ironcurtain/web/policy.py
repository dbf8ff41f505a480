"""The page of the policy: its sentences, what each of them causes, and the decision matrix as a heat map."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from ironcurtain.analysis.advice.advise import Logs
from ironcurtain.analysis.advice.report import Advice
from ironcurtain.analysis.advice.text import class_words, logs_line
from ironcurtain.analysis.matrix.witnesses import MatrixCell
from ironcurtain.errors import EvidenceError, IronCurtainError
from ironcurtain.web.access import Access
from ironcurtain.web.live import changes
from ironcurtain.web.once_per_state import OncePerState, version_of
from ironcurtain.web.policy_heat import has_cell, heat_map
from ironcurtain.web.policy_report import PolicyReport
from ironcurtain.web.rendering import not_examined, page, refused, said

HERE = "/policy"
_MOST_DIGITS = 9
_NO_SUCH = "The policy has no such sentence or cell."


OpenLogs = Callable[[], Logs]


class PolicyPages:
    """The page of the policy, and that of one cell.

    Args:
        examination: The policy's examination; None where no policy was named.
        access: Who is let in.
        logs: Opens all audit logs, to show use beside permission.
    """

    def __init__(
        self, examination: OncePerState[PolicyReport] | None, access: Access, logs: OpenLogs | None
    ) -> None:
        self._examination, self._access, self._logs = examination, access, logs

    async def shown(self, request: Request) -> Response:
        """Show the sentences, and what one of them causes."""
        return await run_in_threadpool(self._shown, request)

    async def cell(self, request: Request) -> Response:
        """Show the calls that show a cell."""
        return await run_in_threadpool(self._cell, request)

    async def changes(self, request: Request) -> Response:
        """Tell when the examination has ended, and when it begins anew."""
        return changes(request, self._access, partial(version_of, self._examination))

    def _shown(self, request: Request) -> Response:
        report = self._report(request)
        if isinstance(report, Response):
            return report
        asked = request.query_params
        clause, servers = asked.get("clause", ""), sorted(report.matrix.servers)
        deciding = [each for each in servers if heat_map(report.matrix, each, clause).total]
        server = asked.get("server", next(iter(deciding or servers), ""))
        begin = asked.get("from", "0")
        try:
            effects = report.effects(clause) if clause else {}
        except EvidenceError:
            return refused(request, 404, _NO_SUCH)
        is_number = begin.isascii() and begin.isdecimal() and len(begin) <= _MOST_DIGITS
        if (servers and server not in servers) or not is_number:
            return refused(request, 404, _NO_SUCH)
        return page(
            "policy.html",
            request,
            report=report,
            chosen=clause,
            effects={clause: effects} if clause else {},
            servers=servers,
            decides=server in deciding,
            use=self._use(report) if "use" in asked else None,
            class_words=class_words,
            logs_line=logs_line,
            maps=[heat_map(report.matrix, server, clause if server in deciding else "", int(begin))],
        )

    def _use(self, report: PolicyReport) -> Advice | str:
        """Return what was used, or why nobody can tell; it is read anew each time, for who asks for it."""
        try:
            return report.use(self._logs()) if self._logs is not None else "No audit logs are read."
        except IronCurtainError as error:
            return said(error)

    def _cell(self, request: Request) -> Response:
        report = self._report(request)
        if isinstance(report, Response):
            return report
        cell = MatrixCell(*(request.query_params.get(name, "") for name in MatrixCell.__struct_fields__))
        if not has_cell(report.matrix, cell):
            return refused(request, 404, _NO_SUCH)
        return page("policy_cell.html", request, cell=cell, calls=report.calls(cell))

    def _report(self, request: Request) -> PolicyReport | Response:
        if self._examination is None:
            return page("policy_none.html", request, what="Policy", option="--bundle generated/bundle")
        progress = self._examination.progress(asked=True)
        if progress.trouble:
            return not_examined(request, "Policy", HERE, progress.trouble)
        if progress.result is None:
            return page("policy_wait.html", request, what="Policy", follow=f"{HERE}/changes", trouble="")
        return progress.result
