"""What our own part of a decision costs: everything in `decide()` but the engine."""

from __future__ import annotations

import asyncio
import http.client
import json
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from bench.figures import Figures, Times, measure, measure_async
from bench.scaled import READ_MANY, READ_ONE, SERVER, bundle, directory_rules, load
from support.projects.policies import rule, tool

from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.canonical.this_host import ThisHost
from ironcurtain.decision.decide import Call, Prepared, prepare
from ironcurtain.decision.loaded_policy import Deployment, LoadedPolicy
from ironcurtain.engine.answer import EngineAnswer, read_answer
from ironcurtain.engine.engine import Engine
from ironcurtain.engine.locate import find
from ironcurtain.policy import Policy

pytestmark = pytest.mark.bench
RULES = 50
PROTECTED = 10
MANY = 1_000


class Replay:
    """An engine that gives the answer which a real one gave before, without asking."""

    def __init__(self, body: bytes, revision: str) -> None:
        self._body = body
        self._revision = revision

    async def query(self, _: bytes) -> EngineAnswer:
        return read_answer(200, self._body, self._revision)


class SocketConnection(http.client.HTTPConnection):
    """A plain connection to a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("opa")
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self._path))

    async def health(self) -> None:
        self.request("GET", "/health")
        assert self.getresponse().read() == b"{}\n"


class Place:
    """A home with a sandbox, directories that a policy names, files in them, and protected directories."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.sandbox = home / "sandbox"
        self.protected = [home / f"protected-{n}" for n in range(PROTECTED)]
        places = [home / f"d{n:02d}" for n in range(RULES)]
        for directory in (self.sandbox, *self.protected, *places):
            directory.mkdir()
        self.files = [places[0] / f"file-{n}.txt" for n in range(MANY)]
        for file in self.files:
            file.touch()
        self.bundle = bundle([READ_ONE, READ_MANY], directory_rules(home, RULES, ["read_file", "read_files"]))
        self.one = Call(SERVER, "read_file", {"path": str(self.files[0])})
        self.many = Call(SERVER, "read_files", {"paths": [str(file) for file in self.files]})

    def load(self, protected: list[Path]) -> LoadedPolicy:
        names = tuple(str(path) for path in protected)
        return load(self.bundle, self.home, sandbox=str(self.sandbox), protected=names)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("home"))


async def without_engine(engine: Engine, place: Place, loaded: LoadedPolicy, call: Call) -> Policy:
    """Return the policy with its engine replaced by the answer that the engine gives to the call."""
    prepared = prepare(call, loaded)
    assert isinstance(prepared, Prepared)
    client = engine._client
    assert client is not None
    status, body = client.decide(json.dumps(prepared.input).encode())
    assert status == 200
    policy = Policy(place.bundle, loaded)
    policy._engine = Replay(body, loaded.revision)  # type: ignore[assignment]
    assert (await policy._decide(call)).verdict == "allow"
    return policy


def test_everything_but_the_engine(place: Place, figures: Figures) -> None:
    async def run() -> tuple[Times, Times, Times]:
        async with Engine(find(), place.bundle.archive(), place.bundle.revision) as engine:
            client = engine._client
            assert client is not None
            bare = SocketConnection(Path(client._path))
            policies = [
                await without_engine(engine, place, place.load(protected), place.one)
                for protected in ([], place.protected)
            ]
            decisions = [lambda policy=policy: policy._decide(place.one) for policy in policies]
            health, plain, guarded = await measure_async(
                bare.health, *decisions, repetitions=400, warm_up=100
            )
            bare.close()
        return health, plain, guarded

    health, plain, guarded = asyncio.run(run())
    beside = f"bare health {health}"
    figures.add(
        "decide() without the engine, one path / bare health", plain.per(health), 2, f"{plain}; {beside}"
    )
    figures.add(
        f"the same under {PROTECTED} protected directories", guarded.per(health), 2, f"{guarded}; {beside}"
    )


def test_a_thousand_paths(place: Place, figures: Figures) -> None:
    async def run(protected: list[Path]) -> tuple[Times, ...]:
        async with Engine(find(), place.bundle.archive(), place.bundle.revision) as engine:
            loaded = place.load(protected)
            one = await without_engine(engine, place, loaded, place.one)
            many = await without_engine(engine, place, loaded, place.many)

        async def several() -> None:
            for _ in range(50):
                await one._decide(place.one)

        # Nothing is waited for here, so the time of other processes can be left out.
        return await measure_async(
            several, lambda: many._decide(place.many), repetitions=25, warm_up=2, clock=time.process_time
        )

    for protected in ([], place.protected):
        several, thousand = asyncio.run(run(protected))
        single = Times(tuple(seconds / 50 for seconds in several.seconds))
        figures.add(
            f"{MANY:,} paths / one, without the engine, {len(protected)} protected",
            thousand.per(single),
            MANY / 10,
            f"{thousand}; one {single}",
        )


@pytest.mark.parametrize("count", [10, 2_000])
def test_git_runs_of_a_push_by_name(count: int, tmp_path: Path, figures: Figures) -> None:
    home, log = tmp_path / "home", tmp_path / "runs"
    environ = {"HOME": str(home), "PATH": f"{counting_git(tmp_path, log)}:/usr/bin:/bin"}
    repository = home / "repository"
    repository.mkdir(parents=True)
    for arguments in (
        ("init", "--quiet"),
        ("config", "remote.origin.url", "https://github.com/octocat/hello.git"),
        ("config", "remote.origin.pushurl", "https://gitlab.com/octocat/hello.git"),
    ):
        subprocess.run(
            ["git", *arguments], cwd=repository, env={"HOME": str(home), "PATH": "/usr/bin:/bin"}, check=True
        )
    loaded = push_policy(count, home, environ)
    call = Call(SERVER, "git_push", {"path": str(repository), "remote": "origin"})
    (times,) = measure(lambda: prepare(call, loaded), repetitions=10)
    log.write_text("")
    prepared = prepare(call, loaded)
    assert isinstance(prepared, Prepared)
    assert len(prepared.call.resources) == 3  # the repository, the fetch URL, the push URL
    figures.add(
        f"git runs of a push by name, {count:,} rules", len(log.read_text().split()), 2, f"in {times}"
    )


def counting_git(directory: Path, log: Path) -> Path:
    """Put a git in front of the real one that writes down each of its runs; return its directory."""
    found = directory / "bin"
    found.mkdir()
    program = found / "git"
    program.write_text(f'#!/bin/sh\necho run >> "{log}"\nexec "{shutil.which("git")}" "$@"\n')
    program.chmod(0o755)
    return found


def push_policy(count: int, home: Path, environ: dict[str, str]) -> LoadedPolicy:
    arguments: dict[str, Any] = {
        "path": {"roles": ["read-path"], "repository": True},
        "remote": {"roles": ["git-remote-url"]},
    }
    rules = [
        rule(
            f"r{n:05d}",
            "allow",
            server=[SERVER],
            tool=["git_push"],
            domains={"roles": ["git-remote-url"], "allowed": [f"github.com/octocat/hello{n}"]},
        )
        for n in range(count)
    ]
    content = PolicyContent.of(bundle([tool("git_push", **arguments)], rules))
    world = ThisHost(home=str(home), git_environ={SERVER: environ})
    return LoadedPolicy(content, Deployment(home=str(home), sandbox=str(home / "repository")), world)
