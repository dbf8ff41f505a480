from __future__ import annotations

import asyncio
import fcntl
import json
import os
import stat
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
import pytest
from support.records.audited import KEY, TIME, decided, ended, write_log

from ironcurtain.enforcement.audit.hash_chain import head_text
from ironcurtain.enforcement.audit.log import AuditLog, open_first_free
from ironcurtain.enforcement.audit.log_paths import LogPaths, find_log, log_at, session_log
from ironcurtain.enforcement.audit.reader import is_written, read_lines, read_records, verify
from ironcurtain.enforcement.audit.record_types import GENESIS, EventRecord
from ironcurtain.errors import AuditError, FileError, UsageError
from ironcurtain.system.json_text import digest_bytes


def test_a_log_is_a_chain_of_lines_that_verifies(tmp_path: Path) -> None:
    place = write_log(tmp_path, 3)
    lines = place.path.read_bytes().splitlines()
    documents = [json.loads(line) for line in lines]
    assert [document["record"]["kind"] for document in documents] == ["decision"] * 3 + ["result"] * 3
    previous = GENESIS
    for line, document in zip(lines, documents, strict=True):
        assert document["previous"] == previous
        record = line[line.index(b'"record":') + len(b'"record":') : line.index(b',"seal"')]
        previous = digest_bytes(f"{previous}{digest_bytes(record)}".encode())
        assert document["seal"] == previous
    found = verify(place, key=KEY)
    assert (found.intact, found.lines, found.truncation, found.keyed) == (True, 6, "checked", True)


def test_a_log_of_before_verifies_and_goes_on(tmp_path: Path) -> None:
    """Its lines are sealed over their own bytes; those that follow are not."""
    place = write_log(tmp_path, 2)
    seal, lines = GENESIS, []
    for line in place.path.read_bytes().splitlines():
        content = b'{"previous":"' + seal.encode() + line[line.index(b'","record":') : line.index(b',"seal"')]
        seal = digest_bytes(content)
        lines.append(content + f',"seal":"{seal}"}}\n'.encode())
    place.path.write_bytes(b"".join(lines))
    place.head.write_bytes(head_text("work", 4, seal, KEY))
    assert verify(place, key=KEY).intact
    write_log(tmp_path, 1)
    found = verify(place, key=KEY)
    assert (found.intact, found.lines) == (True, 6)
    place.path.write_bytes(place.path.read_bytes().replace(b"/home/user/box/1", b"/home/user/box/2", 1))
    assert [each.kind for each in verify(place, key=KEY).problems] == ["changed"]


def test_files_and_directories_are_private(tmp_path: Path) -> None:
    place = write_log(tmp_path / "audit", 1)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (place.path, place.head)}
    folders = {stat.S_IMODE(path.stat().st_mode) for path in (place.path.parent, place.head.parent)}
    assert (modes, folders) == ({0o600}, {0o700})


def test_a_directory_that_others_can_write_is_refused(tmp_path: Path) -> None:
    (tmp_path / "audit").mkdir()
    (tmp_path / "audit").chmod(0o777)
    with pytest.raises(AuditError, match="others can write"):
        write_log(tmp_path / "audit", 1)


def test_a_decision_is_on_the_disk_when_it_returns(tmp_path: Path) -> None:
    place = session_log(tmp_path, "work")

    async def write() -> list[int]:
        lengths = []
        async with AuditLog(place) as log:
            for number in range(3):
                await log.decision(decided(number))
                lengths.append(len(place.path.read_bytes().splitlines()))
        return lengths

    assert asyncio.run(write()) == [1, 2, 3]


def test_a_result_is_written_with_the_next_decision_and_without_one_soon(tmp_path: Path) -> None:
    place = session_log(tmp_path, "work")

    async def write() -> list[list[str]]:
        found: list[list[str]] = []
        async with AuditLog(place) as log:
            await log.decision(decided(1))
            await log.result(ended(1))
            await log.decision(decided(2))
            found.append([line.record.kind for line in read_records(place)])
            await log.result(ended(2))
            with anyio.fail_after(30):
                while len(place.path.read_bytes().splitlines()) < 4:  # noqa: ASYNC110 - it is about a file
                    await anyio.sleep(0.01)
            found.append([line.record.kind for line in read_records(place)])
        return found

    kinds = ["decision", "result", "decision"]
    assert asyncio.run(write()) == [kinds, [*kinds, "result"]]


def test_a_second_writer_is_refused_and_many_logs_are_not(tmp_path: Path) -> None:
    async def write() -> str:
        async with (
            AuditLog(session_log(tmp_path, "one")) as log,
            AuditLog(session_log(tmp_path, "two")) as other,
        ):
            assert is_written(log.paths)
            await asyncio.gather(log.decision(decided(1)), other.decision(decided(1)))
            with pytest.raises(AuditError) as caught:
                async with AuditLog(session_log(tmp_path, "one")):
                    pass
            await log.decision(decided(2))
        return caught.value.what

    assert asyncio.run(write()) == "another process is writing this audit log"
    assert verify(session_log(tmp_path, "one")).lines == 2
    assert not is_written(session_log(tmp_path, "one"))


def write_two(directory: Path) -> list[LogPaths]:
    return [write_log(directory, 1, session=name) for name in ("one", "two")]


async def opened(places: list[LogPaths], stack: AsyncExitStack) -> str:
    logs = [AuditLog(place, key=KEY, patience=0.0) for place in places]
    return (await open_first_free(logs, stack)).paths.session


def test_two_who_start_at_once_get_a_log_each_and_a_third_none(tmp_path: Path) -> None:
    places = write_two(tmp_path)

    async def start() -> list[str]:
        async with AsyncExitStack() as stack:
            names = await asyncio.gather(opened(places, stack), opened(places, stack))
            with pytest.raises(AuditError, match="another process"):
                await opened(places, stack)
        return sorted(names)

    assert asyncio.run(start()) == ["one", "two"]
    assert all(verify(place, key=KEY).intact for place in places)


def test_whoever_only_looks_does_not_make_a_log_busy(tmp_path: Path) -> None:
    places = write_two(tmp_path)

    async def start() -> str:
        with places[0].head.open("rb") as looking:
            fcntl.flock(looking, fcntl.LOCK_SH)
            asyncio.get_running_loop().call_later(0.1, looking.close)
            async with AsyncExitStack() as stack:
                return await opened(places, stack)

    assert asyncio.run(start()) == "one"


def changed(place: LogPaths) -> None:
    place.path.write_bytes(place.path.read_bytes().replace(b"Files may be read.", b"Files can be read."))


def without_its_head(place: LogPaths) -> None:
    place.head.unlink()


def open_to_others(place: LogPaths) -> None:
    place.path.parent.chmod(0o777)


def a_directory(place: LogPaths) -> None:
    place.path.unlink()
    place.path.mkdir()


@pytest.mark.parametrize("fault", [changed, without_its_head, open_to_others, a_directory])
def test_a_log_that_cannot_be_trusted_is_not_left_for_another(
    tmp_path: Path, fault: Callable[[LogPaths], None]
) -> None:
    places = write_two(tmp_path)
    fault(places[0])

    async def start() -> None:
        async with AsyncExitStack() as stack:
            await opened(places, stack)

    before = places[1].path.read_bytes()
    with pytest.raises(AuditError):
        asyncio.run(start())
    assert places[1].path.read_bytes() == before


def test_a_log_is_continued_after_it_was_closed(tmp_path: Path) -> None:
    write_log(tmp_path, 2)
    place = write_log(tmp_path, 2)
    found = verify(place, key=KEY)
    assert (found.intact, found.lines) == (True, 8)


def test_rotation_does_not_break_the_chain(tmp_path: Path) -> None:
    place = write_log(tmp_path, 40, max_bytes=4_000, side_by_side=2)
    segments = list(place.segments())
    assert len(segments) > 5
    assert [path.name for path in segments[:3]] == ["work.jsonl", "work.2.jsonl", "work.3.jsonl"]
    assert all(path.stat().st_size < 8_000 for path in segments)
    found = verify(place, key=KEY)
    assert (found.intact, found.lines, found.segments) == (True, 80, len(segments))
    assert len(list(read_records(place))) == 80
    write_log(tmp_path, 2, max_bytes=4_000)
    assert verify(place, key=KEY).intact
    segments[3].rename(tmp_path / "aside")
    assert not verify(place, key=KEY).intact


def test_a_removed_last_segment_is_truncation(tmp_path: Path) -> None:
    place = write_log(tmp_path, 20, max_bytes=4_000, side_by_side=2)
    list(place.segments())[-1].unlink()
    assert [problem.kind for problem in verify(place, key=KEY).problems] == ["truncated"]
    assert verify(place, use_head=False).truncation == "cannot be checked"


def test_a_closed_log_refuses(tmp_path: Path) -> None:
    async def write() -> None:
        async with AuditLog(session_log(tmp_path, "work")) as log:
            await log.decision(decided(1))
        with pytest.raises(AuditError, match="closed"):
            await log.decision(decided(2))
        with pytest.raises(AuditError, match="closed"):
            await log.result(ended(1))

    asyncio.run(write())


def test_whoever_stops_waiting_does_not_stop_the_others(tmp_path: Path) -> None:
    place = session_log(tmp_path, "work")

    async def write() -> None:
        async with AuditLog(place) as log:
            gone = asyncio.create_task(log.decision(decided(0)))
            await asyncio.sleep(0)
            gone.cancel()
            await asyncio.gather(*(log.decision(decided(number)) for number in range(1, 20)))

    asyncio.run(write())
    assert verify(place).intact
    ids = {line.record.id for line in read_records(place) if line.record.kind == "decision"}
    assert ids >= {f"d{number:06d}" for number in range(1, 20)}


def test_a_cancelled_session_still_writes_what_waits_and_gives_up_the_log(tmp_path: Path) -> None:
    place = session_log(tmp_path, "work")

    async def write() -> None:
        with anyio.CancelScope() as scope:
            async with AuditLog(place) as log:
                await log.result(ended(1))
                scope.cancel()
                await anyio.sleep_forever()

    asyncio.run(write())
    assert verify(place).lines == 1
    assert not is_written(place)


def test_missing_results_are_reported(tmp_path: Path) -> None:
    place = session_log(tmp_path, "work")

    async def write() -> None:
        async with AuditLog(place) as log:
            await log.decision(decided(1))
            await log.decision(decided(2, forwarded=False))
            await log.decision(decided(3))
            await log.result(ended(3, status="tool-error"))
            await log.event(EventRecord(time=TIME, event="stop"))

    asyncio.run(write())
    assert verify(place).missing_results == ("d000001",)


@pytest.mark.parametrize(
    "session", ["..", "a/b", "", ".", "a.b", "-x", "a b", "é", "a\n", "x" * 65, "../x", "a\0"], ids=ascii
)
def test_names_that_could_lead_elsewhere_are_refused(session: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        session_log(tmp_path, session)


def test_finding_a_log(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no audit log"):
        find_log(None, tmp_path)
    one, two = write_log(tmp_path, 1, session="one"), write_log(tmp_path, 1, session="two")
    os.utime(one.path, (1, 1))
    assert find_log(None, tmp_path) == two
    assert find_log("one", tmp_path) == one
    assert find_log(str(one.path), tmp_path / "elsewhere") == one
    with pytest.raises(FileError, match="no such"):
        find_log("three", tmp_path)


def test_a_copy_without_its_head_says_that_truncation_cannot_be_checked(tmp_path: Path) -> None:
    place = write_log(tmp_path, 3)
    copy = tmp_path / "elsewhere.jsonl"
    copy.write_bytes(place.path.read_bytes())
    found = verify(log_at(copy))
    assert (found.intact, found.truncation) == (True, "cannot be checked")
    assert len(list(read_lines(log_at(copy)))) == 6


def test_the_head_needs_its_key(tmp_path: Path) -> None:
    place = write_log(tmp_path, 3)
    assert verify(place).intact
    assert [problem.kind for problem in verify(place, key=b"x" * 32).problems] == ["head"]
    unkeyed = write_log(tmp_path, 3, session="plain", key=None)
    assert verify(unkeyed).intact
    assert not verify(unkeyed, key=KEY).intact
