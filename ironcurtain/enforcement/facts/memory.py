"""The memory of a session: a fold over the records of its audit log, and nothing else.

Each record carries what its call added (`booked`). A log holds one session after the other: an event of a
start says where one begins. A session that goes on after a restart has the memory that its log tells of;
nothing takes a label away, or makes a total smaller.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from decimal import Decimal

from pydantic import ValidationError

from ironcurtain.enforcement.audit.hash_chain import ChangedLineError, SealedLine, follow_chain, split_lines
from ironcurtain.enforcement.audit.log_paths import LogPaths
from ironcurtain.enforcement.audit.reader import read_segment
from ironcurtain.enforcement.audit.record_types import GENESIS, Booked, DecisionRecord, EventRecord, Line
from ironcurtain.enforcement.facts.totals.amounts import AmountError, add, read_total
from ironcurtain.enforcement.facts.totals.store import TotalKey
from ironcurtain.errors import AuditError

BOOKED = "booked"
"""The event that tells of labels which an answer gave the session, before the client saw it."""
_MARK = b'"booked":[{'
BEGINS = {"session": "begins"}
"""What the event of a start says where no session goes on."""
_BEGINS = b'"session":"begins"'
_ZERO = Decimal(0)


class SessionMemory:
    """What a session has taken in, and what its calls have added up to."""

    def __init__(self, booked: Iterable[Booked] = ()) -> None:
        self._callers: defaultdict[TotalKey, Decimal] = defaultdict(Decimal)
        self.begin()
        for each in booked:
            self.add(each)

    def begin(self) -> None:
        """Begin a session: it has no label, and no call was counted; what callers have booked, stays."""
        self._labels: Counter[str] = Counter()
        self._sums: defaultdict[tuple[str, str], Decimal] = defaultdict(Decimal)

    @property
    def labels(self) -> frozenset[str]:
        """The labels that the session has."""
        return frozenset(+self._labels)

    @property
    def totals(self) -> Mapping[tuple[str, str], Decimal]:
        """By the name of a counter per session and its window, what was added up."""
        return dict(self._sums)

    def has(self, label: str) -> bool:
        """Tell whether the session has a label."""
        return self._labels[label] > 0

    def total(self, counter: str, window: str) -> Decimal:
        """Return what a counter per session has added up to in a window."""
        return self._sums.get((counter, window), _ZERO)

    def least(self, key: TotalKey) -> Decimal:
        """Return what this session alone has added to a caller's total; no store may hold less."""
        return self._callers.get(key, _ZERO)

    def add(self, booked: Booked) -> None:
        """Take in what one call adds.

        Raises:
            AmountError: If the sum cannot be kept exactly.
        """
        if booked.add is None:
            self._labels[booked.fact] += 1
            return
        amount = read_total(booked.add)
        if booked.caller is None:
            place = (booked.fact, booked.window)
            self._sums[place] = add(self._sums[place], amount)
            return
        key = key_of(booked)
        self._callers[key] = add(self._callers[key], amount)

    def release(self, booked: Booked) -> None:
        """Take back what was added for a call that the store did not book, so that it is not sent."""
        if booked.add is None:
            self._labels[booked.fact] -= 1
        else:
            self._sums[booked.fact, booked.window] -= read_total(booked.add)

    @classmethod
    def of_log(cls, paths: LogPaths, end: tuple[int, str]) -> SessionMemory:
        """Return the memory that a log tells of.

        Args:
            paths: The log, which this process writes.
            end: How many lines it has, and the seal of the last: what its writer verified.

        Raises:
            AuditError: If the log is not what its writer verified, or holds what cannot be added up.
            FileError: If it cannot be read.
        """
        try:
            memory = cls()
            for line in _lines_that_count(paths, end):
                if begins_session(line):
                    memory.begin()
                for booked in booked_of(line):
                    memory.add(booked)
        except (ChangedLineError, ValidationError, AmountError) as error:
            raise AuditError(
                f"the memory of the session cannot be rebuilt from its log: {error}",
                where=str(paths.path),
                hint="Run `ironcurtain audit verify`.",
            ) from None
        return memory


def key_of(booked: Booked) -> TotalKey:
    """Return which total of a caller was added to."""
    return TotalKey(booked.caller or "", counter_id(booked.fact, booked.declared), booked.window)


def counter_id(name: str, declared: str) -> str:
    """Return what a counter per caller is called in a store: another declaration is another counter."""
    return f"{name}:{declared}"


def begins_session(line: Line) -> bool:
    """Tell whether a record begins a session, in a log that may hold others before it."""
    record = line.record
    if not isinstance(record, EventRecord) or record.event != "start":
        return False
    return BEGINS.items() <= record.detail.items()


def booked_of(line: Line) -> tuple[Booked, ...]:
    """Return what one record of a log booked."""
    record = line.record
    if isinstance(record, DecisionRecord):
        return record.facts.booked if record.facts is not None else ()
    if isinstance(record, EventRecord) and record.event == BOOKED:
        found = record.detail.get("booked")
        return tuple(Booked.model_validate(each) for each in (found if isinstance(found, list) else ()))
    return ()


def _lines_that_count(paths: LogPaths, end: tuple[int, str]) -> Iterable[Line]:
    count, seal = 0, GENESIS
    for path in paths.segments():
        lines, _ = split_lines(read_segment(path))
        kept = list(lines)
        for data, opened in zip(kept, follow_chain(kept, seal), strict=True):
            if not isinstance(opened, SealedLine):
                raise opened
            count, seal = count + 1, opened.seal
            # Most lines book nothing, and are not read for it; within a text quotes are escaped.
            if _MARK in opened.record or _BEGINS in opened.record:
                yield Line.model_validate_json(data)
    if (count, seal) != end:
        raise ChangedLineError("it is not what its writer verified")
