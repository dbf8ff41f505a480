"""A server that tries ten ways out of its sandbox, and the same server without one, which gets out."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.contained import KEY, NEEDS_SANDBOX, Scene, Told

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
    assert "/tmp/ironcurtain-" not in held.violations
