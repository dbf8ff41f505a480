"""Totals in a file: never taken from who did not write them."""

from __future__ import annotations

import resource
import shutil
import sqlite3
from decimal import Decimal
from pathlib import Path

import pytest

from ironcurtain.enforcement.facts.totals.sqlite_store import SqliteStore
from ironcurtain.enforcement.facts.totals.store import StoreError, TotalKey, TotalsStore

KEY = b"k" * 32
PAID = TotalKey("sha256:a", "paid:0011", "2026-11-23")
ZERO = Decimal(0)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "state" / "totals.sqlite"


@pytest.fixture
def store(file: Path) -> SqliteStore:
    return SqliteStore(file, KEY)


def book(store: TotalsStore, key: TotalKey, amount: str) -> bool:
    return store.book(store.totals([key]), {key: Decimal(amount)})


@pytest.mark.parametrize("total", ["1", "0", "-500", "NaN", ""])
def test_a_total_that_somebody_else_wrote_is_refused(store: TotalsStore, file: Path, total: str) -> None:
    assert book(store, PAID, "900")
    with sqlite3.connect(file) as database:
        database.execute("UPDATE totals SET total = ?", (total,))
    with pytest.raises(StoreError):
        store.totals([PAID])


@pytest.mark.parametrize("code", ["é", "", b"\xff"])
def test_a_code_that_nobody_wrote_is_refused(store: TotalsStore, file: Path, code: str | bytes) -> None:
    assert book(store, PAID, "900")
    with sqlite3.connect(file) as database:
        database.execute("UPDATE totals SET code = ?", (code,))
    with pytest.raises(StoreError):
        store.totals([PAID])


def test_a_total_moved_to_another_caller_is_refused(store: TotalsStore, file: Path) -> None:
    assert book(store, PAID, "1")
    with sqlite3.connect(file) as database:
        database.execute("UPDATE totals SET caller = 'sha256:b'")
    with pytest.raises(StoreError):
        store.totals([TotalKey("sha256:b", PAID.counter, PAID.window)])


def test_a_damaged_file_is_an_error(store: TotalsStore, file: Path) -> None:
    assert book(store, PAID, "1")
    for part in (file, file.with_name(f"{file.name}-wal")):
        part.write_bytes(b"no database" * 10_000)
    with pytest.raises(StoreError):
        store.totals([PAID])


def test_a_file_that_is_replaced_is_not_taken_for_the_old_one(store: TotalsStore, file: Path) -> None:
    assert book(store, PAID, "900")
    for part in file.parent.iterdir():
        part.unlink()
    assert store.totals([PAID]) == {PAID: ZERO}  # a gateway that remembers more refuses this


def test_on_a_full_disk_nothing_is_booked(store: TotalsStore) -> None:
    assert book(store, PAID, "1")
    seen = store.totals([PAID])
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, limits[1]))
    try:
        with pytest.raises(StoreError):
            store.book(seen, {PAID: Decimal(1)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert store.totals([PAID]) == seen
    assert book(store, PAID, "1")


def test_a_file_that_others_can_use_is_an_error(store: TotalsStore, file: Path) -> None:
    assert book(store, PAID, "1")
    file.chmod(0o644)
    with pytest.raises(StoreError, match="others"):
        store.totals([PAID])


def test_a_link_in_the_place_of_the_file_is_an_error(store: TotalsStore, file: Path, tmp_path: Path) -> None:
    file.parent.mkdir()
    (tmp_path / "other").touch()
    file.symlink_to(tmp_path / "other")
    with pytest.raises(StoreError):
        store.totals([PAID])


def test_a_directory_that_others_can_write_is_an_error(
    store: TotalsStore, file: Path, tmp_path: Path
) -> None:
    """A link to it stands in the place of the store's own: others could put an earlier copy there."""
    assert book(store, PAID, "1")
    elsewhere = tmp_path / "elsewhere"
    file.parent.rename(tmp_path / "before")
    shutil.copytree(tmp_path / "before", elsewhere)
    file.parent.symlink_to(elsewhere)
    elsewhere.chmod(0o777)
    with pytest.raises(StoreError, match="in its place"):
        store.totals([PAID])


def test_a_file_that_stays_locked_is_an_error(file: Path) -> None:
    store = SqliteStore(file, KEY, patience=0.05)
    seen = store.totals([PAID])
    holder = sqlite3.connect(file, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    try:
        with pytest.raises(StoreError):
            store.book(seen, {PAID: Decimal(1)})
    finally:
        holder.close()
    assert store.totals([PAID]) == {PAID: ZERO}
