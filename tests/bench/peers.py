"""Measure a decision beside its peers, print one table, draw one picture: `make bench-peers`.

Warm decisions are interleaved in one process; a cold start and its memory are a process of their own each.
Each is seen to allow a call, and to refuse the same with one path more that no rule names.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import anyio
from bench import bench_proxy
from bench.figures import Times, measure, measure_async
from bench.peer_engines import OURS, SUBJECTS, directories, opened, write_policy
from bench.peer_picture import Point, picture
from support.deployments.proxied import MODERN, Place

RULES = (50, 500, 10_000)
RESOURCES = (1, 100)
# A hundred paths against ten thousand rules take some peers seconds.
REPETITIONS = {(50, 1): 300, (500, 1): 200, (10_000, 1): 60, (50, 100): 60, (500, 100): 30, (10_000, 100): 7}
COLD_STARTS = 3


def show(line: str) -> None:
    """Print a line as soon as it is known."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


@dataclass(frozen=True)
class Cold:
    """A cold start: seconds from a loaded interpreter to the first answer, and the memory of all it needs."""

    seconds: float
    mebibytes: float


def main(target: Path) -> None:
    """Measure, print, and write the picture."""
    show(f"load before: {os.getloadavg()[0]:.2f}; {os.cpu_count()} processors")
    points = []
    with tempfile.TemporaryDirectory() as name:
        for rules in RULES:
            home = Path(name) / str(rules)
            home.mkdir()
            write_policy(home, rules)
            points += warm(home, rules)
            show_cold(home, rules)
        passed_through(Path(name) / "proxy")
    target.write_text(picture(points, RULES, RESOURCES))
    show(f"load after: {os.getloadavg()[0]:.2f}; {target}")


def called(home: Path, rules: int, resources: int) -> list[str]:
    """Return the paths of a call, spread over the rules; each is a file."""
    named = directories(home, rules)
    step = max(1, rules // resources)
    found = [f"{named[(number * step + step // 2) % rules]}/file-{number}.txt" for number in range(resources)]
    for path in map(Path, found):
        path.parent.mkdir(exist_ok=True)
        path.touch()
    return found


def warm(home: Path, rules: int) -> list[Point]:
    """Print the rows of warm decisions; return what the picture shows of them."""
    found = []
    with ExitStack() as stack:
        asked = {each: stack.enter_context(opened(each, home, rules))[0] for each in SUBJECTS}
        for resources in RESOURCES:
            paths = called(home, rules, resources)
            for ask in asked.values():
                assert ask(paths)
                assert not ask([*paths, "/elsewhere/file.txt"])
            operations = [lambda ask=ask, paths=paths: ask(paths) for ask in asked.values()]
            measure(*operations, repetitions=5)
            times = measure(*operations, repetitions=REPETITIONS[rules, resources])
            ours = times[0]
            for subject, taken in zip(asked, times, strict=True):
                print_row(f"{rules:>6,} rules {resources:>3} paths", subject, taken, ours)
                found.append(Point(subject, rules, resources, taken.median * 1e3))
    return found


def print_row(what: str, subject: str, taken: Times, ours: Times) -> None:
    """Print one row; the ratio is above 1 where we are quicker."""
    show(f"{what}  {subject:<26} {taken!s:<32} {taken.per(ours):8.2f} x ours")


def show_cold(home: Path, rules: int) -> None:
    """Print what a cold start of each takes."""
    for subject in SUBJECTS:
        starts = [_started(subject, home, rules) for _ in range(COLD_STARTS)]
        seconds = median(each.seconds for each in starts)
        size = median(each.mebibytes for each in starts)
        show(f"{rules:>6,} rules cold       {subject:<26} {seconds:8.3f} s {size:8.0f} MiB")


def _started(subject: str, home: Path, rules: int) -> Cold:
    command = [sys.executable, __file__, "--cold", subject, str(home), str(rules)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    return Cold(*json.loads(ran.stdout))


def cold(subject: str, home: Path, rules: int) -> Cold:
    """Start, ask once; give the time and the memory."""
    (path,) = called(home, rules, 1)
    start = time.perf_counter()
    with opened(subject, home, rules) as (ask, beside):
        assert ask([path])
        seconds = time.perf_counter() - start
        return Cold(seconds, sum(_resident(pid) for pid in (os.getpid(), beside) if pid is not None))


def _resident(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def passed_through(root: Path) -> None:
    """Print what a call through our proxy costs beside the thinnest proxy on the same SDK."""
    root.mkdir()
    place = Place(root, dict.fromkeys(bench_proxy.SERVERS, MODERN))

    async def run() -> tuple[Times, ...]:
        async with place.client("--no-approver") as ours, bench_proxy.thin(place) as bare:
            for client in (ours, bare):
                await client.list_tools()
            return await measure_async(
                lambda: bench_proxy.call(ours, "s0"),
                lambda: bench_proxy.call(bare, "s0"),
                repetitions=150,
                warm_up=30,
            )

    through, by = anyio.run(run)
    print_row("a call to an MCP server", OURS, through, through)
    print_row("a call to an MCP server", "mcp pass-through", by, through)


def _run(arguments: list[str]) -> None:
    if arguments[:1] == ["--cold"]:
        subject, home, rules = arguments[1:]
        found = cold(subject, Path(home), int(rules))
        show(json.dumps([found.seconds, found.mebibytes]))
    else:
        main(Path(arguments[0]))


if __name__ == "__main__":
    _run(sys.argv[1:])
