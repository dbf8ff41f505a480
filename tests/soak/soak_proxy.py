"""Memory of the proxy and its engine over many calls: `soak_proxy.py [CALLS]`, 100,000 by default.

Allowed and refused calls go through a real proxy to a real server. Resident memory is read in a hundred
windows; the second tenth of them (the first warms up) is compared with the last. It is flat within 5 %.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from statistics import median

import anyio
from mcp import Client
from support.deployments.proxied import MODERN, Place, descendants

CALLS = 100_000
SIDE_BY_SIDE = 20
WINDOWS = 100
TENTH = WINDOWS // 10
TOLERANCE = 0.05


async def one(client: Client, number: int) -> None:
    """Make an allowed call, or each fourth time one that is refused; no two are the same."""
    if number % 4:
        result = await client.call_tool("fix__echo", {"text": f"call {number}"})
        refused = False
    else:
        result = await client.call_tool("fix__read", {"path": f"/etc/{number}"})
        refused = True
    if bool(result.is_error) != refused:
        raise SystemExit(f"call {number} went wrong: {result}")


async def window(client: Client, numbers: range) -> None:
    """Make the calls of one window, a few at a time."""
    waiting = iter(numbers)

    async def work() -> None:
        for number in waiting:
            await one(client, number)

    async with anyio.create_task_group() as tasks:
        for _ in range(SIDE_BY_SIDE):
            tasks.start_soon(work)


def processes() -> dict[str, int]:
    """Return the pids of the proxy and its engine."""
    found: dict[str, int] = {}
    for pid in descendants(os.getpid()):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        if b"proxy" in words:
            found["proxy"] = pid
        elif words[0].rsplit(b"/", 1)[-1].startswith(b"opa"):
            found["engine"] = pid
    return found


def resident(pid: int) -> int:
    """Return a process's resident memory, in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def soak(place: Place, calls: int) -> dict[str, list[int]]:
    """Make the calls; return the resident memory of each process after each window."""
    async with place.client("--no-approver") as client:
        await client.list_tools()
        watched = processes()
        seen: dict[str, list[int]] = {name: [] for name in watched}
        for number in range(WINDOWS):
            await window(client, range(number * calls // WINDOWS, (number + 1) * calls // WINDOWS))
            for name, pid in watched.items():
                seen[name].append(resident(pid))
            if (number + 1) % TENTH == 0:
                shown = ", ".join(f"{name} {mebibytes(sizes[-1])}" for name, sizes in seen.items())
                sys.stderr.write(f"{number + 1} %: {shown}\n")
    return seen


def mebibytes(size: float) -> str:
    """Return a size for people."""
    return f"{size / 2**20:.1f} MiB"


def main() -> int:
    """Soak, print each process's memory, and tell by the exit code whether it stayed flat."""
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else CALLS
    with tempfile.TemporaryDirectory() as directory:
        seen = anyio.run(soak, Place(Path(directory).resolve(), {"fix": MODERN}), calls)
    flat = "proxy" in seen
    for name, sizes in seen.items():
        before, after = median(sizes[TENTH : 2 * TENTH]), median(sizes[-TENTH:])
        change = after / before - 1
        flat &= abs(change) <= TOLERANCE
        shown = f"{mebibytes(before)} to {mebibytes(after)} ({change:+.1%})"
        sys.stdout.write(f"{name}: {shown} over {calls:,} calls, at most {mebibytes(max(sizes))}\n")
    return 0 if flat else 1


if __name__ == "__main__":
    raise SystemExit(main())
