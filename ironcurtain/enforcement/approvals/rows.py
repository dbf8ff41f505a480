"""The list of what waits: what each call is about, in as few lines as the terminal's width allows.

Only our own words begin a line; whatever an agent or a server wrote stands in quotes behind them, or behind
the margin, so that no text can look like a further row. A row shortens long values; the whole request is
what a person answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from ironcurtain.enforcement.approvals.describe import NARROWEST, behind_margin, columns_of
from ironcurtain.enforcement.approvals.effects import resources_of
from ironcurtain.enforcement.approvals.messages import ApprovalRequest, ApprovalStatus
from ironcurtain.system.text import cut, in_quotes, isolated, quoted, visible

_RESOURCES = 3
_VALUE = 160
_REASON = 60
_NAME = 60
_NAMED_PLAINLY = re.compile(r"[A-Za-z0-9_./:-]+")


def rows(status: ApprovalStatus, now: datetime, width: int | None) -> list[str]:
    """Return a request's lines, safe to show.

    Args:
        status: The request, and what became of it.
        now: The time of day, to say how long there is to answer.
        width: The terminal's columns; None gives one line, as long as it needs to be.
    """
    if status.request is None:
        parts = [status.id, "unreadable", visible(status.problem)]
    else:
        parts = [status.id, f"{_state(status, status.request, now):<10}", *_about(status.request)]
    line = "  ".join(parts)
    if width is None or sum(map(columns_of, line)) <= width:
        return [isolated(line)]
    return [isolated(each) for each in _broken(parts, max(width, NARROWEST))]


def _broken(parts: list[str], width: int) -> Iterator[str]:
    """Put as much on the first line as fits whole, and each other part behind the margin."""
    first, *others = parts
    while others and sum(map(columns_of, f"{first}  {others[0]}")) <= width:
        first = f"{first}  {others.pop(0)}"
    yield first.rstrip()
    for part in others:
        yield from behind_margin(part, width)


def _state(status: ApprovalStatus, request: ApprovalRequest, now: datetime) -> str:
    if status.state != "pending":
        return status.state
    left = max(0, int((request.expires - now).total_seconds()))
    return f"{left // 60}:{left % 60:02d} left"


def _about(request: ApprovalRequest) -> Iterator[str]:
    yield f"{_name(request.server)} {_name(request.tool)}"
    if resources := resources_of(request, most=_RESOURCES, length=_VALUE):
        yield resources
    else:
        yield "may change something" if request.side_effects else "changes nothing"
    clause = f"[{visible(request.clause)}] " if request.clause else ""
    yield clause + quoted(request.reason, _REASON)[1:-1]


def _name(name: str) -> str:
    """Return a name as it is where nothing in it could look like a column of ours."""
    return cut(name if _NAMED_PLAINLY.fullmatch(name) else in_quotes(name), _NAME)
