"""Attack: name a file by way of a process, so that it means one file to us and another to the server.

Held by: places of a process (`/proc/self`, `/dev/fd`) are refused.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ironcurtain.decision.canonical.host_view import HostView
from ironcurtain.decision.canonical.paths import Resolver
from ironcurtain.decision.canonical.simulated_host import SimulatedHost
from ironcurtain.decision.canonical.this_host import ThisHost
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.model.scenarios import DescribedWorld

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="this system has no /proc")

DISK = ThisHost(home="/nowhere")
MEMORY = SimulatedHost(DescribedWorld())


def refuse(text: str, world: HostView = DISK) -> None:
    with pytest.raises(UnrepresentableError, match="every process"):
        Resolver(world, home="/nowhere").resolve(text, None)


@pytest.mark.parametrize("world", [DISK, MEMORY], ids=["disk", "described"])
@pytest.mark.parametrize(
    "text",
    [
        "/proc/self",
        "/proc/self/cwd/secret",
        "/proc/self/root/etc/passwd",
        "/proc/self/../self/environ",
        "/proc/self/..",
        "/proc//./self/exe",
        "/proc/thread-self/fd/0",
        "/dev/fd/3",
        "/dev/stdin",
        "/dev/stdout/",
        "/dev/../dev/stderr",
        "/nowhere/../proc/self/maps",
        "/proc/1/cwd/x",
        "/proc/1/root/etc/passwd",
        "/proc/1/exe",
        "/proc/1/fd/0",
        "/proc/1/ns/net",
        "/proc/1/map_files/x",
        "/proc/1/task/1/root/etc",
    ],
)
def test_process_relative_names_are_refused(text: str, world: HostView) -> None:
    refuse(text, world)


@pytest.mark.parametrize("text", ["/proc/mounts", "/proc/net/tcp"])
def test_system_links_through_the_process_are_refused(text: str) -> None:
    refuse(text)


def test_a_symlink_to_a_process_relative_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "direct").symlink_to("/proc/self/cwd")
    (tmp_path / "relative").symlink_to("../" * 40 + "dev/fd")
    (tmp_path / "chained").symlink_to("direct")
    for name in ("direct", "relative", "chained"):
        refuse(f"{tmp_path}/{name}/x")


def test_our_own_process_by_number_is_refused() -> None:
    refuse(f"/proc/{os.getpid()}/environ")
    refuse(f"/proc/{os.getpid()}")
    refuse(f"/proc/{os.getpid()}/task/{threading.get_native_id()}/status")


def test_a_thread_of_ours_by_its_hidden_number_is_refused() -> None:
    done, ids = threading.Event(), []
    ready = threading.Event()

    def wait() -> None:
        ids.append(threading.get_native_id())
        ready.set()
        done.wait()

    thread = threading.Thread(target=wait)
    thread.start()
    ready.wait()
    try:
        refuse(f"/proc/{ids[0]}/status")
    finally:
        done.set()
        thread.join()


@pytest.fixture
def family() -> Iterator[tuple[int, int]]:
    """Yield the process ids of a child of ours and of a grandchild."""
    script = (
        "import subprocess, sys; p = subprocess.Popen(['cat']); print(p.pid, flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        yield child.pid, int(child.stdout.readline())
        child.communicate()


def test_processes_that_we_started_are_refused(family: tuple[int, int]) -> None:
    for pid in family:
        refuse(f"/proc/{pid}/status")
        refuse(f"/proc/{pid}/anything/missing")


@pytest.mark.parametrize(
    "text", ["/proc/1/status", "/proc", "/proc/sys/kernel", "/dev/null", "/proc/selfish", "/dev/fdx"]
)
def test_what_is_the_same_to_everyone_stays_usable(text: str) -> None:
    assert Resolver(DISK, home="/nowhere").resolve(text, None) == text


def test_a_process_that_does_not_exist_is_a_missing_path() -> None:
    beyond = int(Path("/proc/sys/kernel/pid_max").read_text(encoding="ascii")) + 1
    assert Resolver(DISK, home="/nowhere").resolve(f"/proc/{beyond}/status", None) == f"/proc/{beyond}/status"
