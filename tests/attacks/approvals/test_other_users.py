"""Another user of this machine goes for the approvals directory: a real one, with a user id of its own.

Held by: a directory and a key that belong to us alone, and are looked at once they are open, not before; and
seals, for what lay there while others could write it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e.program import Ended, in_process
from support.records.approvals import Rendezvous, summary, written

from ironcurtain.enforcement.approvals.request import Clock
from ironcurtain.errors import ApprovalsError

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user"),
]
NOBODY = 65534
STRANGER = f"""
import json, os, shutil, sys, time
os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY}); os.umask(0)
path, key, response, request = map(os.fspath, sys.argv[1:5])
"""
REACHES = """
def write(place): open(place, "w").write("approved")
tries = {
    "list": lambda: os.listdir(path), "read the key": lambda: open(key, "rb").read(),
    "read a request": lambda: open(request).read(), "write an answer": lambda: write(response),
    "write a request": lambda: write(request), "write the key": lambda: write(key),
    "link an answer": lambda: os.link(path + ".theirs", response),
    "link to an answer": lambda: os.symlink(path + ".theirs", response),
    "give it another name": lambda: os.link(request, os.path.dirname(path) + "/second"),
    "second name of the key": lambda: os.link(key, os.path.dirname(path) + "/second-key"),
    "swap the directory": lambda: os.rename(path, path + ".old"),
    "swap the key": lambda: os.rename(key, key + ".old"),
    "open it": lambda: os.chmod(path, 0o777), "remove it": lambda: os.rmdir(path),
    "remove the key": lambda: os.unlink(key),
}
done = []
write(path + ".theirs")
for name, attempt in tries.items():
    try:
        attempt()
    except PermissionError:
        continue
    except OSError as error:
        name += f" ({error})"
    done.append(name)
print(json.dumps(done))
"""


@pytest.fixture
def shared() -> Iterator[Rendezvous]:
    """A directory that everybody can write, as /tmp is, with nothing in it."""
    base = Path(tempfile.mkdtemp(dir="/tmp"))
    base.chmod(0o1777)
    yield Rendezvous(base, Clock())
    shutil.rmtree(base)


def as_another(place: Rendezvous, does: str, id_: str = "0" * 16) -> str:
    """Run a program as another user; return what it prints."""
    given = [str(each) for each in (place.path, place.key, place.response(id_), place.request_file(id_))]
    ended = subprocess.run(
        [sys.executable, "-I", "-c", STRANGER + does, *given], stdout=subprocess.PIPE, text=True, check=True
    )
    return ended.stdout


def listed(place: Rendezvous, *words: str) -> Ended:
    """Run a command of `approvals` on a directory."""
    where = ("--dir", str(place.path), "--key", str(place.key))
    return in_process("approvals", *words, *where, cwd=place.base)


async def test_what_another_user_does_in_a_directory_that_all_can_write(shared: Rendezvous) -> None:
    request = written()
    with shared.open() as directory:
        await directory.ask(request)
        assert json.loads(as_another(shared, REACHES, request.id)) == []
        assert shared.answer(request) == "recorded"
        assert (await directory.obtain(request, 5)).approved


PLACED = {
    "a directory of theirs": "os.mkdir(path, 0o700)",
    "a directory of theirs that we can write": "os.mkdir(path, 0o777)",
    "a link to a directory of theirs": "os.mkdir(path + '.x', 0o700); os.symlink(path + '.x', path)",
    "a link to one of ours": "os.symlink('/root', path)",
    "a link to nothing": "os.symlink(path + '.x', path)",
    "a file": "open(path, 'w').close()",
    "a FIFO": "os.mkfifo(path)",
    "a key of theirs": "open(key, 'wb').write(b'k' * 32); os.chmod(key, 0o600)",
    "a key that all can read": "open(key, 'wb').write(b'k' * 32)",
    "a link to a key of theirs": "open(key + '.x', 'wb').write(b'k' * 32); os.symlink(key + '.x', key)",
    "a second name of a key of theirs": "open(key + '.x', 'wb').write(b'k' * 32); os.link(key + '.x', key)",
    "a FIFO for the key": "os.mkfifo(key)",
}


@pytest.mark.parametrize("placed", PLACED)
def test_a_place_that_another_user_made_first(shared: Rendezvous, placed: str) -> None:
    as_another(shared, PLACED[placed])
    with pytest.raises(ApprovalsError):
        shared.open()
    if os.path.lexists(shared.path):  # without a directory nothing waits, whatever the key is
        assert listed(shared, "list").code == 2


def test_the_rendezvous_of_another_user(shared: Rendezvous) -> None:
    """All of it: directory, key, and a request that is sealed with that key."""
    with shared.open() as directory:
        directory._store.write_request(written())
    for place in (shared.path, shared.key, *shared.path.iterdir()):
        os.chown(place, NOBODY, NOBODY)
    for words in (["list"], ["--watch"], ["approve", "0", "--yes"]):
        ended = listed(shared, *words)
        assert (ended.code, "belongs to another user" in ended.err) == (2, True)
        assert "write_file" not in ended.out


RACE = """
end = time.monotonic() + 120
os.mkdir(path + ".theirs", 0o777)
while time.monotonic() < end:
    for swap in (lambda: os.symlink("/root", path), lambda: os.mkdir(path, 0o777),
                 lambda: os.symlink(path + ".theirs", path), lambda: os.rename(path, path + ".old"),
                 lambda: os.unlink(path), lambda: os.rmdir(path), lambda: os.rmdir(path + ".old")):
        try: swap()
        except OSError: pass
"""


def test_a_directory_swapped_between_look_and_use(shared: Rendezvous) -> None:
    given = [str(each) for each in (shared.path, shared.key, "", "")]
    opened = refused = 0
    least = time.monotonic() + 1
    with subprocess.Popen([sys.executable, "-I", "-c", STRANGER + RACE, *given]) as stranger:
        while stranger.poll() is None:
            if opened and refused and time.monotonic() > least:
                stranger.kill()
                break
            try:
                with shared.open() as directory:
                    directory._store.write_request(written())
                    status = os.fstat(directory._store.place._descriptor)
            except (ApprovalsError, OSError):
                refused += 1
                continue
            assert (status.st_uid, status.st_mode & 0o777) == (0, 0o700)
            opened += 1
            shutil.rmtree(shared.path)
    assert opened
    assert refused


LEFT = {
    "a file": "open(response, 'w').write('{}')",
    "a link": "os.symlink('/etc/hostname', response)",
    "a FIFO": "os.mkfifo(response)",
    "another's answer under this name": "shutil.copy(path + '/earlier', response)",
    "an answer with a second name": "os.link(path + '/theirs', response)",
}


@pytest.mark.parametrize("left", LEFT)
async def test_what_another_user_left_while_the_directory_was_open(shared: Rendezvous, left: str) -> None:
    earlier, request = written(), written(content="other")
    with shared.open() as directory:
        await directory.ask(earlier)
        sealed = shared.sealed_answer(earlier)
        shared.path.chmod(0o777)
        for name in ("earlier", "theirs"):
            (shared.path / name).write_bytes(sealed)
            (shared.path / name).chmod(0o666)
        os.chown(shared.path / "theirs", NOBODY, NOBODY)
        as_another(shared, LEFT[left], request.id)
        assert summary(await directory.obtain(request, 5)) == ("no-approver", "directory")
        shared.path.chmod(0o700)
        outcome = await directory.obtain(request, 5)
        assert (outcome.state, outcome.by) == ("invalid", None)
