"""Attack: a server reads or writes the memory of the proxy, or takes hold of it, by the kernel's means.

Held by: namespaces of processes; nothing at all where a server has no sandbox, as the same test shows.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.machines.contained import NEEDS_SANDBOX, Scene

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="these are Linux' means")
SECRET = b"a secret in our memory"
VICTIM = """
import ctypes, sys, time
kept = ctypes.create_string_buffer(b"a secret in our memory")
print(ctypes.addressof(kept), flush=True)
time.sleep(600)
"""
TRIES = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
pid, address, length = map(int, sys.argv[1:])
def told(what, came): sys.stderr.write(f"{what}: {came!r}\\n")
def memory():
    with open(f"/proc/{pid}/mem", "rb") as file:
        file.seek(address)
        return file.read(length)
def vectors():
    class Part(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
    here = ctypes.create_string_buffer(length)
    mine, theirs = Part(ctypes.cast(here, ctypes.c_void_p), length), Part(address, length)
    libc.process_vm_readv(pid, ctypes.byref(mine), 1, ctypes.byref(theirs), 1, 0)
    return here.raw
def attached():
    number = libc.ptrace(0x4206, pid, 0, 0)
    libc.ptrace(17, pid, 0, 0)
    return "a tracer" if number == 0 else ""
def handle(): return "a handle" if os.pidfd_open(pid) else ""
def signalled(): os.kill(pid, 0); return "a signal"
for way in (memory, vectors, attached, handle, signalled):
    try:
        told(way.__name__, way())
    except OSError as error:
        told(way.__name__, error.strerror)
told("inherited", sorted(os.readlink(f"/proc/self/fd/{n}").partition(":")[0] for n in range(3, 20)
    if os.path.exists(f"/proc/self/fd/{n}")))
try:
    os.open("/dev/tty", os.O_RDWR)
    told("terminal", "opened")
except OSError as error:
    told("terminal", error.strerror)
"""
GOT = ("a secret in our memory", "a tracer", "a handle", "a signal", "opened")


@pytest.fixture
def victim() -> Iterator[tuple[int, str]]:
    """Yield a process of ours beside, and where in its memory the secret lies."""
    with subprocess.Popen([sys.executable, "-c", VICTIM], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        try:
            yield run.pid, run.stdout.readline().strip()
        finally:
            run.kill()


def tried(root: Path, victim: tuple[int, str], **server: object) -> dict[str, str]:
    pid, address = victim
    words = ["-c", TRIES, str(pid), address, str(len(SECRET))]
    said = Scene(root / "scene").run("", command=sys.executable, args=words, **server)
    return dict(line.split(": ", 1) for line in said)


@NEEDS_SANDBOX
def test_a_contained_server_finds_no_process_no_descriptor_and_no_terminal(
    tmp_path: Path, victim: tuple[int, str]
) -> None:
    found = tried(tmp_path, victim)
    assert found.keys() >= {"memory", "vectors", "attached", "handle", "signalled", "inherited", "terminal"}
    assert not [name for name, came in found.items() if any(got in came for got in GOT)]
    assert found["inherited"] == "[]"


def test_an_uncontained_server_is_held_by_nothing_of_ours(tmp_path: Path, victim: tuple[int, str]) -> None:
    """As SECURITY.md says: a process of the same user. Some systems let it trace only what it started."""
    found = tried(tmp_path, victim, sandbox=False)
    assert "a signal" in found["signalled"]
    assert "a handle" in found["handle"]
