from __future__ import annotations

import asyncio
import errno
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.records.audited import KEY, decided, write_log

from ironcurtain.enforcement.audit.log import AuditLog
from ironcurtain.enforcement.audit.log_paths import LogPaths, session_log
from ironcurtain.enforcement.audit.reader import follow, parse_line, read_records, verify
from ironcurtain.enforcement.audit.record_types import EventRecord
from ironcurtain.errors import AuditError

ROOT = Path(__file__).parents[4]


def refused_after(place: LogPaths, harm: Callable[[], object]) -> list[str]:
    """Write one record, do harm, try to write two more; return what was said about them."""

    async def write() -> list[str]:
        said = []
        async with AuditLog(place, key=KEY) as log:
            await log.decision(decided(1))
            harm()
            for number in (2, 3):
                with pytest.raises(AuditError) as caught:
                    await log.decision(decided(number))
                said.append(caught.value.what)
        return said

    return asyncio.run(write())


def test_file_replaced(tmp_path: Path) -> None:
    place = session_log(tmp_path, "work")

    def replace() -> None:
        place.path.rename(tmp_path / "old")
        place.path.write_bytes((tmp_path / "old").read_bytes())

    assert refused_after(place, replace) == ["work.jsonl was replaced by another file"] * 2
    assert (tmp_path / "old").read_bytes() == place.path.read_bytes()


def test_file_replaced_by_a_link(tmp_path: Path) -> None:
    place = session_log(tmp_path, "work")

    def link() -> None:
        place.path.rename(tmp_path / "old")
        place.path.symlink_to(tmp_path / "old")

    assert refused_after(place, link) == ["work.jsonl was replaced by another file"] * 2


def test_file_removed(tmp_path: Path) -> None:
    place = session_log(tmp_path, "work")
    assert refused_after(place, place.path.unlink) == ["work.jsonl was removed"] * 2


def test_head_replaced(tmp_path: Path) -> None:
    place = session_log(tmp_path, "work")

    def replace() -> None:
        text = place.head.read_bytes()
        place.head.unlink()
        place.head.write_bytes(text)

    assert refused_after(place, replace) == ["work.json was replaced by another file"] * 2


@pytest.mark.parametrize("size", [0, 100])
def test_file_truncated(size: int, tmp_path: Path) -> None:
    place = session_log(tmp_path, "work")
    said = refused_after(place, lambda: os.truncate(place.path, size))
    assert said == ["work.jsonl was changed by somebody else"] * 2
    found = verify(place, key=KEY)
    assert {"truncated"} <= {problem.kind for problem in found.problems}
    with pytest.raises(AuditError, match="not what was written"):
        write_log(tmp_path, 1)


def test_somebody_else_appended(tmp_path: Path) -> None:
    place = session_log(tmp_path, "work")

    def append() -> None:
        with place.path.open("ab") as stream:
            stream.write(b"x\n")

    assert refused_after(place, append) == ["work.jsonl was changed by somebody else"] * 2
    assert not verify(place, key=KEY).intact


def test_a_link_is_not_followed_when_a_log_is_made(tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("precious")
    (tmp_path / "work.jsonl").symlink_to(target)
    with pytest.raises(AuditError):
        write_log(tmp_path, 1)
    assert target.read_text() == "precious"


def test_a_log_without_its_head_is_not_continued(tmp_path: Path) -> None:
    place = write_log(tmp_path, 1)
    place.head.unlink()
    with pytest.raises(AuditError, match="its head file is missing"):
        write_log(tmp_path, 1)


def test_a_log_that_was_changed_is_not_continued(tmp_path: Path) -> None:
    place = write_log(tmp_path, 3)
    data = bytearray(place.path.read_bytes())
    data[len(data) // 2] ^= 1
    place.path.write_bytes(data)
    with pytest.raises(AuditError, match="not what was written"):
        write_log(tmp_path, 1)


def test_a_head_of_another_key_is_not_taken_over(tmp_path: Path) -> None:
    write_log(tmp_path, 1)
    with pytest.raises(AuditError, match="with this key"):
        write_log(tmp_path, 1, key=b"x" * 32)


def test_the_disk_fails_while_it_is_full_and_goes_on_afterwards(small_disk: Path) -> None:
    place = session_log(small_disk / "audit", "work")
    ballast = small_disk / "ballast"

    async def write() -> tuple[int, list[str]]:
        written, said = 0, []
        async with AuditLog(place, key=KEY) as log:
            await log.decision(decided(0))
            fill(ballast)
            for number in range(1, 40):
                try:
                    await log.decision(decided(number))
                    written += 1
                except AuditError as error:
                    said.append(error.what)
            ballast.unlink()
            await log.decision(decided(100))
        return written, said

    written, said = asyncio.run(write())
    assert set(said) == {"the audit log cannot be written: No space left on device"}
    found = verify(place, key=KEY)
    assert (found.intact, found.lines) == (True, 1 + written + 1)


def fill(ballast: Path) -> None:
    """Write a file until the disk is full."""
    handle = os.open(ballast, os.O_WRONLY | os.O_CREAT)
    try:
        while os.write(handle, b"x" * 4096) > 0:
            pass
    except OSError as error:
        assert error.errno == errno.ENOSPC  # noqa: PT017 - it is how the loop ends
    finally:
        os.close(handle)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs", str(disk)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip("a small file system cannot be mounted here")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_reader_while_writing(tmp_path: Path) -> None:
    place = write_log(tmp_path, 1, max_bytes=3_000)
    seen: list[str] = []
    over = threading.Event()

    def read() -> None:
        seen.extend(parse_line(line).seal for line in follow(place, is_over=over.is_set))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        write_log(tmp_path, 60, max_bytes=3_000, side_by_side=3)
    finally:
        over.set()
        reader.join(60)
    assert len(list(place.segments())) > 10
    assert seen == [line.seal for line in read_records(place)]
    assert len(seen) == 122


WRITER = textwrap.dedent("""
    import asyncio, sys
    from pathlib import Path
    from support.records.audited import KEY, decided
    from ironcurtain.enforcement.audit.log import AuditLog
    from ironcurtain.enforcement.audit.log_paths import session_log

    async def write():
        async with AuditLog(session_log(Path(sys.argv[1]), "work"), key=KEY) as log:
            number = 0
            while True:
                await asyncio.gather(*(log.decision(decided(number + n)) for n in range(20)))
                number += 20
                print(number, flush=True)

    asyncio.run(write())
""")


def test_crash_killed_writer_loses_nothing_that_was_told_to_be_written(tmp_path: Path) -> None:
    place = session_log(tmp_path, "work")
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"}
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)], env=environment, stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        told = [int(writer.stdout.readline()) for _ in range(5)]
        writer.send_signal(signal.SIGKILL)
        told += [int(line) for line in writer.stdout]
    write_log(tmp_path, 1)
    found = verify(place, key=KEY)
    assert found.intact
    ids = [line.record.id for line in read_records(place) if line.record.kind == "decision"]
    assert set(ids) >= {f"d{number:06d}" for number in range(told[-1])}


def test_crash_in_the_middle_of_a_line_is_told_and_chained_on(tmp_path: Path) -> None:
    place = write_log(tmp_path, 2)
    before = place.path.read_bytes()
    torn = before.splitlines()[-1][:57]
    place.path.write_bytes(before + torn)
    found = verify(place, key=KEY)
    assert [problem.kind for problem in found.problems] == ["torn"]
    write_log(tmp_path, 1)
    assert verify(place, key=KEY).intact
    events = [line.record for line in read_records(place) if isinstance(line.record, EventRecord)]
    assert [(event.event, event.detail["torn_bytes"]) for event in events] == [("recovered", 57)]


def test_crash_between_the_log_and_its_head_is_told_and_chained_on(tmp_path: Path) -> None:
    place = write_log(tmp_path, 2)
    head = place.head.read_bytes()
    write_log(tmp_path, 1)
    place.head.write_bytes(head)
    found = verify(place, key=KEY)
    assert [(problem.kind, problem.line) for problem in found.problems] == [("added", 5)]
    write_log(tmp_path, 1)
    assert verify(place, key=KEY).intact
    events = [line.record for line in read_records(place) if isinstance(line.record, EventRecord)]
    assert [event.detail["after_head"] for event in events] == [2]
