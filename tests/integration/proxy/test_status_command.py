"""`ironcurtain status`: what a running proxy tells of itself, and that one that has gone tells nothing."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from e2e.program import Ended, Inside
from fixtures import fixture_server
from mcp import Client
from support.deployments.proxied import LONG, Place, until, wait_for
from support.projects.policies import rule

from ironcurtain.enforcement.proxy.status.liveness_lock import running
from ironcurtain.integrations.doctor.installation import Installation
from ironcurtain.integrations.doctor.proxies import proxies


@contextmanager
def serving(place: Place) -> Iterator[str]:
    """Run the proxy over HTTP; yield its URL."""
    command = place.command("--http", "127.0.0.1:0", "--http-open", "--patience", "0.1")
    with (place.root / "stderr").open("w") as stderr:
        process = subprocess.Popen(command, env=place.environment(), cwd=place.root, stderr=stderr)
        try:
            yield wait_for(lambda: re.search(r"listening on (\S+)", place.said))[1]
        finally:
            process.terminate()
            process.wait(LONG)


class Beside:
    """Somebody who looks at a place's proxies."""

    def __init__(self, place: Place, inside: Inside) -> None:
        self.home, self._bundle, self._inside = place.home / ".ironcurtain", place.bundle, inside
        self.board = self.home / "status" / "test.json"

    def status(self, *options: str) -> Ended:
        return self._inside("status", *options)

    def shown(self) -> dict[str, Any]:
        """Return what the proxy has written; nothing as long as it has not."""
        return json.loads(self.board.read_text()) if self.board.is_file() else {}

    def examined(self) -> list[tuple[str, str]]:
        """Return what doctor says of the proxies."""
        none = self.home / "none"
        subject = Installation(self._bundle, none, self.home, (none, none), none, self.home)
        return [(each.name, each.status) for each in proxies(subject)]


def test_status_tells_of_a_running_proxy_and_of_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(tmp_path.resolve())
    monkeypatch.setenv("HOME", str(place.home))
    monkeypatch.delenv("IRONCURTAIN_HOME", raising=False)
    free = sorted({*fixture_server.TOOLS} - {"read", "remove", "image"})
    place.publish([rule("free", "allow", tool=free), rule("removal", "escalate", tool=["remove"])], ["fix"])
    beside = Beside(place, Inside(monkeypatch))
    assert (beside.status().code, beside.examined()) == (1, [("proxy", "ok")])
    beside.home.mkdir(mode=0o700)
    (beside.home / "status").write_text("a file where a directory should be")
    with serving(place) as url:
        wait_for(lambda: "`ironcurtain status` cannot be told" in place.said)
        (beside.home / "status").unlink()
        wait_for(lambda: beside.shown().get("http") == url)
        assert beside.examined() == [("proxy/test", "ok")]
        before = beside.status()
        assert before.code == 0
        assert f"  listens on {url}" in before.out.splitlines()
        assert "  fix: not up yet, it starts with the first client" in before.out.splitlines()
        anyio.run(work, url, beside)
        (proxy,) = json.loads(beside.status("--format", "json").out)["proxies"]
        lines = beside.status().out.splitlines()
        assert lines[0].startswith("test: process ")
        assert "  2 decided within the last minute, 1 waits for a person" in lines
        tools = len(fixture_server.TOOLS)
        hidden = "    hidden, because no call of them can be permitted: read, image"
        assert lines[-2:] == [f"  fix: up, {tools} tools, 2 hidden", hidden]
        assert beside.examined() == [("proxy/test", "ok")]
        another_version(beside)
    assert place.said.count("cannot be told") == 1
    assert (proxy["session"], proxy["pending"], proxy["observe"]) == ("test", 1, False)
    assert [(each["tools"], each["hidden"], each["starting"]) for each in proxy["servers"]] == [
        (tools, 2, False)
    ]
    assert not list((beside.home / "status").iterdir())
    gone = beside.status("--format", "json")
    assert (gone.code, json.loads(gone.out)["proxies"]) == (1, [])
    # What a killed proxy leaves behind, with a process id that is another's by now.
    beside.board.write_text(json.dumps({**proxy, "pid": os.getpid()}))
    left = beside.status()
    assert (left.code, left.out, left.err) == (1, "", "no proxy runs\n")


async def work(url: str, beside: Beside) -> None:
    """Let a client make two calls, and wait until they are shown."""
    async with Client(url, mode="legacy", cache=None) as client:
        await client.call_tool("fix__read", {"path": "/etc/passwd"})
        await client.call_tool("fix__remove", {"path": "~/notes/a"})
        await until(lambda: beside.shown()["decisions"] == 2 and beside.shown()["servers"][0]["hidden"])


def another_version(beside: Beside) -> None:
    """See that proxies of another version hide none: one that runs is named, one that was killed is not."""
    newer = beside.board.read_text().replace("proxy-status/v1", "proxy-status/v99")
    names = [beside.board.with_name(f"{name}.json") for name in ("a-newer", "killed")]
    for path in names:
        path.write_text(newer)
    with running(names[0]):
        ended = beside.status()
    assert (ended.code, ended.out.splitlines()[0][:5]) == (0, "test:")
    assert [line.split(":")[0] for line in ended.err.splitlines()] == [f"{names[0]} cannot be read"]
    for path in names:
        path.unlink()
