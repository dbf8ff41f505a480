"""The page of activity: decisions of all proxies and sessions as they come, and each of them in full."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from ironcurtain.analysis.explain.report import Explanation
from ironcurtain.analysis.explain.text import text_lines
from ironcurtain.enforcement.approvals.messages import ApprovalRequest
from ironcurtain.enforcement.audit.recent import RecentRecord, RecentRecords
from ironcurtain.enforcement.audit.record_types import DecisionRecord
from ironcurtain.enforcement.audit.summary import (
    AuditEntry,
    AuditStats,
    entry_lines,
    json_lines,
    record_line,
    statistics,
)
from ironcurtain.errors import IronCurtainError
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.structs import Struct
from ironcurtain.web.access import Access
from ironcurtain.web.live import changes
from ironcurtain.web.rendering import page, refused

HERE = "/activity"
MOST_ROWS = 300
_MOST_ASKING = 5
_MOST_ALIKE = 5
_BARS = 30
_BAR = timedelta(minutes=2)
_HEIGHT = 40
_NOT_RECENT = "This decision is none of the newest; `ironcurtain audit show` has all."
_FILTERS: Mapping[str, Callable[[RecentRecord, DecisionRecord], str]] = {
    "verdict": lambda _, record: record.verdict.value,
    "server": lambda _, record: record.server,
    "tool": lambda _, record: record.tool,
    "rule": lambda _, record: record.rule,
    "session": lambda place, _: place.session,
}

Explain = Callable[[DecisionRecord], Explanation]


class DecisionRow(Struct):
    """One line of the list: where it leads, its verdict and the words of `ironcurtain audit tail`."""

    link: str
    verdict: str
    words: str


class Bar(Struct):
    """Two minutes of the chart: how many decisions of each verdict, and how they are drawn.

    Attributes:
        parts: For each verdict that occurs its name, the upper edge and the height in the drawing.
    """

    at: str
    place: int
    counts: Mapping[str, int]
    parts: tuple[tuple[str, float, float], ...]


class ActivityPages:
    """The list, one decision, and what changes.

    Args:
        records: What the logs hold.
        access: Who is let in.
        explain: Explains a recorded decision; None where no policy was named.
    """

    def __init__(self, records: RecentRecords, access: Access, explain: Explain | None) -> None:
        self._records, self._access, self._explain = records, access, explain

    async def list_(self, request: Request) -> Response:
        """Show the newest decisions that the filters leave."""
        return await run_in_threadpool(self._listed, request)

    async def one(self, request: Request) -> Response:
        """Show one decision in full."""
        return await run_in_threadpool(self._shown, request)

    async def changes(self, request: Request) -> Response:
        """Tell of each new record."""
        return changes(request, self._access, self._records.version)

    def _listed(self, request: Request) -> Response:
        try:
            decisions = [each for each in self._records.records() if _decision(each) is not None]
        except OSError as error:
            return refused(request, 500, f"An audit log cannot be read: {error}")
        chosen = {name: request.query_params.get(name, "") for name in _FILTERS}
        found = [each for each in decisions if _fits(each, chosen)]
        asked = statistics("", (each.line for each in found if _asked(each)))
        return page(
            "activity.html",
            request,
            rows=[_row(each) for each in reversed(found[-MOST_ROWS:])],
            more=max(0, len(found) - MOST_ROWS),
            chosen=chosen,
            choices={name: _choices(decisions, name) for name in _FILTERS},
            bars=bars(found, datetime.now(UTC)),
            height=_HEIGHT,
            asking=_most(asked),
            troubles=self._records.troubles,
            missing=self._records.missing,
        )

    def _shown(self, request: Request) -> Response:
        session, id_ = request.path_params["session"], request.path_params["id"]
        found = self._records.entry(session, id_)
        record = _decision(found[0]) if found is not None else None
        if found is None or record is None:
            return refused(request, 404, _NOT_RECENT)
        place, result = found
        explanation, trouble = self._explained(record, wanted="explain" in request.query_params)
        return page(
            "decision.html",
            request,
            record=record,
            place=place,
            lines=tuple(entry_lines(AuditEntry(decision=record, result=result))),
            can_explain=self._explain is not None,
            explanation=tuple(text_lines(explanation)) if explanation is not None else (),
            asked=_asked_of_engine(explanation) if explanation is not None else {},
            trouble=trouble,
        )

    def _explained(self, record: DecisionRecord, *, wanted: bool) -> tuple[Explanation | None, str]:
        if not wanted or self._explain is None:
            return None, ""
        try:
            return self._explain(record), ""
        except (IronCurtainError, OSError) as error:
            return None, str(error)  # its hint is about options of `explain`


def _asked_of_engine(explanation: Explanation) -> Mapping[str, tuple[str, ...]]:
    """Return what OPA was asked and what it answered, by title, in lines; nothing where it was not."""
    told = {"What OPA was asked": explanation.input, "What it answered": explanation.answer}
    return {title: tuple(json_lines(value)) for title, value in told.items() if value is not None}


def alike(records: Iterable[RecentRecord], request: ApprovalRequest) -> tuple[str, ...]:
    """Return what was answered lately about calls of the same tool under the same rule, the newest first."""
    same = (request.server, request.tool, request.rule)
    found = [
        record
        for each in records
        if (record := _decision(each)) is not None
        and record.approval is not None
        and (record.server, record.tool, record.rule) == same
    ]
    return tuple(record_line(record) for record in reversed(found[-_MOST_ALIKE:]))


def bars(found: Iterable[RecentRecord], now: datetime) -> tuple[Bar, ...]:
    """Count the decisions of the last hour by verdict, in steps of two minutes."""
    begin = now - _BARS * _BAR
    counts: list[dict[str, int]] = [{} for _ in range(_BARS)]
    for each in found:
        record = each.line.record
        passed = datetime.fromisoformat(record.time) - begin
        number = passed // _BAR
        if isinstance(record, DecisionRecord) and 0 <= number < _BARS:
            counts[number][record.verdict.value] = counts[number].get(record.verdict.value, 0) + 1
    most = max((sum(each.values()) for each in counts), default=0) or 1
    return tuple(
        Bar(f"{begin + number * _BAR:%H:%M}", number * 10, each, tuple(_stacked(each, most)))
        for number, each in enumerate(counts)
    )


def _stacked(counts: Mapping[str, int], most: int) -> Iterable[tuple[str, float, float]]:
    top = float(_HEIGHT)
    for verdict in Verdict:
        if high := _HEIGHT * counts.get(verdict.value, 0) / most:
            top -= high
            yield verdict.value, round(top, 2), round(high, 2)


def _decision(each: RecentRecord) -> DecisionRecord | None:
    return each.line.record if isinstance(each.line.record, DecisionRecord) else None


def _fits(each: RecentRecord, chosen: Mapping[str, str]) -> bool:
    record = _decision(each)
    return record is not None and all(
        _FILTERS[name](each, record) == value for name, value in chosen.items() if value
    )


def _asked(each: RecentRecord) -> bool:
    record = _decision(each)
    return record is not None and record.verdict is Verdict.ESCALATE


def _choices(decisions: Iterable[RecentRecord], name: str) -> list[str]:
    values = {_FILTERS[name](each, record) for each in decisions if (record := _decision(each)) is not None}
    return sorted(values)


def _row(each: RecentRecord) -> DecisionRow:
    record = each.line.record
    assert isinstance(record, DecisionRecord)  # noqa: S101 - `_listed` keeps decisions alone
    return DecisionRow(f"{HERE}/{each.session}/{record.id}", record.verdict.value, record_line(record))


def _most(asked: AuditStats) -> Mapping[str, list[tuple[str, int]]]:
    return {
        "Tools that ask most": list(asked.tools.items())[:_MOST_ASKING],
        "Clauses that ask most": list(asked.clauses.items())[:_MOST_ASKING],
    }
