"""A server that runs before the engine answers, and before a client has come: it is told nothing.

Held by: the start of the servers beside that of the engine, which says nothing to them and reads nothing of
them; the end of those that nobody connected to; a new start where another policy lets a server reach
something else.
"""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from support.deployments.proxied import Place, descendants, is_alive, rules, wait_for
from support.deployments.wire import INITIALIZED, Proxy, answer, hello, send
from support.machines.contained import NEEDS_SANDBOX
from support.projects.policies import rule

from ironcurtain.engine.locate import find

LISTENS = """
import json, os, sys
from pathlib import Path
root = Path(sys.argv[1])
told = {"name": "listens", "version": "1"}
hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": told}
(root / "started").open("a").write(f"{os.getpid()}\\n")
for number in map(int, sys.argv[2:]):
    os.write(number, b"\\n" * (4 << 20))
    (root / "poured").touch()
for line in sys.stdin:
    (root / "heard").open("a").write(line)
    asked = json.loads(line)
    known = asked["method"] == "initialize"
    answer = {"result": hello} if known else {"error": {"code": -32601, "message": "no"}}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""


class Listening(Place):
    """A proxy's place with one server, which writes down that it has started, and all that it is told."""

    def __init__(self, root: Path, *floods: str) -> None:
        self.own = root / "own"
        self.own.mkdir()
        script = root / "listens.py"
        script.write_text(LISTENS)
        super().__init__(root, {"fix": ["-u", str(script), str(self.own), *floods]})

    @property
    def starts(self) -> list[int]:
        """The process of each start."""
        path = self.own / "started"
        return [int(line) for line in path.read_text().splitlines()] if path.exists() else []

    @property
    def heard(self) -> str:
        """What the server was told."""
        path = self.own / "heard"
        return path.read_text() if path.exists() else ""

    @contextmanager
    def proxy(self, *options: str) -> Iterator[Proxy]:
        """Start the proxy, and say nothing to it."""
        pipe = subprocess.PIPE
        command, environment = self.command(*options), self.environment()
        with (self.root / "stderr").open("a") as stderr, self.explained():
            process = Proxy(
                command, env=environment, cwd=self.root, stdin=pipe, stdout=pipe, stderr=stderr, text=True
            )
            try:
                yield process
            finally:
                process.kill()
                process.wait()
                process.stdin.close()
                process.stdout.close()


def test_a_server_hears_nothing_from_a_proxy_whose_engine_does_not_start(tmp_path: Path) -> None:
    place, opa = Listening(tmp_path), tmp_path / "opa"
    opa.write_text(
        f"#!/bin/sh\nif [ $1 = run ]; then while ! [ -e {place.own}/started ]; do sleep 0.1; done\n"
        f'sleep 3; echo no engine today; exit 1; fi\nexec {find().path} "$@"\n'
    )
    opa.chmod(0o755)
    with place.proxy("--opa", str(opa)) as process:
        send(process, hello({}), json.dumps(INITIALIZED))
        assert process.wait(120) == 3
        assert "OPA ended while it was starting" in place.said
        (server,) = place.starts
        wait_for(lambda: not is_alive(server))
        assert place.heard == ""
        assert process.stdout.read() == ""


def test_a_server_that_no_client_came_for_hears_nothing_and_ends(tmp_path: Path) -> None:
    place = Listening(tmp_path)
    with place.proxy() as process:
        (server,) = wait_for(lambda: place.starts)
        process.stdin.close()
        assert process.wait(120) == 0
        assert not is_alive(server)
    assert place.heard == ""
    seen, stop = place.records()[-2:]
    assert (seen["event"], seen["detail"]["seen"]) == ("sandbox", "uncontained")
    assert stop["event"] == "stop"


@pytest.mark.parametrize("output", ["1", "2"])
def test_a_server_that_pours_out_more_than_a_pipe_holds_before_a_client_has_come(
    tmp_path: Path, output: str
) -> None:
    place = Listening(tmp_path, output)
    with place.proxy() as process:
        wait_for(lambda: place.starts and "audit log" in place.said)
        assert not (place.own / "poured").exists()  # it lies with the server, not in our memory
        send(process, hello({}), json.dumps(INITIALIZED))
        assert "result" in answer(process, 1)
        wait_for((place.own / "poured").exists)
        wait_for(lambda: "initialize" in place.heard)


@NEEDS_SANDBOX
def test_a_server_that_waits_for_a_client_does_not_keep_the_reach_of_an_older_policy(tmp_path: Path) -> None:
    place = Listening(tmp_path)
    place.configure(sandbox={"filesystem": {"allowWrite": [str(place.own)]}})
    wider = rule("more", "allow", paths={"roles": ["read-path"], "within": ["~/elsewhere"]})
    with place.proxy() as process:
        wait_for(lambda: place.starts and "audit log" in place.said)
        first = running(process)
        assert first
        place.publish([*rules(), wider], place.names)
        process.send_signal(signal.SIGHUP)
        wait_for(lambda: "now enforced" in place.said)
        wait_for(lambda: not any(map(is_alive, first)))
        assert place.heard == ""
        send(process, hello({}), json.dumps(INITIALIZED))
        assert "result" in answer(process, 1)
        wait_for(lambda: "initialize" in place.heard)
        assert running(process)
        assert len(place.starts) == 2


def running(proxy: Proxy) -> list[int]:
    """Return the processes of the server, and those around it, by what this machine calls them."""
    found = []
    for pid in descendants(proxy.pid):
        with suppress(OSError):  # it has just ended
            if b"listens.py" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


def test_a_server_gets_no_more_of_our_environment_than_any(tmp_path: Path) -> None:
    place = Listening(tmp_path)
    with place.proxy() as process:
        (server,) = wait_for(lambda: place.starts)
        told = Path(f"/proc/{server}/environ").read_bytes().split(b"\0")
        assert process.poll() is None
    names = {each.partition(b"=")[0].decode() for each in told if each}
    assert "SECRET_OF_OURS" in place.environment()
    assert names <= {"HOME", "PATH", "FIXTURE_JOURNAL", "PYTHONPATH", "LC_CTYPE"}
