"""Whatever is done to one byte or one line of a log, `audit verify` finds it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.records.audited import KEY, write_log

from ironcurtain.enforcement.audit.log_paths import LogPaths, log_at
from ironcurtain.enforcement.audit.reader import verify
from ironcurtain.enforcement.audit.record_types import LogProblem

RECORDS = 2_000
quick = settings(max_examples=examples(15), deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LogPaths]:
    directory = tmp_path_factory.mktemp("audit")
    yield write_log(directory, RECORDS // 2, side_by_side=200)
    shutil.rmtree(directory)


@pytest.fixture(scope="module")
def data(place: LogPaths) -> bytes:
    return place.path.read_bytes()


def problems(place: LogPaths, data: bytes, *, use_head: bool = True) -> tuple[LogProblem, ...]:
    copy = place.path.with_name("copy.jsonl")
    copy.write_bytes(data)
    return verify(place_named(copy, place), key=KEY, use_head=use_head).problems


def place_named(copy: Path, place: LogPaths) -> LogPaths:
    return LogPaths(place.session, copy, place.head)


def test_the_log_itself_is_intact(place: LogPaths, data: bytes) -> None:
    assert data.count(b"\n") == RECORDS
    assert problems(place, data) == ()
    assert verify(place, key=KEY).lines == RECORDS


@quick
@given(st.data())
def test_every_single_byte_change_is_found(place: LogPaths, data: bytes, drawn: st.DataObject) -> None:
    at = drawn.draw(st.integers(0, len(data) - 1))
    other = drawn.draw(st.integers(1, 255))
    changed = data[:at] + bytes([data[at] ^ other]) + data[at + 1 :]
    assert problems(place, changed)
    assert problems(place, changed, use_head=False)


@quick
@given(st.data())
def test_every_deletion_is_found(place: LogPaths, data: bytes, drawn: st.DataObject) -> None:
    at = drawn.draw(st.integers(0, len(data) - 1))
    length = drawn.draw(st.integers(1, min(5_000, len(data) - at)))
    assert problems(place, data[:at] + data[at + length :])


@quick
@given(st.data())
def test_every_removed_line_is_found(place: LogPaths, data: bytes, drawn: st.DataObject) -> None:
    lines = data.splitlines(keepends=True)
    del lines[drawn.draw(st.integers(0, RECORDS - 1))]
    assert problems(place, b"".join(lines))


@quick
@given(st.data())
def test_every_reordering_and_repetition_is_found(place: LogPaths, data: bytes, drawn: st.DataObject) -> None:
    lines = data.splitlines(keepends=True)
    one, other = sorted(drawn.draw(st.sets(st.integers(0, RECORDS - 1), min_size=2, max_size=2)))
    swapped = [*lines]
    swapped[one], swapped[other] = swapped[other], swapped[one]
    assert "order" in {problem.kind for problem in problems(place, b"".join(swapped))}
    assert problems(place, b"".join([*lines[:other], lines[one], *lines[other:]]))


@quick
@given(st.data())
def test_every_truncation_is_found(place: LogPaths, data: bytes, drawn: st.DataObject) -> None:
    end = drawn.draw(st.integers(0, len(data) - 1))
    assert "truncated" in {problem.kind for problem in problems(place, data[:end])}


@quick
@given(st.data())
def test_every_change_of_the_head_is_found(place: LogPaths, data: bytes, drawn: st.DataObject) -> None:
    head = place.head.read_bytes()
    at = drawn.draw(st.integers(0, len(head) - 1))
    other = drawn.draw(st.integers(1, 255))
    copy, changed = place.path.with_name("copy.jsonl"), place.path.with_name("head.json")
    copy.write_bytes(data)
    changed.write_bytes(head[:at] + bytes([head[at] ^ other]) + head[at + 1 :])
    assert verify(LogPaths(place.session, copy, changed), key=KEY).problems


def test_cutting_off_whole_lines_is_not_found_without_a_head_and_says_so(
    place: LogPaths, data: bytes
) -> None:
    copy = place.path.with_name("copy.jsonl")
    copy.write_bytes(b"".join(data.splitlines(keepends=True)[:5]))
    found = verify(log_at(copy, place.path.with_name("none.json")))
    assert (found.problems, found.truncation) == ((), "cannot be checked")


def test_a_rewritten_log_with_a_rewritten_head_is_found_by_the_key(place: LogPaths, tmp_path: Path) -> None:
    forged = write_log(tmp_path, 3, session=place.session, key=None)
    assert verify(forged).intact
    assert [problem.kind for problem in verify(forged, key=KEY).problems] == ["head"]
