"""What logs say of use: calls by class, with who made them, when, and what people answered.

A log is read record by record and never held as a whole: what is kept is one record for each class of calls,
and counts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from ironcurtain.analysis.replay.replay import Replayer
from ironcurtain.enforcement.audit.record_types import DecisionRecord
from ironcurtain.model.verdict import Verdict
from ironcurtain.system import json_text

LoggedCalls: TypeAlias = Iterable[tuple[str, DecisionRecord]]
"""The calls of some logs, each with its log's name."""
ReplayerOf: TypeAlias = Callable[[DecisionRecord], Replayer]
"""Returns what decides a recorded call where it was recorded."""

DAY = len("2026-01-01")
"""Of a recorded time, the part that is its day."""


@dataclass(eq=False)
class CallClass:
    """Recorded calls that a policy cannot tell apart.

    Attributes:
        example: One of them.
        replayer: What decides it where it was recorded.
        calls: How many there are.
        callers: Whom the agent acted for, or else whose connection they came by.
        days: The days on which they were made.
        asked: How many of them a person had to be asked about.
        denied: How many of these a person denied.
    """

    example: DecisionRecord
    replayer: Replayer
    calls: int = 0
    asked: int = 0
    denied: int = 0
    first: str = ""
    last: str = ""
    callers: set[str] = field(default_factory=set)
    days: set[str] = field(default_factory=set)

    def add(self, record: DecisionRecord) -> None:
        """Count one call."""
        self.calls += 1
        self.asked += record.verdict is Verdict.ESCALATE
        self.denied += is_denied(record)
        self.first = min(self.first or record.time, record.time)
        self.last = max(self.last, record.time)
        self.days.add(record.time[:DAY])
        self.callers.add(caller_of(record))

    @property
    def is_used(self) -> bool:
        """Whether calls of the class are permitted as they were recorded."""
        return self.example.verdict is not Verdict.DENY


def classes_of(calls: LoggedCalls, replayer_of: ReplayerOf) -> list[CallClass]:
    """Return recorded calls by class, in the order in which each class was first seen.

    The recorded verdict is part of the class: facts that a record lacks may have made it.
    """
    found: dict[Hashable, CallClass] = {}
    for _, record in calls:
        replayer = replayer_of(record)
        key = (id(replayer), record.verdict, is_denied(record), replayer.call_class(record))
        if key not in found:
            found[key] = CallClass(record, replayer)
        found[key].add(record)
    return list(found.values())


def is_denied(record: DecisionRecord) -> bool:
    """Tell whether a person refused a call."""
    return record.approval is not None and record.approval.state == "denied"


def caller_of(record: DecisionRecord) -> str:
    """Return whom the agent acted for in a call, or else whose connection it came by."""
    facts = record.abstract.caller if record.abstract is not None else record.caller
    return json_text.canonical(facts).decode() if facts else record.client
