"""A server that tries ten ways out of its sandbox, and the same server without one, which gets out.

Held by: bubblewrap: namespaces of its own, read-only mounts, a proxy for names, an environment of its own.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from mcp import Client
from support.deployments.proxied import text_of
from support.machines.contained import KEY, NEEDS_SANDBOX, SERVER, Scene, Told

from ironcurtain.enforcement.sandbox.launcher import SandboxLauncher
from ironcurtain.enforcement.sandbox.report import Observation
from ironcurtain.servers.connect import parameters
from ironcurtain.servers.stdio_transport import connect_pipes
from ironcurtain.system.private_runtime import runtime_directory
from ironcurtain.system.structs import replace

pytestmark = NEEDS_SANDBOX
CANARY = "canary-of-the-environment"
WAYS = (
    "write_outside",
    "read_denied",
    "raw_socket",
    "undeclared_domain",
    "symlink",
    "git_hooks",
    "proc",
    "environment",
    "outliving_child",
    "signals",
)


RECORDED = {
    "write_outside": ("violation", "/outside/written"),
    "read_denied": ("observed", "nor read a denied file"),
    "raw_socket": ("observed", "nor connect to this machine"),
    "undeclared_domain": ("violation", "network-outbound 127.0.0.1"),
    "symlink": ("observed", "could not write a file outside"),
    "git_hooks": ("violation", ".git/hooks/post-checkout"),
    "proc": ("violation", "/proc/sys/kernel/core_pattern"),
    "environment": None,
    "outliving_child": None,
    "signals": None,
}
"""By way what the audit has of it on Linux: the attempt itself, only that a probe was held, or nothing."""


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return Scene(tmp_path_factory.mktemp("contained") / "scene")


@pytest.fixture(scope="module")
def held(scene: Scene) -> Iterator[Told]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OUR_SECRET", CANARY)
        patch.setenv("ANTHROPIC_API_KEY", CANARY)
        yield scene.visit(*WAYS, "write_inside")


@pytest.fixture(scope="module")
def free(tmp_path_factory: pytest.TempPathFactory) -> Told:
    ways = [way for way in WAYS if way not in {"environment", "outliving_child"}]
    return Scene(tmp_path_factory.mktemp("free") / "scene").visit(*ways, sandbox=False)


@pytest.mark.parametrize(
    ("way", "got"),
    [
        ("write_outside", "written"),
        ("read_denied", KEY),
        ("raw_socket", "connected"),
        ("undeclared_domain", "reached"),
        ("symlink", "written"),
        ("git_hooks", "planted"),
        ("proc", "got"),
        ("signals", "sent"),
    ],
)
def test_the_way_leads_out_without_a_sandbox_and_not_with_one(
    held: Told, free: Told, way: str, got: str
) -> None:
    assert got in free.answers[way]
    assert not held.answers[way].startswith(got)
    assert "refused" in held.answers[way]


def test_nothing_outside_has_changed(scene: Scene, held: Told) -> None:
    assert not list(scene.outside.iterdir())
    assert held.answers["sleeper"] == "alive"
    hooks = scene.repository / ".git" / "hooks"
    assert not (hooks / "post-checkout").exists()
    for config in (hooks.with_name("config"), scene.bare / "config"):
        assert "escaped" not in config.read_text()


def test_what_is_allowed_works(scene: Scene, held: Told) -> None:
    assert held.answers["write_inside"] == "written"
    assert (scene.inside / "allowed").read_text() == "here"


def test_the_sandbox_leaves_nothing_behind_where_it_held_a_place_that_was_not_there(
    scene: Scene, held: Told
) -> None:
    assert held.state is not None
    assert not (scene.without_hooks / ".git" / "hooks").exists()


def test_secrets_of_the_environment_do_not_reach_the_server(held: Told) -> None:
    environment = json.loads(held.answers["environment"])
    assert CANARY not in held.answers["environment"]
    assert not any(name.startswith(("IRONCURTAIN", "ANTHROPIC")) for name in environment)
    assert {"HOME", "PATH", "TMPDIR"} <= environment.keys()


def test_a_child_that_left_its_session_ends_with_the_server(scene: Scene, held: Told) -> None:
    assert held.answers["outliving_child"] == "left"
    assert scene.heartbeat.stat().st_size > 0
    assert wait_until_gone(scene.child_marker), "it runs on"


def wait_until_gone(marker: str) -> bool:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if not any(marker in line for line in command_lines()):
            return True
        time.sleep(0.05)
    return False


def command_lines() -> Iterator[str]:
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if int(entry.name) != os.getpid():
                yield (entry / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue


def test_what_was_observed_is_told_and_not_what_was_configured(held: Told, free: Told) -> None:
    assert held.state is not None
    assert free.state is not None
    assert held.state.isolation == "bubblewrap"
    assert held.state.observed.startswith("a probe in the sandbox could not write a file outside, nor read")
    assert free.state.isolation == "none"
    assert [seen.kind for seen in free.seen] == ["uncontained"]


def test_the_ten_ways_are_each_accounted_for() -> None:
    assert len(WAYS) == 10
    assert RECORDED.keys() == {*WAYS}


@pytest.mark.parametrize("way", RECORDED)
def test_what_the_audit_has_of_a_way_and_no_more(held: Told, way: str) -> None:
    recorded = RECORDED[way]
    if recorded is not None:
        kind, words = recorded
        assert any(seen.kind == kind and words in seen.text for seen in held.seen)
    for unseen in ("id_ed25519", "sleeper", "setsid", "link/planted"):
        assert unseen not in held.violations, "docs/sandbox.md says that this is not observed"


@pytest.mark.parametrize(
    "what",
    [
        "outside/written",
        "network-outbound 127.0.0.1",
        ".git/hooks/post-checkout",
        ".git/config",
        "rename",
        "no-hooks/.git/hooks",
        "bare.git/config",
        "/proc/sys/kernel/core_pattern",
    ],
)
def test_what_was_tried_is_told(held: Told, what: str) -> None:
    assert what in held.violations


def test_what_the_probe_tried_is_not_told_as_the_servers(held: Told) -> None:
    assert str(runtime_directory()) not in held.violations


async def plant_after_another_server_has_ended(scene: Scene) -> str:
    config = scene.config(args=[SERVER, scene.aim(1, 1, "x")])
    config = replace(config, servers=dict.fromkeys(("first", "second"), config.servers["escaping"]))
    launcher = SandboxLauncher.open(config, scene.grounds(config))
    ready, end, ended = anyio.Event(), anyio.Event(), anyio.Event()

    async def tell(_name: str, _seen: Observation) -> None:
        """Nothing is asked of it."""

    def client(name: str) -> Client:
        start = parameters(name, config)
        said = scene.said.append
        return Client(
            launcher.connect(
                name,
                start,
                on_words=said,
                on_end=said,
                tell=tell,
                opened=connect_pipes,
            ),
            mode="legacy",
            cache=None,
        )

    async def first() -> None:
        async with client("first"):
            ready.set()
            await end.wait()
        ended.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(first)
        await ready.wait()
        async with client("second") as second:
            end.set()
            await ended.wait()
            result = await second.call_tool("git_hooks", {})
            answer = text_of(result)
    return answer


def test_the_end_of_one_server_opens_nothing_to_another(tmp_path: Path) -> None:
    """A mount goes with the file below it, and each runtime would remove what it put there."""
    scene = Scene(tmp_path / "scene")
    hooks = scene.without_hooks / ".git" / "hooks"
    assert anyio.run(plant_after_another_server_has_ended, scene) == "refused"
    assert not hooks.exists()
