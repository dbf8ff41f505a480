"""Attacks on the embedded engine from the same machine, and on its owner's environment."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.deployments.proxied import LONG, is_alive, wait_for

from ironcurtain.engine import parent_death
from ironcurtain.engine.engine import Engine
from ironcurtain.engine.locate import find

pytestmark = pytest.mark.anyio
REVISION = "sha256:" + "c" * 64
DECISION = "/v1/data/ironcurtain/decision/decision"
POLICY = 'package ironcurtain.decision\n\ndecision := {"verdict": "deny"}\n'

# The owner runs in a process of its own, so that it can be killed; it prints OPA's pid.
OWNER = """
import asyncio, io, json, sys, tarfile
from ironcurtain.engine.engine import Engine
from ironcurtain.engine.locate import find

async def main():
    async with Engine(find(), open(sys.argv[1], "rb").read(), sys.argv[2]) as engine:
        print(engine.pid, (await engine.query(b"{}")).result["verdict"], flush=True)
        await asyncio.sleep(300)

asyncio.run(main())
"""


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("opa", timeout=20)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self._path))


def bundle(path: Path) -> bytes:
    """Build the bundle with the system's own tar, as anyone could."""
    tree = path / "tree" / "ironcurtain" / "decision"
    tree.mkdir(parents=True)
    (tree / "decision.rego").write_text(POLICY)
    manifest = {"roots": ["ironcurtain"], "revision": REVISION, "rego_version": 1}
    (path / "tree" / ".manifest").write_text(json.dumps(manifest))
    subprocess.run(["tar", "-czf", path / "bundle.tar.gz", "-C", path / "tree", "."], check=True)
    return (path / "bundle.tar.gz").read_bytes()


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[tuple[Engine, Path]]:
    """A running engine and its private directory."""
    async with Engine(find(), bundle(tmp_path), REVISION) as engine:
        yield engine, directory_of(engine)


def token_of(engine: Engine) -> bytes:
    """Return the token of this start, as the engine's owner sends it."""
    assert engine._client is not None
    return engine._client._head.partition(b"Bearer ")[2].partition(b"\r\n")[0]


def directory_of(engine: Engine) -> Path:
    return Path(f"/proc/{engine.pid}/cwd").readlink()


def request(path: Path, method: str, target: str, headers: dict[str, str] | None = None) -> int:
    connection = UnixConnection(path / "s")
    try:
        connection.request(method, target, body=b'{"input": {}}', headers=headers or {})
        return connection.getresponse().status
    finally:
        connection.close()


def proc(pid: int | None, name: str) -> bytes:
    return Path(f"/proc/{pid}/{name}").read_bytes()


def contents(directory: Path) -> list[bytes]:
    return [path.read_bytes() for path in directory.rglob("*") if path.is_file()]


def socket_inodes(pid: int | None) -> set[str]:
    links = [str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir()]
    return {link[8:-1] for link in links if link.startswith("socket:[")}


async def test_attack_other_users_cannot_reach_the_socket(place: tuple[Engine, Path]) -> None:
    _, directory = place
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE((directory / "s").stat().st_mode) == 0o600


@pytest.mark.parametrize("authorization", [None, "", "Bearer", "Bearer ", "Bearer x", "Basic eDp4"])
async def test_attack_query_without_the_token(place: tuple[Engine, Path], authorization: str | None) -> None:
    _, directory = place
    headers = {} if authorization is None else {"Authorization": authorization}
    assert request(directory, "POST", DECISION, headers) == 401
    assert request(directory, "GET", "/health", headers) == 200


async def test_attack_digest_of_the_token_is_no_token(place: tuple[Engine, Path]) -> None:
    _, directory = place
    digest = json.loads((directory / "authz/system/engine/data.json").read_text())["token_sha256"]
    assert request(directory, "POST", DECISION, {"Authorization": f"Bearer {digest}"}) == 401


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "/v1/policies/evil"),
        ("GET", "/v1/policies"),
        ("GET", "/v1/data"),
        ("GET", "/v1/data/system/engine"),
        ("POST", "/v1/data/system/engine"),
        ("PUT", "/v1/data/ironcurtain"),
        ("PATCH", "/v1/data/ironcurtain"),
        ("POST", "/v1/query"),
        ("POST", "/v1/compile"),
        ("GET", "/v1/config"),
        ("GET", "/metrics"),
        ("POST", "/"),
        ("POST", "/v0/data/ironcurtain/decision/decision"),
        ("POST", "/v1/data/ironcurtain%2Fdecision/decision"),
        ("POST", "/v1/data/ironcurtain/decision"),
        ("POST", DECISION + "/verdict"),
        ("GET", DECISION),
        ("GET", "/debug/pprof"),
    ],
)
async def test_attack_other_requests_with_the_right_token(
    place: tuple[Engine, Path], method: str, path: str
) -> None:
    engine, directory = place
    headers = {"Authorization": f"Bearer {token_of(engine).decode()}", "Content-Type": "application/json"}
    assert request(directory, "POST", DECISION, headers) == 200
    assert request(directory, method, path, headers) in {401, 404, 405}
    assert (await engine.query(b"{}")).result == {"verdict": "deny"}


async def test_attack_token_in_process_list_or_files(place: tuple[Engine, Path]) -> None:
    engine, directory = place
    token = token_of(engine)
    assert len(token) >= 32
    shown = [proc(engine.pid, "cmdline"), proc(engine.pid, "environ"), *contents(directory)]
    assert b"system/engine" not in shown[0]
    assert not [text for text in shown if token in text]


async def test_attack_two_engines_do_not_share_a_token(place: tuple[Engine, Path], tmp_path: Path) -> None:
    engine, directory = place
    async with Engine(find(), (tmp_path / "bundle.tar.gz").read_bytes(), REVISION) as other:
        assert (
            request(directory, "POST", DECISION, {"Authorization": f"Bearer {token_of(other).decode()}"})
            == 401
        )
    assert (await engine.query(b"{}")).result == {"verdict": "deny"}


async def test_attack_environment_cannot_redirect_or_configure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("OPA_ADDR", "127.0.0.1:9")
    monkeypatch.setenv("GODEBUG", "http2debug=2")
    async with Engine(find(), bundle(tmp_path), REVISION) as engine:
        assert (await engine.query(b"{}")).result == {"verdict": "deny"}
        environment = proc(engine.pid, "environ").split(b"\0")
    names = {entry.partition(b"=")[0] for entry in environment if entry}
    assert names == {b"HOME", b"TMPDIR", b"PATH", b"LANG", b"GOMEMLIMIT", b"GOGC"}


async def test_attack_engine_listens_nowhere_else(place: tuple[Engine, Path]) -> None:
    engine, _ = place
    inodes = socket_inodes(engine.pid)
    internet = "".join(proc(engine.pid, f"net/{table}").decode() for table in ("tcp", "tcp6", "udp"))
    used = {line.split()[9] for line in internet.splitlines() if ":" in line and len(line.split()) > 9}
    assert inodes
    assert not inodes & used


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_attack_killing_the_owner_leaves_no_engine(tmp_path: Path, number: signal.Signals) -> None:
    bundle(tmp_path)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", OWNER, str(tmp_path / "bundle.tar.gz"), REVISION]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as owner:
        assert owner.stdout is not None
        pid, verdict = owner.stdout.readline().split()
        assert verdict == "deny"
        assert is_alive(int(pid))
        owner.send_signal(number)
    wait_for(lambda: not is_alive(int(pid)))


def test_attack_owner_gone_before_the_launcher_asks(tmp_path: Path) -> None:
    marker = tmp_path / "started"
    command = [sys.executable, "-I", "-S", parent_death.__file__, "1", "/bin/sh", "-c", f"touch {marker}"]
    assert subprocess.run(command, check=False, timeout=60).returncode == 1
    assert not marker.exists()


def test_attack_owner_gone_where_the_kernel_does_not_help(tmp_path: Path) -> None:
    """The supervising launcher of other systems: the end of the owner's pipe is the end of OPA."""
    code = (
        f"import sys; sys.path.insert(0, {str(Path(parent_death.__file__).parent)!r}); "
        "import parent_death; parent_death.supervise(sys.argv[1:])"
    )
    script = f"echo $$ > {tmp_path}/pid; exec sleep 300"
    with subprocess.Popen(
        [sys.executable, "-c", code, "/bin/sh", "-c", script], stdin=subprocess.PIPE
    ) as supervisor:
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            time.sleep(0.01)
        child = int((tmp_path / "pid").read_text())
        assert is_alive(child)
        assert supervisor.stdin is not None
        supervisor.stdin.close()
        supervisor.wait(LONG)
    wait_for(lambda: not is_alive(child))


def test_attack_answer_of_a_hijacked_socket_without_the_revision(tmp_path: Path) -> None:
    """Whoever takes the socket's place still has to know what only the loaded bundle says."""

    async def main() -> str:
        async with Engine(find(), bundle(tmp_path), REVISION) as engine:
            await engine.query(b"{}")  # so that one connection to the engine itself is kept
            assert engine._client is not None
            path = Path(engine._client._path)
            path.unlink()  # noqa: ASYNC240 - nothing else runs in this loop
            body = b'{"result": {"verdict": "allow"}}'
            reply = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (
                len(body),
                body,
            )

            async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                await reader.readuntil(b"{}}")
                writer.write(reply)
                await writer.drain()
                writer.close()

            async with await asyncio.start_unix_server(serve, path):
                results = await asyncio.gather(
                    *(engine.query(b"{}") for _ in range(40)), return_exceptions=True
                )
        return ",".join(sorted({getattr(result, "rule", "decided") for result in results}))

    assert asyncio.run(main()) == "decided,engine-revision"
