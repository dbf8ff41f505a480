"""The fleet of docs/remote-engine.md: its commands typed, its nodes killed under load, a release."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from e2e.program import ROOT
from e2e.transcripts.test_release import commands
from ruamel.yaml import YAML
from support.deployments.proxied import until
from support.people.typed import typed
from support.projects.shipped import GENERATED, named
from support.projects.shipped import bundle as shipped_with
from support.records.signing import with_serial
from support.services.nodes import free_port

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.publishing.to_directory import publish_to_directory
from ironcurtain.bundle.signing.keys import new_key, read_private_key
from ironcurtain.bundle.signing.signature import sign
from ironcurtain.engine.locate import find
from ironcurtain.engine.remote import RemoteEngine
from ironcurtain.engine.remote_nodes import Nodes
from ironcurtain.errors import EngineFailedError
from ironcurtain.policy import Policy

PAGE = "remote-engine.md"
RULE = "filesystem-allow-read-documents"
COMPILE = "ironcurtain compile --locked --sign --serial 2"
FLEET = Path("examples/fleet")
LIMIT = 60.0


@dataclass
class Fleet:
    """A project directory with the example, somebody's home, and free ports."""

    root: Path
    port: int = field(default_factory=lambda: free_port(3))

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def state(self) -> Path:
        return self.root / FLEET / "state"

    @property
    def nodes(self) -> list[str]:
        return [f"http://127.0.0.1:{self.port + number}" for number in (1, 2)]

    def run(self, command: str, code: int = 0) -> str:
        """Type a command."""
        for standard in (8181, 8182):
            command = command.replace(f":{standard}", f":{self.port + standard - 8180}")
        path = f"{self.root / 'bin'}{os.pathsep}{find().path.parent}{os.pathsep}{os.environ['PATH']}"
        environment = {
            "PATH": path,
            "HOME": str(self.home),
            "PYTHONPATH": str(ROOT),
            "FLEET_PORT": str(self.port),
            **({"FLEET_OPA": str(find().path)} if "fleet.sh up" not in command else {}),
        }
        ended = typed(command, self.root, environment)
        assert ended.code == code, ended.out + ended.err
        return ended.out + ended.err

    def fleet(self, *arguments: str) -> None:
        """Run the script."""
        self.run(f"{FLEET}/fleet.sh {' '.join(arguments)}")

    def release(self, serial: int, change: Callable[[list[dict[str, Any]]], object] | None = None) -> Bundle:
        """Sign a release of the shipped policy, with its rules changed, as `compile --sign` would."""
        key = read_private_key(self.home / ".ironcurtain" / "signing-key.pem")
        made = sign(with_serial(shipped_with(change), serial), key)
        path = self.root / "generated" / "bundle.signed.tar.gz"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(made.archive())
        return made

    def compiled(self, serial: int) -> None:
        """Leave what `compile --sign` leaves: the archive with the directory and scenarios that verify it."""
        key = read_private_key(self.home / ".ironcurtain" / "signing-key.pem")
        bundle = with_serial(Bundle.read(GENERATED / "bundle"), serial)
        generated = self.root / "generated"
        for name, data in bundle.files.items():
            (generated / "bundle" / name).parent.mkdir(parents=True, exist_ok=True)
            (generated / "bundle" / name).write_bytes(data)
        (generated / "bundle.signed.tar.gz").write_bytes(sign(bundle, key).archive())
        shutil.copy(GENERATED / "test-scenarios.json", generated)

    def publish(self, serial: int, change: Callable[[list[dict[str, Any]]], object] | None = None) -> Bundle:
        """Put such a release where the nodes fetch it."""
        made = self.release(serial, change)
        assert publish_to_directory(made.archive(), self.state / "served", "bundle.tar.gz")
        return made

    def policy(self) -> Policy:
        """Load the newest release as a gateway does."""
        return Policy.load(
            self.root / "generated" / "bundle.signed.tar.gz",
            home=self.home,
            verify_key=self.home / ".ironcurtain" / "signing-key.pub.pem",
            engine=self.nodes,
            engine_token_file=self.state / "token",
        )


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    program = tmp_path / "bin" / "ironcurtain"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nfrom ironcurtain.cli.main import main\nmain()\n")
    program.chmod(0o755)
    shutil.copytree(ROOT / FLEET, tmp_path / FLEET, ignore=shutil.ignore_patterns("state"))
    shutil.copytree(ROOT / "opa", tmp_path / "opa")
    found = Fleet(tmp_path)
    found.home.mkdir()
    yield found
    found.fleet("down")


def test_the_commands_of_the_page(fleet: Fleet) -> None:
    typed = commands(PAGE)
    (ask,) = [command for command in typed if command.startswith("ironcurtain decide")]
    for command in typed:
        if command == COMPILE:
            fleet.compiled(2)
            continue
        shown = fleet.run(command)
        if command == ask:
            assert f"rule:    {RULE}" in shown
            assert (fleet.state / "token").stat().st_mode & 0o077 == 0
            check_compose_file(fleet)
        elif command.endswith("stop node-1"):
            assert f"rule:    {RULE}" in fleet.run(ask)
        elif command.endswith("stop node-2"):
            assert "IC3003" in fleet.run(ask, 3)


def check_compose_file(fleet: Fleet) -> None:
    """See that the containers run what the script runs."""
    compose = YAML(typ="safe").load((ROOT / FLEET / "compose.yaml").read_text())
    for number in (1, 2):
        service = compose["services"][f"node-{number}"]
        assert service["ports"] == [f"127.0.0.1:{8180 + number}:8181"]
        # The image's entry point is `opa` itself.
        assert flags(service["command"]) == flags(runs(fleet, f"node-{number}")[1:])
        assert service["environment"]["FLEET_BUNDLES"] == "http://bundles:8180"
        assert service["depends_on"] == ["bundles"]
    bundles = compose["services"]["bundles"]
    assert flags(bundles["command"][1:]) == flags(runs(fleet, "bundles")[1:])
    assert bundles["command"][0] == Path(runs(fleet, "bundles")[0]).name
    for service in compose["services"].values():
        mounted = {inside for _, inside in map(split, service["volumes"])}
        for local, _ in map(split, service["volumes"]):
            made = fleet.root / FLEET / local
            assert made.exists() or local == "./state/release.pub.pem", local
        given = " ".join(service["command"]).replace("=", " ").split()
        assert {word for word in given if word.startswith("/")} == mounted
        # What fleet.sh makes can be read by its owner alone.
        assert service["user"].startswith("${FLEET_USER:?")
    version = json.loads((ROOT / "opa" / "version.json").read_text())["version"]
    assert compose["services"]["node-1"]["image"] == f"openpolicyagent/opa:{version}-static"


def split(mount: str) -> tuple[str, str]:
    """Return the two places of a mount, which nobody may write to in the container."""
    local, inside, mode = mount.split(":")
    assert mode == "ro"
    return local, inside


def runs(fleet: Fleet, name: str) -> list[str]:
    """Return the command line that the script has started."""
    pid = (fleet.state / f"{name}.pid").read_text().strip()
    return Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")[:-1]


def flags(command: list[str]) -> list[str]:
    """Return what of a command is the same wherever its files lie and whatever its addresses are."""
    words = " ".join(command).replace("=", " ").split()
    return sorted(word for word in words if not (word.startswith("/") or ":" in word or word[0].isdigit()))


# -- under load ----------------------------------------------------------------------------------


@dataclass
class Gateway:
    """A loaded policy that decides the same call again and again."""

    policy: Policy
    right: str
    seen: list[str] = field(default_factory=list)

    async def work(self) -> None:
        """Decide until cancelled; write down verdicts and, for calls without an answer, rules."""
        while True:
            decision = await self.policy.adecide(
                "filesystem", "read_text_file", {"path": "~/Documents/letter.txt"}
            )
            self.seen.append(decision.rule if decision.rule.startswith("engine-") else decision.verdict)

    async def decides(self, count: int = 60) -> list[str]:
        """Wait for so many more decisions; return them."""
        start = len(self.seen)
        await until(lambda: len(self.seen) >= start + count)
        return self.seen[start:]

    async def until(self, wanted: str) -> list[str]:
        """Wait for a decision; return what was decided until then, without it."""
        start = len(self.seen)
        await until(lambda: wanted in self.seen[start:])
        return self.seen[start : self.seen.index(wanted, start)]


@asynccontextmanager
async def busy(*gateways: Gateway) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(gateway.work()) for gateway in gateways for _ in range(2)]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(each, asyncio.CancelledError) for each in ended)


async def serves(fleet: Fleet, number: int, revision: str) -> None:
    """Wait until a node has loaded a release: the script does not wait for one that is started alone."""
    node = Nodes.of([fleet.nodes[number]], token_file=fleet.state / "token")
    assert node is not None
    async with asyncio.timeout(LIMIT):
        while True:
            try:
                async with RemoteEngine(node, revision, wait=LIMIT):
                    return
            except EngineFailedError:
                await asyncio.sleep(0.05)


async def kill_one_after_the_other(fleet: Fleet, gateway: Gateway) -> None:
    async with busy(gateway):
        assert set(await gateway.decides()) == {"allow"}
        for number, other in ((0, 1), (1, 0)):
            start = len(gateway.seen)
            await asyncio.to_thread(fleet.fleet, "stop", f"node-{number + 1}")
            await gateway.decides()
            await asyncio.to_thread(fleet.fleet, "start", f"node-{number + 1}")
            await serves(fleet, number, gateway.policy.revision)
            await gateway.decides()
            assert set(gateway.seen[start:]) == {"allow"}, other
        for name in ("node-1", "node-2"):
            await asyncio.to_thread(fleet.fleet, "stop", name)
        assert set(await gateway.until("engine-no-node")) <= {"allow"}
        assert set(await gateway.decides(20)) == {"engine-no-node"}
        await asyncio.to_thread(fleet.fleet, "start", "node-2")
        assert set(await gateway.until("allow")) <= {"engine-no-node", "engine-revision"}
        assert set(await gateway.decides()) == {"allow"}


async def publish_while_one_node_is_down(fleet: Fleet, old: Gateway) -> None:
    def forbid(rules: list[dict[str, Any]]) -> None:
        named(rules, RULE)["then"] = "deny"

    async with busy(old):
        await old.decides()
        await asyncio.to_thread(fleet.fleet, "stop", "node-1")
        release = fleet.publish(3, forbid)
        await serves(fleet, 1, release.revision)
        with fleet.policy() as policy:
            assert policy.revision == release.revision != old.policy.revision
            new = Gateway(policy, "deny")
            async with busy(new):
                assert set(await new.decides()) == {"deny"}
                await asyncio.to_thread(fleet.fleet, "start", "node-1")
                await serves(fleet, 0, release.revision)
                await asyncio.to_thread(fleet.fleet, "stop", "node-2")
                assert set(await new.decides()) == {"deny"}
                await asyncio.to_thread(fleet.fleet, "start", "node-2")
                await serves(fleet, 1, release.revision)
                await old.until("engine-revision")
                assert set(await old.decides(20)) == {"engine-revision"}
    # Whatever a node had at each moment: nobody with the old bundle got the new one's verdict.
    assert set(old.seen) <= {"allow", "engine-revision", "engine-no-node"}


@pytest.mark.parametrize(
    "story", [kill_one_after_the_other, publish_while_one_node_is_down], ids=lambda f: f.__name__
)
def test_under_load(story: Callable[..., Any], fleet: Fleet) -> None:
    key = new_key(fleet.home / ".ironcurtain" / "signing-key.pem", "ES256")
    (fleet.home / ".ironcurtain" / "signing-key.pub.pem").write_text(key.public.pem)
    fleet.publish(2)
    fleet.fleet("up")
    with fleet.policy() as policy:
        asyncio.run(story(fleet, Gateway(policy, "allow")))
