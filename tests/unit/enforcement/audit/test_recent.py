"""The newest records of all logs, read on as they are written."""

from __future__ import annotations

from pathlib import Path

from support.records.audited import TIME, decided, ended, write_decisions, write_log

from ironcurtain.enforcement.audit.log_paths import session_log
from ironcurtain.enforcement.audit.recent import RecentRecords


def ids(found: RecentRecords) -> list[str]:
    return [each.line.record.id for each in found.records() if each.line.record.kind == "decision"]


def test_a_directory_that_is_not_there_holds_no_records(tmp_path: Path) -> None:
    assert RecentRecords(tmp_path / "none").records() == ()


def test_records_of_several_logs_stand_in_the_order_of_their_times(tmp_path: Path) -> None:
    write_log(tmp_path, 2, session="late")
    write_decisions(tmp_path, decided(7, time=TIME.replace("2026", "2025")))
    found = RecentRecords(tmp_path)
    assert ids(found) == ["d000007", "d000000", "d000001"]
    assert {each.session for each in found.records()} == {"late", "work"}


def test_what_is_written_afterwards_is_found_once_and_changes_the_version(tmp_path: Path) -> None:
    found = RecentRecords(tmp_path)
    before = found.version()
    write_decisions(tmp_path, decided(1))
    first = found.version()
    assert first != before
    write_decisions(tmp_path, decided(2))
    assert ids(found) == ["d000001", "d000002"]
    assert ids(found) == ["d000001", "d000002"]
    assert found.version() not in {before, first}


def test_a_log_that_goes_on_in_a_new_file_is_followed_with_each_records_place(tmp_path: Path) -> None:
    found = RecentRecords(tmp_path)
    write_log(tmp_path, 3, max_bytes=4096)
    found.records()
    paths = write_log(tmp_path, 12, max_bytes=4096, session="other")
    segments = list(paths.segments())
    assert len(segments) > 1
    others = [each for each in found.records() if each.session == "other"]
    for each in others:
        assert each.line.seal in each.file.read_text().split("\n")[each.number - 1]
    assert others[-1].file == segments[-1]


def test_as_many_are_kept_as_are_wanted(tmp_path: Path) -> None:
    write_log(tmp_path, 40)
    found = RecentRecords(tmp_path, most=10)
    assert [each.number for each in found.records()] == list(range(71, 81))


def test_a_line_that_was_changed_is_told_and_hides_no_other(tmp_path: Path) -> None:
    place = session_log(tmp_path, "work")
    write_decisions(tmp_path, decided(1), decided(2), decided(3))
    place.path.write_text(place.path.read_text().replace("box/2", "box/9"))
    found = RecentRecords(tmp_path)
    assert ids(found) == ["d000001", "d000003"]
    assert "cannot be trusted" in found.troubles[0]


def test_a_decision_is_found_with_its_result(tmp_path: Path) -> None:
    write_log(tmp_path, 2)
    found = RecentRecords(tmp_path)
    entry = found.entry("work", "d000001")
    assert entry is not None
    assert entry[1] == ended(1)
    assert found.entry("work", "none") is None
    assert found.entry("other", "d000001") is None
