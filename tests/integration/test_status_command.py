"""`ironcurtain status`: what a running proxy tells of itself, and that one that has gone tells nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread
from e2e.program import Ended, program
from fixtures import fixture_server
from support.policies import rule
from support.proxied import Place, until


def status(place: Place, *options: str) -> Ended:
    return program("status", *options, HOME=str(place.home))


def test_status_tells_of_a_running_proxy_and_of_no_other(tmp_path: Path) -> None:
    place = Place(tmp_path.resolve())
    free = sorted({*fixture_server.TOOLS} - {"read", "remove", "image"})
    place.publish([rule("free", "allow", tool=free), rule("removal", "escalate", tool=["remove"])], ["fix"])
    board = place.home / ".ironcurtain" / "status" / "test.json"
    assert status(place).code == 1

    def is_shown() -> bool:
        if not board.exists():
            return False
        found = json.loads(board.read_text())
        return bool(found["decisions"] == 2 and found["servers"][0]["hidden"])

    async def visit() -> dict[str, Any]:
        async with place.client("--patience", "0.1") as client:
            await client.call_tool("fix__read", {"path": "/etc/passwd"})
            await client.call_tool("fix__remove", {"path": "~/notes/a"})
            await until(is_shown)
            shown = await to_thread.run_sync(status, place)
            assert shown.code == 0, shown.err
            assert "2 decided within the last minute, 1 waits for a person" in shown.out
            assert "fix: up, " in shown.out
            ended = await to_thread.run_sync(status, place, "--format", "json")
            kept: dict[str, Any] = json.loads(ended.out)["proxies"][0]
            return kept

    proxy = anyio.run(visit)
    assert (proxy["session"], proxy["pending"], proxy["observe"]) == ("test", 1, False)
    (server,) = proxy["servers"]
    assert (server["tools"], server["hidden"]) == (len(fixture_server.TOOLS), 2)
    gone = status(place, "--format", "json")
    assert (gone.code, json.loads(gone.out)["proxies"]) == (1, [])
    # What a killed proxy leaves behind, with a process id that is another's by now.
    board.write_text(json.dumps({**proxy, "pid": os.getpid()}))
    left = status(place)
    assert (left.code, left.out, left.err) == (1, "", "no proxy runs\n")
