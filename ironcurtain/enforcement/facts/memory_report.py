"""The memory of a session as a report: which labels it has, since when, and what its counters stand at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Literal

from pydantic import ValidationError

from ironcurtain.enforcement.audit.record_types import DecisionRecord, Line
from ironcurtain.enforcement.facts.memory import begins_session, booked_of
from ironcurtain.enforcement.facts.totals.amounts import AmountError, add, read_total, total_text
from ironcurtain.errors import AuditError
from ironcurtain.system.frozen import Digest, Frozen
from ironcurtain.system.text import counted, visible


class LabelState(Frozen):
    """A label that a session has.

    Attributes:
        since: The time of the record that gave it first.
        decision: The id of that call's decision.
    """

    name: str
    since: str
    decision: str


class TotalState(Frozen):
    """What calls of a session have added to a counter in one window.

    Attributes:
        window: The window; empty for the whole session.
        caller: Digest of whom the agent acted for, for a counter per caller: other sessions may add to it.
        total: An exact decimal.
        calls: How many calls added to it.
    """

    counter: str
    window: str
    caller: Digest | None = None
    total: str
    calls: int


class SessionState(Frozen):
    """What `ironcurtain audit state` prints.

    Attributes:
        session: The log's name.
        labels: In the order in which the session got them.
        totals: In the order in which they began.
    """

    format: Literal["ironcurtain/session-state/v1"] = "ironcurtain/session-state/v1"
    session: str
    labels: tuple[LabelState, ...] = ()
    totals: tuple[TotalState, ...] = ()


def state_of(session: str, lines: Iterable[Line]) -> SessionState:
    """Return the memory that a log tells of: that of its last session, and what callers have booked in all.

    Args:
        session: The log's name.
        lines: Its lines, verified.

    Raises:
        AuditError: If a record books what cannot be added up.
    """
    labels: dict[str, LabelState] = {}
    sums: dict[tuple[str, str, Digest | None], tuple[Decimal, int]] = {}
    try:
        for line in lines:
            record = line.record
            if begins_session(line):
                labels.clear()
                sums = {place: found for place, found in sums.items() if place[2] is not None}
            id_ = record.id if isinstance(record, DecisionRecord) else None
            for booked in booked_of(line):
                if booked.add is None:
                    decision = id_ or str(getattr(record, "detail", {}).get("decision", ""))
                    labels.setdefault(
                        booked.fact, LabelState(name=booked.fact, since=record.time, decision=decision)
                    )
                    continue
                place = (booked.fact, booked.window, booked.caller)
                total, calls = sums.get(place, (Decimal(0), 0))
                sums[place] = add(total, read_total(booked.add)), calls + 1
    except (AmountError, ValidationError) as error:
        raise AuditError(
            f"the log books what cannot be added up: {error}", hint="Run `ironcurtain audit verify`."
        ) from None
    totals = tuple(
        TotalState(counter=counter, window=window, caller=caller, total=total_text(total), calls=calls)
        for (counter, window, caller), (total, calls) in sums.items()
    )
    return SessionState(session=session, labels=tuple(labels.values()), totals=totals)


def state_lines(state: SessionState) -> Iterator[str]:
    """Yield a report of a session's memory, line by line."""
    yield f"session {visible(state.session)}"
    if not state.labels and not state.totals:
        yield "nothing is booked"
    for label in state.labels:
        yield f"label {visible(label.name)} since {label.since} (decision {visible(label.decision)})"
    for total in state.totals:
        window = f" in {visible(total.window)}" if total.window else ""
        caller = f", caller {total.caller[7:19]}" if total.caller else ""
        calls = counted(total.calls, "call")
        yield f"counter {visible(total.counter)}{window}: {total.total} ({calls}{caller})"
