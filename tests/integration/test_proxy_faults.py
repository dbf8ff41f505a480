"""What fails around a running proxy: the engine, the disk, the audit log's files, the clock, the client.

Whatever it is, a call that was not decided or not recorded does not reach its server: the servers' own
record of their calls is the oracle.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import anyio
import pytest
from anyio import to_thread
from e2e.program import Ended
from mcp import Client
from support.faulty import OWN, engine_of, log_of, no_room, ours, proxy_of, shown, verified
from support.proxied import LEGACY, MODERN, Place, is_alive, text_of, until, visit_all

from ironcurtain.doctor.audit import audit
from ironcurtain.doctor.subject import Subject

UNRECORDED = "No record of the call could be written"


async def refused(client: Client, place: Place, text: str, said: str = UNRECORDED) -> None:
    """See that a call that the policy allows is refused, and does not reach its server."""
    result = await client.call_tool("fix__echo", {"text": text})
    assert result.is_error
    assert said in text_of(result)
    assert text not in str(place.sent())


async def goes_on(client: Client, place: Place, text: str) -> None:
    """See that a call goes through."""
    result = await client.call_tool("fix__echo", {"text": text})
    assert not result.is_error, text_of(result)
    assert text in str(place.sent())


# -- the engine ---------------------------------------------------------------------------------


async def an_engine_that_is_frozen(client: Client, place: Place) -> None:
    engine = await engine_of(place)
    os.kill(engine, signal.SIGSTOP)
    try:
        ended: list[str] = []

        async def ask(number: int) -> None:
            await refused(client, place, f"frozen {number}", "No decision could be made")
            ended.append("decided")

        async with anyio.create_task_group() as tasks:
            for number in range(3):
                tasks.start_soon(ask, number)
            assert (await client.list_tools()).tools
            assert "no such tool" in text_of(await client.call_tool("fix__", {}))
            ended.append("other work")
        assert ended == ["other work", *["decided"] * 3]
    finally:
        os.kill(engine, signal.SIGCONT)
    await until(lambda: "has been started anew" in place.said)
    await goes_on(client, place, "thawed")
    await until(lambda: not is_alive(engine))


async def an_engine_that_is_killed_in_mid_call(client: Client, place: Place) -> None:
    engine = await engine_of(place)
    os.kill(engine, signal.SIGSTOP)  # so that the calls are in it when it ends
    before = place.said.count("has been started anew")
    async with anyio.create_task_group() as tasks:
        for number in range(3):
            tasks.start_soon(refused, client, place, f"killed {number}", "No decision could be made")
        for _ in range(3):
            await client.list_tools()
        os.kill(engine, signal.SIGKILL)
    await until(lambda: place.said.count("has been started anew") > before)
    await goes_on(client, place, "another engine")


# -- the disk -----------------------------------------------------------------------------------


async def a_disk_that_is_full(client: Client, place: Place) -> None:
    with no_room(await proxy_of(place), log_of(place).stat().st_size + 100):
        for number in range(3):
            await refused(client, place, f"full {number}")
        denied = await client.call_tool("fix__read", {"path": "/etc/passwd"})
        assert UNRECORDED in text_of(denied)
        escalated = await client.call_tool("fix__remove", {"path": f"{place.home}/x"})
        assert UNRECORDED in text_of(escalated)
        await until(lambda: "every call is refused: the audit log cannot be written" in place.said)
        status = await to_thread.run_sync(ours, place, "status")
        assert "EVERY CALL IS REFUSED" in status.out
    await goes_on(client, place, "room again")
    await until(lambda: "calls are recorded again" in place.said)
    assert "full" not in log_of(place).read_text()
    ended = await to_thread.run_sync(verified, place)
    assert ended.code == 0, ended.out


# -- servers and people -------------------------------------------------------------------------


async def errors_of_a_server_are_passed_on_and_recorded(client: Client, place: Place) -> None:
    before = len(place.ends())
    failed = await client.call_tool("fix__fails", {})
    assert (failed.is_error, text_of(failed)) == (True, "it did not work")
    with pytest.raises(Exception, match="a fault of the server"):
        await client.call_tool("fix__breaks", {})
    missing = await client.call_tool("gone__echo", {"text": "to nobody"})
    assert missing.is_error
    assert 'The server "gone" of this tool gave no answer' in text_of(missing)
    await until(lambda: place.ends()[before:] == ["tool-error", "failed", "failed"])
    assert place.decisions[-1]["server"] == "gone"
    status = await to_thread.run_sync(ours, place, "status")
    assert "gone: DOWN (" in status.out


async def answers_that_do_not_count(client: Client, place: Place) -> None:
    own = place.home / OWN / "approvals"
    given = {"path": f"{place.home}/forged"}
    for forge in (_a_word, _a_link):
        pending = await client.call_tool("fix__remove", given)
        assert "Repeat exactly the same call" in text_of(pending)
        request = place.decisions[-1]["approval"]["request"]
        forge(own / f"response-{request}.json")
        assert (await client.call_tool("fix__remove", given)).is_error
        found = place.decisions[-1]["approval"]
        assert (found["state"], found["request"]) == ("denied", request)
        assert "does not count" in found["reason"]
    assert "forged" not in str(place.sent())


def _a_word(path: Path) -> None:
    path.write_text("approved")


def _a_link(path: Path) -> None:
    elsewhere = path.parents[2] / "notes" / "answer.json"
    elsewhere.write_text('{"answer": "approved"}')
    path.symlink_to(elsewhere)


VISITS = {
    visit.__name__: visit
    for visit in (
        errors_of_a_server_are_passed_on_and_recorded,
        answers_that_do_not_count,
        a_disk_that_is_full,
        an_engine_that_is_killed_in_mid_call,
        an_engine_that_is_frozen,
    )
}


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(
        tmp_path_factory.mktemp("proxy").resolve(),
        {"fix": LEGACY, "two": MODERN, "gone": ["-c", "raise SystemExit('no licence')"]},
    )


@pytest.fixture(scope="module")
def outcomes(faulty: Place) -> dict[str, Exception]:
    return visit_all(faulty, VISITS, "--patience", "0.3")


@pytest.mark.parametrize("visit", VISITS)
def test_fault(outcomes: dict[str, Exception], visit: str) -> None:
    if visit in outcomes:
        raise outcomes[visit]


def test_each_refused_call_is_in_the_log_with_its_reason(
    outcomes: dict[str, Exception], faulty: Place
) -> None:
    assert not outcomes
    found = {
        record["arguments"]["text"]: (record["rule"], record["verdict"], record["forwarded"])
        for record in shown(faulty)
        if "text" in (record["arguments"] or {})
    }
    for number in range(3):
        assert found[f"frozen {number}"] == ("engine-timeout", "deny", False)
        rule, *rest = found[f"killed {number}"]
        assert rule in {"engine-dead", "engine-unreachable"}
        assert rest == ["deny", False]
    assert found["room again"][1:] == found["thawed"][1:] == ("allow", True)
    assert verified(faulty).code == 0


@contextmanager
def small_file_system(directory: Path) -> Iterator[None]:
    """Mount a file system of 1 MiB, or skip."""
    directory.mkdir(parents=True, mode=0o700)
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m,mode=0700", "none", str(directory)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small file system needs root")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(directory)], check=True)


def test_a_small_file_system_that_is_filled_and_emptied(tmp_path: Path) -> None:
    place = Place(tmp_path.resolve())
    filler = place.home / OWN / "filler"

    def fill() -> None:
        with suppress(OSError), filler.open("wb", buffering=0) as file:
            while True:
                file.write(b"x" * 100)

    async def visit() -> None:
        async with place.client("--patience", "0.3") as client:
            await goes_on(client, place, "before")
            fill()
            # What is left of the log's last block holds no record as long as this.
            await refused(client, place, "on a full disk " * 500)
            assert (await client.call_tool("fix__remove", {"path": f"{place.home}/x"})).is_error
            filler.unlink()
            await goes_on(client, place, "after")

    with small_file_system(place.home / OWN):
        anyio.run(visit)
        assert verified(place).code == 0
        assert [record["arguments"].get("text", "removal") for record in shown(place)] in (
            ["before", "after"],
            ["before", "removal", "after"],  # it was asked about in vain, and that may have had room
        )
        assert not any(entry["tool"] == "remove" for entry in place.sent())


# -- the audit log's files ----------------------------------------------------------------------


def _replace(log: Path) -> None:
    copy = log.with_name("copy")
    shutil.copy(log, copy)
    copy.replace(log)


MEDDLING: dict[str, tuple[Callable[[Path], object], str, str]] = {
    # A true copy is what was written, as far as anybody can tell afterwards.
    "replaced": (_replace, "test.jsonl was replaced by another file", "ok"),
    "removed": (Path.unlink, "test.jsonl was removed", "fail"),
}


@pytest.mark.parametrize("how", MEDDLING)
def test_a_log_that_somebody_meddled_with_stops_every_call(tmp_path: Path, how: str) -> None:
    meddle, said, found = MEDDLING[how]
    place = Place(tmp_path.resolve())

    async def visit() -> Ended:
        async with place.client("--no-approver") as client:
            await goes_on(client, place, "before")
            await until(lambda: place.ends() == ["ok"])
            meddle(log_of(place))
            for number in range(2):
                await refused(client, place, f"afterwards {number}")
            await until(lambda: f"every call is refused: {said}" in place.said)
            return await to_thread.run_sync(ours, place, "status", "--format", "json")

    status = anyio.run(visit)
    (proxy,) = json.loads(status.out)["proxies"]
    assert proxy["trouble"] == said
    own = place.home / OWN
    subject = Subject(place.bundle, place.servers, own, (own, own), own / "audit", place.root)
    assert [diagnosis.status for diagnosis in audit(subject)] == [found]
