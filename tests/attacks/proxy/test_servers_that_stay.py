"""Attack: a server without a sandbox kills whoever ends it, so that what it started stays.

Held by: two processes that end each other and what is below, and the proxy, which ends what both left.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from support.deployments.proxied import Place, until, wait_for
from support.machines.contained import Scene

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the kernel tells of no orphans")
KEEPER = "$(awk '{print $4}' /proc/$PPID/stat)"
KILLED = {
    "the launcher": "kill -KILL $PPID",
    "the keeper": f"kill -KILL {KEEPER}",
    "its process group": "kill -KILL 0",
    "the launcher, which it stopped before": "kill -STOP $PPID; kill -KILL $PPID",
    "the keeper, while the launcher stands": f"kill -STOP $PPID; kill -KILL {KEEPER}; kill -CONT $PPID",
}


def left(marker: str) -> Iterator[str]:
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            line = (entry / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if marker in line:
            yield line


@pytest.mark.parametrize("who", KILLED)
def test_a_server_that_kills_whoever_ends_it_leaves_nothing(who: str, tmp_path: Path) -> None:
    scene = Scene(tmp_path / "scene")
    marker = f"left-by-{tmp_path}"
    loop = f"while :; do sleep 0.05; done # {marker}"
    daemons = f"setsid sh -c '{loop}' & (setsid nohup sh -c '{loop}' &) & echo started >&2; sleep 0.5"
    said = scene.run(f"{daemons}; {KILLED[who]}; {loop}", sandbox=False)
    assert "started" in said
    end = time.monotonic() + 30
    while any(left(marker)):
        assert time.monotonic() < end, "what it left behind runs on"
        time.sleep(0.05)


def test_what_a_server_leaves_that_stopped_and_killed_both_is_ended_with_the_proxy(tmp_path: Path) -> None:
    """Neither of the two can end it, and the kernel gives it to the proxy."""
    place, marker, done = Place(tmp_path.resolve()), f"left-by-{tmp_path}", tmp_path / "done"
    loop = f"while :; do sleep 0.05; done # {marker}"
    daemons = f"setsid sh -c '{loop}' & (setsid nohup sh -c '{loop}' &)"
    killed = f"keeper={KEEPER}; kill -STOP $PPID $keeper; kill -KILL $keeper $PPID"
    place.configure(command="/bin/sh", args=["-c", f"{daemons}; sleep 0.5; {killed}; touch {done}; {loop}"])

    async def visit() -> None:
        async with place.client():
            await until(done.exists)
            assert any(left(marker))

    anyio.run(visit)
    wait_for(lambda: not any(left(marker)))
