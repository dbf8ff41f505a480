"""Attack: read or leave keys in the kernel's keyrings, which a session's processes share in any sandbox.

Held by: a session keyring for each server, the sandbox's user namespace, and nothing in the place of the
lists of keys in `/proc`.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.machines.contained import NEEDS_SANDBOX, Scene

MACHINE = {"x86_64": (248, 250), "aarch64": (217, 219)}
SESSION, UNLINK = -3, 9
LOOK = """
import ctypes, sys
add_key, keyctl, name = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3].encode()
libc = ctypes.CDLL(None, use_errno=True)
rings = {"thread": -1, "process": -2, "session": -3, "user": -4, "user session": -5}
for ring, number in rings.items():
    for description in (name, b"left-" + name):
        if libc.syscall(keyctl, 10, number, b"user", description, 0) != -1:
            sys.stderr.write(f"found {description.decode()} in {ring}\\n")
for number in rings.values():
    libc.syscall(add_key, b"user", b"left-" + name, b"payload", 7, number)
sys.stderr.write("looked\\n")
"""

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or os.uname().machine not in MACHINE, reason="there are no keyrings to look at"
)


@pytest.fixture
def name(tmp_path: Path) -> Iterator[str]:
    """Yield the name of a key of our own session."""
    add_key, keyctl = MACHINE[os.uname().machine]
    libc = ctypes.CDLL(None, use_errno=True)
    made = f"secret-of-{tmp_path.name}"
    key = libc.syscall(add_key, b"user", made.encode(), b"payload", 7, SESSION)
    if key == -1:
        pytest.skip(f"the kernel gives us no keys: {os.strerror(ctypes.get_errno())}")
    yield made
    libc.syscall(keyctl, UNLINK, key, SESSION)


def look(scene: Scene, name: str, **server: object) -> list[str]:
    numbers = [str(number) for number in MACHINE[os.uname().machine]]
    return scene.run("", command=sys.executable, args=["-c", LOOK, *numbers, name], **server)


@NEEDS_SANDBOX
def test_a_contained_server_finds_no_key_of_ours_nor_of_the_server_before(tmp_path: Path, name: str) -> None:
    scene = Scene(tmp_path / "scene")
    assert look(scene, name) == ["looked"]
    assert look(scene, name) == ["looked"]


def test_an_uncontained_server_has_a_session_keyring_of_its_own(tmp_path: Path, name: str) -> None:
    """The keyrings of its user it shares with all that the user runs."""
    scene = Scene(tmp_path / "scene")
    look(scene, name, sandbox=False)
    found = look(scene, name, sandbox=False)
    assert found[-1] == "looked"
    assert not [line for line in found if f" {name} " in line or line.endswith("in session")]


LISTS = """
import sys
for name in ("/proc/keys", "/proc/key-users"):
    try:
        said = open(name).read()
    except OSError as error:
        said = error.strerror
    sys.stderr.write(f"{name}: {said}\\n")
sys.stderr.write("read\\n")
"""


@NEEDS_SANDBOX
def test_a_contained_server_sees_no_names_and_sizes_of_keys(tmp_path: Path, name: str) -> None:
    assert name in Path("/proc/keys").read_text()
    found = Scene(tmp_path / "scene").run("", command=sys.executable, args=["-c", LISTS])
    assert found[-1] == "read"
    assert len(found) == 3
    assert not [line for line in found if name in line or "keyring" in line or "/" in line.partition(": ")[2]]
