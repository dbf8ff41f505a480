"""What fails around a running proxy: the engine, the disk, the audit log's files, the clock, the client.

Whatever it is, a call that was not decided or not recorded does not reach its server: the servers' own
record of their calls is the oracle.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import anyio
import pytest
from anyio import to_thread
from mcp import Client
from support.deployments.faulty import (
    OWN,
    engine_of,
    log_of,
    no_room,
    proxy_of,
    shown,
    status_tells,
    verified,
)
from support.deployments.proxied import PLAIN, Place, is_alive, text_of, until, visit_all
from support.machines.frozen import freeze

from ironcurtain.integrations.doctor.audit import audit
from ironcurtain.integrations.doctor.installation import Installation

pytestmark = pytest.mark.timeout(900)

UNRECORDED = "No record of the call could be written"
UNDECIDED = "No decision could be made"
ANEW = "has been started anew"
# Below the engine's limit for one decision, in seconds: a machine that stalls for longer shows nothing.
STALL = 4.0


async def refused(client: Client, place: Place, text: str, said: str = UNRECORDED) -> None:
    """See that a call that the policy allows is refused, and does not reach its server."""
    result = await client.call_tool("fix__echo", {"text": text})
    assert result.is_error
    assert said in text_of(result)
    assert text not in str(place.sent())


async def goes_on(client: Client, place: Place, text: str) -> None:
    """See that a call goes through, perhaps after some for which a busy machine's engine was too slow."""
    for number in range(20):
        result = await client.call_tool("fix__echo", {"text": text, "data": number})
        if not result.is_error or UNDECIDED not in text_of(result):
            break
    assert not result.is_error, text_of(result)
    assert text in str(place.sent())


# -- the engine ---------------------------------------------------------------------------------


async def an_engine_that_is_frozen(client: Client, place: Place) -> None:
    engine = await engine_of(place)
    before, ended = place.said.count(ANEW), []

    async def ask(number: int) -> None:
        await refused(client, place, f"frozen {number}", UNDECIDED)
        ended.append("decided")

    freeze(engine)
    try:
        async with anyio.create_task_group() as tasks:
            began = time.monotonic()
            for number in range(3):
                tasks.start_soon(ask, number)
            assert (await client.list_tools()).tools
            assert "no such tool" in text_of(await client.call_tool("fix__", {}))
            assert ended == [] or time.monotonic() - began > STALL
        assert len(ended) == 3
    finally:
        os.kill(engine, signal.SIGCONT)
    await until(lambda: place.said.count(ANEW) > before)
    await goes_on(client, place, "thawed")
    await until(lambda: not is_alive(engine))


async def an_engine_that_is_killed_in_mid_call(client: Client, place: Place) -> None:
    engine = await engine_of(place)
    before = place.said.count(ANEW)
    freeze(engine)  # so that the calls are in it when it ends
    async with anyio.create_task_group() as tasks:
        for number in range(3):
            tasks.start_soon(refused, client, place, f"killed {number}", UNDECIDED)
        for _ in range(3):
            await client.list_tools()
        os.kill(engine, signal.SIGKILL)
    await until(lambda: place.said.count(ANEW) > before)
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
        await status_tells(place, "EVERY CALL IS REFUSED")
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
    await until(lambda: sorted(place.ends()[before:]) == ["failed", "failed", "tool-error"])
    assert place.decisions[-1]["server"] == "gone"
    await status_tells(place, "gone: DOWN (")


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
        assert (found["state"], found["request"]) == ("invalid", request)
        assert "does not count" in found["reason"]
    assert "forged" not in str(place.sent())


def _a_word(path: Path) -> None:
    path.write_text("approved")


def _a_link(path: Path) -> None:
    elsewhere = path.parents[2] / "notes" / "answer.json"
    elsewhere.write_text('{"answer": "approved"}')
    path.symlink_to(elsewhere)


async def a_small_file_system_that_is_filled_and_emptied(client: Client, place: Place) -> None:
    filler = place.home / OWN / "filler"
    before = len(place.decisions)
    await goes_on(client, place, "before")
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 100)
    # What is left of the log's last block holds no record as long as this.
    await refused(client, place, "on a full disk " * 500)
    assert (await client.call_tool("fix__remove", {"path": f"{place.home}/x"})).is_error
    filler.unlink()
    await goes_on(client, place, "after")
    assert (await to_thread.run_sync(verified, place)).code == 0
    decided = [each for each in place.decisions[before:] if each["rule"] != "engine-timeout"]
    assert [record["arguments"].get("text", "removal") for record in decided] in (
        ["before", "after"],
        ["before", "removal", "after"],  # it was asked about in vain, and that may have had room
    )
    assert f"{place.home}/x" not in str(place.sent())


# -- the audit log's files ----------------------------------------------------------------------


async def stops_every_call(client: Client, place: Place, said: str) -> None:
    """See that a log that somebody meddled with stops every call, and that people learn of it."""
    for number in range(2):
        await refused(client, place, f"afterwards {number}")
    await until(lambda: f"every call is refused: {said}" in place.said)
    await status_tells(place, f'"trouble": "{said}"', options=("--format", "json"))


def examined(place: Place) -> list[str]:
    """Return what `ironcurtain doctor` finds of the log, once the proxy has ended."""
    own = place.home / OWN
    subject = Installation(place.bundle, place.servers, own, (own, own), own / "audit", place.root)
    return [diagnosis.status for diagnosis in audit(subject)]


async def a_log_that_is_replaced(client: Client, place: Place) -> None:
    log = log_of(place)
    copy = log.with_name("copy")
    shutil.copy(log, copy)
    copy.replace(log)
    await stops_every_call(client, place, "test.jsonl was replaced by another file")


SMALL = a_small_file_system_that_is_filled_and_emptied.__name__
VISITS = {
    visit.__name__: visit
    for visit in (
        errors_of_a_server_are_passed_on_and_recorded,
        answers_that_do_not_count,
        a_disk_that_is_full,
        a_small_file_system_that_is_filled_and_emptied,
        an_engine_that_is_killed_in_mid_call,
        an_engine_that_is_frozen,
        a_log_that_is_replaced,
    )
}


@contextmanager
def small_file_system(directory: Path) -> Iterator[bool]:
    """Mount a file system of 1 MiB; yield whether that is possible here."""
    directory.mkdir(parents=True, mode=0o700)
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m,mode=0700", "none", str(directory)]
    mounted = (
        shutil.which("mount") is not None
        and not subprocess.run(mount, capture_output=True, check=False).returncode
    )
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(directory)], check=True)


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(
        tmp_path_factory.mktemp("proxy").resolve(),
        {"fix": PLAIN, "gone": ["-c", "raise SystemExit('no licence')"]},
    )


@pytest.fixture(scope="module")
def outcomes(faulty: Place) -> Iterator[dict[str, Exception | None]]:
    with small_file_system(faulty.home / OWN) as mounted:
        possible = {name: visit for name, visit in VISITS.items() if mounted or name != SMALL}
        found = visit_all(faulty, possible, "--patience", "0.3")
        yield {name: found.get(name) for name in possible}


@pytest.mark.parametrize("visit", VISITS)
def test_fault(outcomes: dict[str, Exception | None], visit: str) -> None:
    if visit not in outcomes:
        pytest.skip("mounting a small file system needs root")
    if error := outcomes[visit]:
        raise error


@pytest.mark.usefixtures("outcomes")
def test_each_refused_call_is_in_the_log_with_its_reason(faulty: Place) -> None:
    found = {
        record["arguments"]["text"]: (record["rule"], record["verdict"], record["forwarded"])
        for record in shown(faulty)
        if "text" in (record["arguments"] or {})
    }
    lost = {"engine-dead", "engine-unreachable", "engine-timeout"}
    refused = [found[f"{how} {number}"] for how in ("frozen", "killed") for number in range(3)]
    assert all(rest == ["deny", False] and rule in lost for rule, *rest in refused), refused
    assert "engine-timeout" in {rule for rule, *_ in refused[:3]}
    assert found["room again"][1:] == found["thawed"][1:] == ("allow", True)
    assert verified(faulty).code == 0
    # The copy in the log's place is what was written, as far as anybody can tell.
    assert examined(faulty)[-1] == "ok"


def test_a_log_that_is_removed_stops_every_call(tmp_path: Path) -> None:
    place = Place(tmp_path.resolve())

    async def visit() -> None:
        async with place.client("--no-approver") as client:
            await goes_on(client, place, "before")
            await until(lambda: place.ends() == ["ok"])
            log_of(place).unlink()
            await stops_every_call(client, place, "test.jsonl was removed")

    anyio.run(visit)
    assert examined(place) == ["fail"]
