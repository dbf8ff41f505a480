"""The race between judging a call and doing it: `race.py [ROUNDS] [SETTING …]`, 10,000 rounds by default.

An allowed place of a home has a directory that is swapped for a link while calls over it are under way: by
the agent's own allowed moves (`agent`), or by another process (`outside`). The links lead to what needs
approval (`asked`) and to what no rule allows (`never`). Each is tried with the filesystem server `contained`,
as the rules have it, and `open`; a setting is two of these words (`outside-contained`), and all four are the
default.

A call that wins reads or writes behind a link. Counted are contents that the agent was told, files that were
written, the violations in the audit log, and what became of all calls. Only the public command line is used,
so the program measures another release, too: run it there, with that release's interpreter and tests.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from support.documentation.client_story import NODE
from support.projects.policies import rule, write_bundle, write_servers

ROUNDS = 10_000
SIDE_BY_SIDE = 4
SETTINGS = ("agent-open", "agent-contained", "outside-open", "outside-contained")
TARGETS = ("asked", "never")
_ANNOTATIONS = "generated/tool-annotations.json"
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
_LINE = 1 << 24


class Place:
    """The directories of one measurement, with a policy and a filesystem server."""

    def __init__(self, root: Path, *, contained: bool) -> None:
        self.home = root / "home"
        self.root, self.open = root, self.home / "open"
        self.open.mkdir(parents=True)
        for target in TARGETS:
            (self.home / target).mkdir()
            (self.home / target / "x.txt").write_text(f"SECRET {target}")
        roles = ["read-path", "write-path", "delete-path"]
        rules = [
            rule("open", "allow", paths={"roles": roles, "within": [str(self.open)]}),
            rule("asked", "escalate", paths={"roles": roles, "within": [str(self.home / "asked")]}),
        ]
        annotated = json.loads((NODE.parents[1] / _ANNOTATIONS).read_text())["servers"]["filesystem"]["tools"]
        self.bundle = write_bundle(root, {"fs": annotated}, rules)
        program = str(NODE / "server-filesystem" / "dist" / "index.js")
        entry = {"command": "node", "args": [program, str(root)], "sandbox": None if contained else False}
        self.servers = write_servers(root, {"fs": entry})

    def command(self) -> list[str]:
        """Return the command that starts the proxy."""
        configured = ["--bundle", str(self.bundle), "--servers", str(self.servers), "--session", "race"]
        return [sys.executable, "-m", "ironcurtain", "proxy", *configured, "--no-approver"]

    def pair(self, number: int) -> None:
        """Make what the agent swaps in a round: `d` with a directory, `e` with a link of the same name."""
        (self.open / f"d{number}" / "s").mkdir(parents=True)
        (self.open / f"d{number}" / "s" / "x.txt").write_text("open")
        (self.open / f"e{number}").mkdir()
        (self.open / f"e{number}" / "s").symlink_to(self.target(number))

    def target(self, number: int) -> Path:
        """Return what a round's link leads to."""
        return self.home / TARGETS[number % len(TARGETS)]

    def written(self) -> int:
        """Count what was written behind the links."""
        return sum(path.name != "x.txt" for target in TARGETS for path in (self.home / target).iterdir())

    def violations(self) -> int:
        """Count the violations in the audit log."""
        logs = (self.home / ".ironcurtain" / "audit").rglob("race*.jsonl")
        return sum('"event":"violation"' in line for log in logs for line in log.read_text().splitlines())


class Agent:
    """A client that speaks MCP over a proxy's standard streams, many calls at a time."""

    def __init__(self, process: asyncio.subprocess.Process, place: Place) -> None:
        self._process, self._place = process, place
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._reading = asyncio.create_task(self._read())

    async def connect(self) -> None:
        """Introduce itself, and wait until the server can be called."""
        client = {"name": "race", "version": "1"}
        given = {"protocolVersion": "2025-06-18", "capabilities": {"roots": {}}, "clientInfo": client}
        await self.request("initialize", given)
        self._write({"method": "notifications/initialized"})
        for _ in range(600):
            listed = await self.request("tools/list", {})
            if any(tool["name"] == "fs__move_file" for tool in listed["result"]["tools"]):
                return
            await asyncio.sleep(0.1)
        raise SystemExit("the filesystem server did not start")

    async def call(self, tool: str, **arguments: Any) -> str:
        """Call a tool of the server; return the text of the answer."""
        answer = await self.request("tools/call", {"name": f"fs__{tool}", "arguments": arguments})
        return json.dumps(answer.get("result") or answer)

    async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Make a request; return the whole answer."""
        number = len(self._waiting) + 1
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._write({"id": number, "method": method, "params": params})
        answered: dict[str, Any] = await answer
        return answered

    async def leave(self) -> None:
        """Go, and wait for the proxy to end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()
        self._reading.cancel()

    def _write(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            message = json.loads(line)
            if "method" not in message:
                self._waiting[message["id"]].set_result(message)
            elif message["method"] == "roots/list":
                roots = {"roots": [{"uri": self._place.root.as_uri()}]}
                self._write({"id": message["id"], "result": roots})


class Tally:
    """What became of the calls."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()

    def count(self, text: str) -> None:
        """Count one answer."""
        if "SECRET" in text:
            outcome = "told a secret"
        elif "withheld" in text or "not sent" in text:
            outcome = "withheld"
        elif "Decision: " in text:
            outcome = "refused"
        else:
            outcome = "failed" if '"isError": true' in text or '"error"' in text else "done"
        self.outcomes[outcome] += 1


async def swap_as_agent(agent: Agent, place: Place, number: int, tally: Tally) -> None:
    """Swap a directory by two allowed moves, reading or writing through it at the same time."""
    place.pair(number)
    used, swapped = f"{place.open}/d{number}", f"{place.open}/e{number}"
    calls = [
        agent.call("move_file", source=used, destination=f"{place.open}/t{number}"),
        agent.call("move_file", source=swapped, destination=used),
    ]
    calls.insert(Random(number).randint(0, 2), look_or_write(agent, f"{used}/s", number))
    for text in await asyncio.gather(*calls):
        tally.count(text)


async def call_once(agent: Agent, place: Place, number: int, tally: Tally) -> None:
    """Read or write through the directory that somebody else swaps."""
    tally.count(await look_or_write(agent, f"{place.open}/s", number))


async def look_or_write(agent: Agent, directory: str, number: int) -> str:
    """Read or write in a directory, as the round's number has it; no two calls are the same."""
    if number // len(TARGETS) % 2:
        return await agent.call("write_file", path=f"{directory}/w{number}.txt", content="written")
    return await agent.call("read_text_file", path=f"{directory}/x.txt", head=number + 1)


def swap_for_ever(home: Path) -> None:
    """Swap `open/s` with a link, again and again, each for a drawn moment. Ends with whoever started it."""
    libc = ctypes.CDLL(None, use_errno=True)
    drawn, owner, number = Random(7), os.getppid(), 0
    here, beside = (os.fsencode(home / "open" / name) for name in ("s", "beside"))
    while os.getppid() == owner:
        number += 1
        Path(os.fsdecode(beside)).symlink_to(home / TARGETS[number % len(TARGETS)])
        for _ in range(2):
            if libc.renameat2(_AT_FDCWD, here, _AT_FDCWD, beside, _RENAME_EXCHANGE):
                raise OSError(ctypes.get_errno(), "renameat2")
            time.sleep(drawn.expovariate(1000))
        Path(os.fsdecode(beside)).unlink()


async def measure(place: Place, rounds: int, *, outside: bool) -> tuple[Tally, float]:
    """Make the rounds, a few at a time; return what became of them, and the seconds that they took."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(place.home), "PYTHONPATH": str(Path.cwd())}
    with (place.root / "stderr").open("ab") as said:
        process = await asyncio.create_subprocess_exec(
            *place.command(),
            env=environment,
            cwd=place.root,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=said,
            limit=_LINE,
        )
    agent, tally, waiting = Agent(process, place), Tally(), iter(range(rounds))
    await agent.connect()

    async def work() -> None:
        for number in waiting:
            if outside:
                await call_once(agent, place, number, tally)
            else:
                await swap_as_agent(agent, place, number, tally)
            if number % 1000 == 999:
                sys.stderr.write(f"{number + 1} rounds: {dict(tally.outcomes)}\n")

    with swapping(place) if outside else nobody():
        began = time.monotonic()
        await asyncio.gather(*(work() for _ in range(SIDE_BY_SIDE)))
        took = time.monotonic() - began
    await agent.leave()
    return tally, took


@contextmanager
def swapping(place: Place) -> Iterator[None]:
    """Let another process swap the directory."""
    (place.open / "s").mkdir()
    (place.open / "s" / "x.txt").write_text("open")
    pid = os.fork()
    if pid == 0:
        try:
            swap_for_ever(place.home)
        finally:
            os._exit(1)
    try:
        yield
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)


@contextmanager
def nobody() -> Iterator[None]:
    """Let nobody else act."""
    yield


def main() -> int:
    """Measure, print a line for each setting, and tell by the exit code whether the agent alone won none."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    won = 0
    for setting in sys.argv[2:] or SETTINGS:
        who, how = setting.split("-")
        with tempfile.TemporaryDirectory(prefix="race-") as directory:
            place = Place(Path(directory).resolve(), contained=how == "contained")
            tally, took = asyncio.run(measure(place, rounds, outside=who == "outside"))
            written, violations = place.written(), place.violations()
        told = tally.outcomes.pop("told a secret", 0)
        won += told + written if who == "agent" else 0
        rest = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(tally.outcomes.items()))
        found = f"{told} secrets told, {written} written, {violations} violations"
        sys.stdout.write(f"{setting}: {found} in {rounds:,} rounds ({rest}; {took:.0f} s)\n")
        sys.stdout.flush()
    return 1 if won else 0


if __name__ == "__main__":
    raise SystemExit(main())
