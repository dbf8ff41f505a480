"""Ways to put the approvals directory or its key where somebody else decides, each by name.

Held by: a private directory, opened once and used through its descriptor, and a private key; both outside
what tools and servers reach.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from support.machines.access_lists import OTHER, access
from support.records.approvals import Rendezvous, summary, written

from ironcurtain.enforcement.approvals.broker_directory import ApprovalDirectory
from ironcurtain.enforcement.approvals.request import Clock
from ironcurtain.errors import ApprovalsError

pytestmark = pytest.mark.anyio
LONG = 60.0
LISTED = r"others can write a directory above .* by its access list"


@pytest.fixture
def place(tmp_path: Path) -> Rendezvous:
    return Rendezvous(tmp_path, Clock())


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o755, 0o701], ids="{:o}".format)
def test_a_directory_that_others_can_enter(place: Rendezvous, mode: int) -> None:
    place.path.mkdir()
    place.path.chmod(mode)
    with pytest.raises(ApprovalsError, match="by others"):
        place.open()


def test_a_directory_below_one_that_others_can_write(place: Rendezvous) -> None:
    shared = place.base / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(ApprovalsError, match="others can write a directory"):
        ApprovalDirectory.open(shared / "approvals", place.key)
    with pytest.raises(ApprovalsError, match="others can write a directory"):
        ApprovalDirectory.open(place.path, shared / "key")


def test_a_directory_below_one_that_an_access_list_opens(place: Rendezvous) -> None:
    """Its group may be ours alone: then its mode alone would say that nobody else can write it."""
    shared = place.base / "shared"
    shared.mkdir(mode=0o700)
    access(shared, user=OTHER)
    with pytest.raises(ApprovalsError, match=LISTED):
        ApprovalDirectory.open(shared / "approvals", place.key)
    with pytest.raises(ApprovalsError, match=LISTED):
        ApprovalDirectory.open(place.path, shared / "key")


def test_a_directory_that_is_a_symlink(place: Rendezvous) -> None:
    (place.base / "real").mkdir(mode=0o700)
    place.path.symlink_to(place.base / "real")
    with pytest.raises(ApprovalsError, match="cannot be used"):
        place.open()


@pytest.mark.parametrize("where", ["sandbox/approvals", "sandbox", ".", "link/approvals"])
@pytest.mark.parametrize("what", ["directory", "key"])
def test_a_place_within_reach_of_the_agent(place: Rendezvous, where: str, what: str) -> None:
    sandbox = place.base / "sandbox"
    sandbox.mkdir(mode=0o700)
    (place.base / "link").symlink_to(sandbox)
    reached = place.base / where
    path, key = (reached, place.key) if what == "directory" else (place.path, reached)
    with pytest.raises(ApprovalsError, match="must lie apart"):
        ApprovalDirectory.open(path, key, reachable=[sandbox])


async def test_a_directory_swapped_while_a_call_waits(place: Rendezvous) -> None:
    request = written()
    with place.open() as directory:
        await directory.ask(request)
        content = place.sealed_answer(request)
        place.path.rename(place.base / "moved")
        place.path.mkdir(mode=0o700)
        place.response(request.id).write_bytes(content)
        outcome = await directory.obtain(written(), LONG)
        assert summary(outcome) == ("no-approver", "directory")
        assert "replaced" in outcome.reason


async def test_a_directory_opened_to_others_while_a_call_waits(place: Rendezvous) -> None:
    with place.open() as directory:
        await directory.ask(written())
        place.path.chmod(0o777)
        assert summary(await directory.obtain(written(), LONG)) == ("no-approver", "directory")
        assert summary(await directory.obtain(written("/srv/other"), LONG)) == ("no-approver", "directory")


def _hard_link(place: Rendezvous) -> None:
    os.link(place.key, place.base / "second-name")


def _readable(place: Rendezvous) -> None:
    place.key.chmod(0o644)


def _linked_key(place: Rendezvous) -> None:
    place.key.rename(place.base / "elsewhere")
    place.key.symlink_to(place.base / "elsewhere")


def _short(place: Rendezvous) -> None:
    place.key.write_bytes(b"")


def _long(place: Rendezvous) -> None:
    place.key.write_bytes(b"x" * 33)


def _key_fifo(place: Rendezvous) -> None:
    place.key.unlink()
    os.mkfifo(place.key, 0o600)


KEYS: dict[str, tuple[Callable[[Rendezvous], None], str]] = {
    "hard-linked": (_hard_link, "second name"),
    "readable by others": (_readable, "read by others"),
    "symlinked": (_linked_key, "cannot be opened"),
    "empty": (_short, "not 32 bytes"),
    "too long": (_long, "not 32 bytes"),
    "a FIFO": (_key_fifo, "no regular file"),
}


@pytest.mark.parametrize("key", KEYS)
def test_a_key_that_cannot_be_trusted(place: Rendezvous, key: str) -> None:
    spoil, why = KEYS[key]
    place.open().close()
    spoil(place)
    with pytest.raises(ApprovalsError, match=why):
        place.open()
    with pytest.raises(ApprovalsError, match=why):
        place.desk()


def test_key_and_files_are_private(place: Rendezvous) -> None:
    old = os.umask(0)
    try:
        with place.open() as directory:
            directory._store.write_request(written())
    finally:
        os.umask(old)
    assert place.path.stat().st_mode & 0o777 == 0o700
    assert place.key.stat().st_mode & 0o777 == 0o600
    assert {file.stat().st_mode & 0o777 for file in place.path.iterdir()} == {0o600}
