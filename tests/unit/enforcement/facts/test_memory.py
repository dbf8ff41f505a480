"""The memory of a session: what its log's records have booked, and nothing else."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from pathlib import Path

import pytest
from support.records.audited import KEY, TIME, decided

from ironcurtain.enforcement.audit.log import AuditLog
from ironcurtain.enforcement.audit.log_paths import LogPaths, session_log
from ironcurtain.enforcement.audit.reader import read_records
from ironcurtain.enforcement.audit.record_types import Booked, DecisionRecord, EventRecord, RecordedFacts
from ironcurtain.enforcement.facts.memory import BEGINS, BOOKED, SessionMemory, key_of
from ironcurtain.enforcement.facts.memory_report import state_lines, state_of
from ironcurtain.errors import AuditError
from ironcurtain.system.frozen import JsonValue

CALLER = f"sha256:{'a' * 64}"
PRIVATE = Booked(fact="private")
PAID = Booked(fact="paid", add="0.1", window="2026-11-23", caller=CALLER, declared="0011")


def booking(number: int, *booked: Booked) -> DecisionRecord:
    facts = RecordedFacts(at=TIME, values={"private": False}, booked=booked)
    return decided(number).model_copy(update={"facts": facts})


def written(tmp_path: Path, *records: DecisionRecord | EventRecord) -> tuple[LogPaths, tuple[int, str]]:
    place = session_log(tmp_path, "work")

    async def write() -> tuple[int, str]:
        async with AuditLog(place, key=KEY) as log:
            for record in records:
                await (log.event(record) if isinstance(record, EventRecord) else log.decision(record))
            return log.state

    return place, asyncio.run(write())


def test_a_restart_rebuilds_labels_and_totals(tmp_path: Path) -> None:
    sent = Booked(fact="sent", add="1")
    found = SessionMemory.of_log(
        *written(tmp_path, booking(0, PAID, sent), decided(1), booking(2, PRIVATE, PAID, sent))
    )
    assert found.labels == {"private"}
    assert found.total("sent", "") == 2
    assert found.least(key_of(PAID)) == Decimal("0.2")


def test_a_label_that_an_answer_gave_is_there_after_a_restart(tmp_path: Path) -> None:
    booked: list[JsonValue] = [PRIVATE.model_dump(mode="json")]
    event = EventRecord(time=TIME, event=BOOKED, detail={"decision": "00", "booked": booked})
    assert SessionMemory.of_log(*written(tmp_path, decided(0), event)).has("private")


def test_a_session_that_begins_has_what_its_callers_booked_and_nothing_else(tmp_path: Path) -> None:
    sent, start = Booked(fact="sent", add="1"), EventRecord(time=TIME, event="start", detail={**BEGINS})
    place, end = written(tmp_path, booking(0, PAID, PRIVATE, sent), start, booking(1, PAID, sent))
    memory = SessionMemory.of_log(place, end)
    assert not memory.labels
    assert memory.total("sent", "") == 1
    assert memory.least(key_of(PAID)) == Decimal("0.2")
    state = state_of("work", read_records(place))
    assert (state.labels, [each.calls for each in state.totals]) == ((), [2, 1])


def test_no_argument_begins_a_session(tmp_path: Path) -> None:
    record = decided(1).model_copy(update={"arguments": {"event": "start", "detail": {**BEGINS}, **BEGINS}})
    assert SessionMemory.of_log(*written(tmp_path, booking(0, PRIVATE), record)).has("private")


def test_what_an_argument_says_books_nothing(tmp_path: Path) -> None:
    claimed = '"booked":[{"fact":"private","add":null}]'
    record = decided(0).model_copy(update={"arguments": {"note": claimed, "booked": [{"fact": "private"}]}})
    assert not SessionMemory.of_log(*written(tmp_path, record)).labels


def test_a_tampered_log_gives_no_memory(tmp_path: Path) -> None:
    place, end = written(tmp_path, booking(0, PRIVATE), decided(1))
    whole = place.path.read_bytes()
    for changed in (
        whole.replace(b'"fact":"private"', b'"fact":"privat_"'),
        whole[whole.index(b"\n") + 1 :],
        whole[: whole.index(b"\n") + 1],
        b"\n".join(reversed(whole.splitlines())) + b"\n",
    ):
        place.path.write_bytes(changed)
        with pytest.raises(AuditError, match="cannot be rebuilt"):
            SessionMemory.of_log(place, end)


def test_what_was_not_sent_is_taken_back_and_nothing_else() -> None:
    sent = Booked(fact="sent", add="1")
    memory = SessionMemory([PRIVATE, sent])
    memory.add(PRIVATE)
    memory.add(sent)
    memory.release(PRIVATE)
    memory.release(sent)
    assert memory.has("private")
    assert memory.total("sent", "") == 1


def test_the_state_of_a_session_is_told_in_full(tmp_path: Path) -> None:
    place, _ = written(tmp_path, booking(0, PAID), booking(1, PRIVATE, PAID), booking(2, PRIVATE))
    state = state_of(place.session, read_records(place))
    assert [(each.name, each.decision) for each in state.labels] == [("private", decided(1).id)]
    assert [(each.total, each.calls) for each in state.totals] == [("0.2", 2)]
    assert list(state_lines(state)) == [
        "session work",
        f"label private since {TIME} (decision {decided(1).id})",
        "counter paid in 2026-11-23: 0.2 (2 calls, caller aaaaaaaaaaaa)",
    ]
