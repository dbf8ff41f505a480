"""What the operating system refuses is never an approval, and never uses one up."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.records.approvals import Rendezvous, summary, written

from ironcurtain.enforcement.approvals.key import ApprovalKey
from ironcurtain.enforcement.approvals.request import Clock
from ironcurtain.errors import ApprovalsError

pytestmark = pytest.mark.anyio


@pytest.fixture
def place(tmp_path: Path) -> Rendezvous:
    return Rendezvous(tmp_path, Clock())


@contextmanager
def no_space() -> Iterator[None]:
    """Let no file of this process grow: writing then fails as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_no_space_for_the_request(place: Rendezvous) -> None:
    with place.open() as directory:
        with no_space():
            outcome = await directory.obtain(written(), 0)
        assert summary(outcome) == ("no-approver", "directory")
        assert place.names() == []
        assert summary(await directory.obtain(written(), 0)) == ("pending", None)


async def test_no_space_for_the_mark(place: Rendezvous) -> None:
    """What cannot be marked as used is not used, and is not lost."""
    request = written()
    with place.open() as directory:
        await directory.ask(request)
        assert place.answer(request) == "recorded"
        with no_space():
            assert summary(await directory.obtain(written(), 0)) == ("no-approver", "directory")
        assert summary(await directory.obtain(written(), 0)) == ("approved", None)


async def test_the_directory_is_gone(place: Rendezvous) -> None:
    with place.open() as directory:
        place.path.rmdir()
        assert summary(await directory.obtain(written(), 60.0)) == ("no-approver", "directory")


def test_programs_that_start_at_once_have_one_key(place: Rendezvous) -> None:
    with ThreadPoolExecutor(8) as threads:
        keys = list(threads.map(lambda _: ApprovalKey.read_or_make(place.key), range(8)))
    digest = f"sha256:{'0' * 64}"
    assert len({key.seal("kind", digest) for key in keys}) == 1
    assert keys[0].seal("other", digest) != keys[0].seal("kind", digest)
    assert [entry.name for entry in place.base.iterdir()] == [place.key.name]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("what", ["path", "key"])
def test_what_belongs_to_another_user(place: Rendezvous, what: str) -> None:
    place.open().close()
    os.chown(getattr(place, what), 1234, -1)
    with pytest.raises(ApprovalsError, match="belongs to another user"):
        place.open()
    with pytest.raises(ApprovalsError, match="belongs to another user"):
        place.desk()
