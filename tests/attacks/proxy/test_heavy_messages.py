"""One server writes what costs its reader seconds and gigabytes: it ends, and the others go on.

Held by: bounds of each message, parsed beside the loop; who exceeds them is ended.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest
from fixtures import heavy_server
from mcp import Client
from support.deployments.faulty import proxy_of
from support.deployments.proxied import PLAIN, Place, until, visit_all

pytestmark = pytest.mark.timeout(900)

NAMES = {kind: f"heavy{number}" for number, kind in enumerate(heavy_server.KINDS)}
BOUND = "more than|no MCP message|without end"
MOST = 600 << 20
"""What the proxy may hold at its height; the messages would be some gigabytes as objects."""


async def _written(kind: str, client: Client, place: Place) -> None:
    name = NAMES[kind]
    assert (await client.call_tool(f"{name}__echo", {"text": kind})).is_error
    await until(lambda: re.search(rf"server {name}: it [^\n]*({BOUND})", place.said))
    assert not (await client.call_tool("fix__echo", {"text": kind})).is_error
    assert _height(await proxy_of(place)) < MOST


def _height(pid: int) -> int:
    """Return the most memory that a process has held, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert peak is not None, status
    return int(peak[1]) << 10


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Exception]:
    heavy = {name: [heavy_server.__file__, kind] for kind, name in NAMES.items()}
    place = Place(tmp_path_factory.mktemp("heavy").resolve(), {"fix": PLAIN, **heavy})
    place.configure(env={"PYTHONPATH": str(Path(heavy_server.__file__).parents[1])})
    visits = {kind: partial(_written, kind) for kind in NAMES}
    return visit_all(place, visits, up=["fix", *NAMES.values()])


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is looked at in /proc")
@pytest.mark.parametrize("kind", NAMES)
def test_a_message_that_stops_every_server(outcomes: dict[str, Exception], kind: str) -> None:
    if kind in outcomes:
        raise outcomes[kind]
