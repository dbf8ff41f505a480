"""Attack: a server without a sandbox kills whoever ends it, so that what it started stays."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.contained import Scene

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
