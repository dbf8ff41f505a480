"""What is done to a running proxy from outside, for tests of faults."""

from __future__ import annotations

import json
import resource
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread
from e2e.program import Ended, in_process

from support.deployments.proxied import LONG, Place, descendants, until

OWN = ".ironcurtain"


def log_of(place: Place) -> Path:
    """Return the file of the proxy's audit log."""
    return place.home / OWN / "audit" / "test.jsonl"


async def proxy_of(place: Place) -> int:
    """Return the process id of a running proxy, as it tells it."""
    board = place.home / OWN / "status" / "test.json"
    await until(board.exists)
    return int(json.loads(board.read_text())["pid"])


async def engine_of(place: Place) -> int:
    """Return the process id of the engine that a running proxy asks."""
    proxy = await proxy_of(place)

    def find() -> list[int]:
        return [pid for pid in descendants(proxy) if b"opa\0run" in _command(pid)]

    # One that was replaced may not have ended yet.
    (engine,) = await until(lambda: found if len(found := find()) == 1 else None)
    return int(engine)


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@contextmanager
def no_room(pid: int, size: int) -> Iterator[None]:
    """Let a process write no file beyond a size, as a full disk does."""
    limit = resource.RLIMIT_FSIZE
    soft, hard = resource.prlimit(pid, limit)
    resource.prlimit(pid, limit, (size, hard))
    try:
        yield
    finally:
        resource.prlimit(pid, limit, (soft, hard))


def ours(place: Place, *arguments: str) -> Ended:
    """Run one of our commands as the person whose proxy it is."""
    return in_process(*arguments, cwd=place.root, HOME=str(place.home), IRONCURTAIN_HOME="")


async def status_tells(place: Place, *sentences: str, options: Sequence[str] = ()) -> None:
    """Wait until `ironcurtain status` tells each of some sentences: a proxy writes it once a second."""
    missing = [*sentences]
    with anyio.fail_after(LONG):
        while missing:
            status = (await to_thread.run_sync(ours, place, "status", *options)).out
            missing = [each for each in sentences if each not in status]


def shown(place: Place) -> list[dict[str, Any]]:
    """Return the decisions as `ironcurtain audit` reads them."""
    ended = ours(place, "audit", "tail", "test", "--lines", "1000", "--format", "json")
    assert ended.code == 0, ended.err
    records = [json.loads(line) for line in ended.out.splitlines()]
    return [record for record in records if record["kind"] == "decision"]


def verified(place: Place) -> Ended:
    """Verify the log with its key."""
    return ours(place, "audit", "verify", "test", "--key", str(place.home / OWN / "audit.key"))
