"""People, clocks and clients that fail a running proxy: nothing is approved that nobody approved in time."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread
from mcp import Client
from support.deployments.faulty import OWN, ours
from support.deployments.proxied import LONG, Living, Place, equal_calls, rules, until, wait_for
from support.deployments.wire import Proxy, answer, call, question, running, send
from support.projects.policies import rule
from support.records.approvals import inbox_of, waiting, written

from ironcurtain.enforcement.approvals.broker_directory import MAX_OF_SESSION
from ironcurtain.enforcement.approvals.inbox import PersonAnswer
from ironcurtain.enforcement.approvals.key import ApprovalKey
from ironcurtain.enforcement.approvals.private_directory import PrivateDirectory
from ironcurtain.enforcement.approvals.request import Clock
from ironcurtain.enforcement.approvals.store import Store

pytestmark = pytest.mark.timeout(900)

LIBRARIES = sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
ONCE, SESSION = PersonAnswer("approved"), PersonAnswer("approved", scope="session")


def say(place: Place, id_: str, said: PersonAnswer, clock: Clock | None = None) -> str:
    """Answer a request as the person at this machine."""
    own = place.home / OWN
    with inbox_of(own, clock) as desk:
        return desk.answer(waiting(desk, id_), said)


def state(place: Place, id_: str, clock: Clock) -> str:
    """Return what the person at this machine sees of a request, by a clock."""
    own = place.home / OWN
    with inbox_of(own, clock) as desk:
        status = desk.status(id_)
        assert status is not None
        return status.state


def removed(place: Place) -> list[str]:
    """Return the names of what the server was told to remove."""
    return [Path(entry["arguments"]["path"]).name for entry in place.sent() if entry.get("tool") == "remove"]


async def remove(client: Client, place: Place, name: str) -> tuple[str, str]:
    """Call a tool that a person has to approve; return what became of asking, and the request's id."""
    result = await client.call_tool("fix__remove", {"path": f"{place.home}/{name}"})
    found = place.decisions[-1]["approval"]
    assert result.is_error == (found["state"] != "approved")
    return found["state"], found["request"]


# -- clocks -------------------------------------------------------------------------------------


def forget_the_dead() -> None:
    """Remove what libfaketime left in shared memory for processes that were killed.

    A later process that happens to get the same number would find it, and end.
    """
    for path in Path("/dev/shm").glob("*faketime_s*_*"):
        if not Path("/proc", path.name.rpartition("_")[2]).exists():
            path.unlink(missing_ok=True)


# libfaketime refuses a sleep until a point of monotonic time, which is how Python sleeps.
SLEEP = "import threading, time; time.sleep = lambda seconds: threading.Event().wait(seconds)"


class Shifted(Place):
    """A place whose proxy reads a wall clock that the test turns; its monotonic clock is the machine's."""

    def command(self, *options: str) -> list[str]:
        python, flag, program, *rest = super().command(*options)
        return [python, flag, f"{SLEEP}; {program}", *rest]

    def environment(self) -> dict[str, str]:
        forget_the_dead()
        self.turn("+0")
        preload = {"LD_PRELOAD": str(LIBRARIES[0]), "FAKETIME_TIMESTAMP_FILE": str(self.root / "clock")}
        return {
            **super().environment(),
            **preload,
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            # Otherwise whoever waits for Python's lock until some time does not wait, but asks without end.
            "FAKETIME_FORCE_MONOTONIC_FIX": "0",
        }

    def turn(self, offset: str) -> None:
        """Set the clock: `+0`, `-30`, `+5m`, `+3650d`."""
        scratch = self.root / "scratch-clock"
        scratch.write_text(offset + "\n")
        scratch.replace(self.root / "clock")


@pytest.mark.skipif(not LIBRARIES, reason="turning the clock of one process needs libfaketime")
def test_a_wall_clock_that_jumps(tmp_path: Path) -> None:
    place = Shifted(tmp_path.resolve())
    (place.home / "a").mkdir()

    async def patient() -> None:
        async with place.client("--patience", "0.2") as client:
            assert await _year(client, place) == datetime.now(UTC).year
            # A request that waits outlives a jump that leaves it time, in both directions.
            _, waiting = await remove(client, place, "waits")
            for offset in ("+5m", "-50"):
                place.turn(offset)
                assert await remove(client, place, "waits") == ("pending", waiting)
            assert say(place, waiting, ONCE) == "recorded"
            assert await remove(client, place, "waits") == ("approved", waiting)
            # One that a jump ends is asked about anew.
            _, lost = await remove(client, place, "lost")
            place.turn("-1d")
            assert await remove(client, place, "lost") == ("expired", lost)
            place.turn("+0")
            again, anew = await remove(client, place, "lost")
            assert (again, anew == lost) == ("pending", False)
            # A grant is for as long as the proxy runs, whatever the clock says.
            _, asked = await remove(client, place, "a/one")
            assert say(place, asked, SESSION) == "recorded"
            assert (await remove(client, place, "a/one"))[0] == "approved"
            place.turn("+3650d")
            assert await _year(client, place) > datetime.now(UTC).year + 8
            assert (await remove(client, place, "a/two"))[0] == "approved"
            # Nor does the breaker's minute pass with it.
            _, results = await equal_calls(client, lambda number: place.turn("+2h" if number % 2 else "-2h"))
            assert [result.is_error for result in results] == [False] * 20 + [True]
            assert place.decisions[-1]["rule"] == "proxy-circuit-breaker"

    async def impatient() -> None:
        async with place.client("--patience", "0.2", "--answer-within", "1") as client:
            assert (await remove(client, place, "a/three"))[0] != "approved"  # the grant went with its proxy
            _, over = await remove(client, place, "over")
            turned = Clock(wall=lambda: datetime.now(UTC) - timedelta(seconds=30))
            place.turn("-30")
            await until(lambda: state(place, over, turned) == "expired")
            assert say(place, over, ONCE, turned) == "expired"
            assert await remove(client, place, "over") == ("expired", over)

    try:
        anyio.run(patient)
        anyio.run(impatient)
    finally:
        forget_the_dead()
    assert removed(place) == ["waits", "one", "two"]


async def _year(client: Client, place: Place) -> int:
    """Return the year that the proxy believes it is."""
    await client.call_tool("fix__", {})
    return datetime.fromisoformat(place.decisions[-1]["time"]).year


# -- clients ------------------------------------------------------------------------------------


def test_a_client_that_writes_nonsense_and_goes_in_mid_call(tmp_path: Path) -> None:
    place = Place(tmp_path.resolve())
    place.publish([rule("all", "allow", tool=["read"]), *rules()], place.names)
    with running(place, "--trust-client", "--patience", "3000", elicitation={}) as process:
        duplicate_keys_are_denied_though_the_sdk_reads_over_them(process, place)
        a_client_that_answers_nonsense_for_its_person(process, place)
        a_client_that_goes_in_mid_call_and_while_a_person_decides(process, place)


def duplicate_keys_are_denied_though_the_sdk_reads_over_them(process: Proxy, place: Place) -> None:
    before = len(place.decisions)
    twice = '{"path": "/etc/hostname", "path": "' + f'{place.home}/notes/a"}}'
    send(process, "this is no JSON", call(3, "read", twice), call(4, "echo", '{"text": "\\ud800"}'))
    assert answer(process, None)["error"]["code"] == -32700
    assert answer(process, 3)["result"]["isError"] is True
    assert [record["rule"] for record in place.decisions[before:]] == ["structural-malformed-call"]
    assert not any(entry.get("tool") == "read" for entry in place.sent())


def a_client_that_answers_nonsense_for_its_person(process: Proxy, place: Place) -> None:
    nonsense: dict[str, Any] = {
        "no such action": {"result": {"action": "approved"}},
        "no answer at all": {"result": {}},
        "another answer": {"result": {"action": "accept", "content": {"answer": "sure"}}},
        "an error": {"error": {"code": -32603, "message": "the window was closed"}},
    }
    for number, (name, said) in enumerate(nonsense.items()):
        send(process, call(10 + number, "remove", json.dumps({"path": f"{place.home}/{name}"})))
        asked = question(process, "elicitation/create")
        send(process, json.dumps({"jsonrpc": "2.0", "id": asked["id"], **said}))
        assert answer(process, 10 + number)["result"]["isError"] is True
    send(process, call(20, "echo"))
    assert not answer(process, 20)["result"].get("isError")
    assert [state for state, _ in asked_about(place)] == [*["invalid"] * 3, "pending"]
    assert removed(place) == []


def a_client_that_goes_in_mid_call_and_while_a_person_decides(process: Proxy, place: Place) -> None:
    requests = place.home / OWN / "approvals"
    before = {*requests.glob("request-*.json")}
    send(process, call(30, "remove", json.dumps({"path": f"{place.home}/x"})), call(31, "hang"))
    wait_for(lambda: any(entry.get("tool") == "hang" for entry in place.sent()))
    (waiting,) = wait_for(lambda: {*requests.glob("request-*.json")} - before)
    below = Living(process.pid)
    assert len(below.began) >= 4  # engine, launcher, server and what the server started
    process.stdin.close()
    assert process.wait(LONG) == 0
    below.wait_until_gone()
    assert place.ends() == ["ok", "ok", "cancelled"]
    assert asked_about(place)[4:] == [("withdrawn", False)]
    assert place.records()[-1].get("event") == "stop"
    # The request is not lost: it can be answered, and serves the same call of the next client.
    assert say(place, waiting.stem.removeprefix("request-"), ONCE) == "recorded"
    assert removed(place) == []


def asked_about(place: Place) -> list[tuple[str, bool]]:
    """Return what became of asking about removals, and whether they were sent."""
    found = [record for record in place.decisions if record["tool"] == "remove"]
    return [(record["approval"]["state"], record["forwarded"]) for record in found]


# -- many requests ------------------------------------------------------------------------------


def test_ten_thousand_requests_wait(tmp_path: Path) -> None:
    place = Place(tmp_path.resolve())
    own = place.home / OWN

    async def begin() -> None:
        async with place.client():
            pass  # what waits is told of by a log that began before it

    anyio.run(begin)
    fill(own, MAX_OF_SESSION - 1)
    for number in range(10_000 - MAX_OF_SESSION):
        (own / "approvals" / f"request-{number:016x}.json").touch()

    async def visit() -> None:
        async with place.client("--patience", "0.2") as client:
            state, last = await remove(client, place, "last")
            assert state == "pending"
            assert (await remove(client, place, "one too many"))[0] == "no-approver"
            reason = place.decisions[-1]["approval"]["reason"]
            assert reason == "Nobody can be asked: 1,000 requests of this session wait already."
            assert not (await client.call_tool("fix__echo", {"text": "meanwhile"})).is_error
            listed = await to_thread.run_sync(ours, place, "approvals", "list", "--format", "json")
            assert listed.code == 4
            states = Counter(each["state"] for each in json.loads(listed.out)["requests"])
            assert states == {"pending": MAX_OF_SESSION, "unreadable": 10_000 - MAX_OF_SESSION}
            assert say(place, last, ONCE) == "recorded"
            assert (await remove(client, place, "last"))[0] == "approved"

    anyio.run(visit)
    assert removed(place) == ["last"]


def fill(own: Path, count: int) -> None:
    """Put requests where people find them, as a proxy of this session would have."""
    (own / "approvals").mkdir(parents=True, exist_ok=True, mode=0o700)
    own.chmod(0o700)
    key = ApprovalKey.read_or_make(own / "approvals.key")
    model = written()
    with PrivateDirectory.open(own / "approvals", create=False) as directory:
        store = Store(directory, key, Clock())
        directory.create = _quickly(own / "approvals")  # type: ignore[method-assign, assignment]
        for number in range(count):
            distinct = {"id": f"f{number:015x}", "binding": f"sha256:{number:064x}"}
            store.write_request(model.model_copy(update=distinct))


def _quickly(directory: Path) -> Callable[[str, bytes], bool]:
    """Write without waiting for the disk, a thousand times."""
    return lambda name, data: bool((directory / name).write_bytes(data))
