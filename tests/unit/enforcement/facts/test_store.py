"""Totals of callers in a store: exact, booked once, never taken from who did not write them."""

from __future__ import annotations

import resource
import sqlite3
import threading
from decimal import Decimal
from pathlib import Path

import pytest

from ironcurtain.enforcement.facts.sqlite_store import SqliteStore
from ironcurtain.enforcement.facts.store import StoreError, TotalKey, TotalsStore

KEY = b"k" * 32
PAID = TotalKey("sha256:a", "paid:0011", "2026-11-23")
SENT = TotalKey("sha256:a", "sent:0022", "2026-11-23")
ZERO = Decimal(0)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "state" / "totals.sqlite"


@pytest.fixture
def store(file: Path) -> SqliteStore:
    return SqliteStore(file, KEY)


def book(store: TotalsStore, key: TotalKey, amount: str) -> bool:
    return store.book(store.totals([key]), {key: Decimal(amount)})


def test_nothing_is_booked_at_first(store: TotalsStore) -> None:
    assert store.totals([PAID, SENT]) == {PAID: ZERO, SENT: ZERO}


def test_what_is_booked_is_there_for_the_next_gateway(store: TotalsStore, file: Path) -> None:
    assert book(store, PAID, "0.1")
    assert book(store, PAID, "0.2")
    assert SqliteStore(file, KEY).totals([PAID]) == {PAID: Decimal("0.3")}


def test_a_booking_on_a_total_that_is_gone_is_refused_whole(store: TotalsStore) -> None:
    seen = store.totals([PAID, SENT])
    assert book(store, PAID, "600")
    assert not store.book(seen, {PAID: Decimal(600), SENT: Decimal(1)})
    assert store.totals([PAID, SENT]) == {PAID: Decimal(600), SENT: ZERO}


def test_callers_counters_and_windows_have_totals_of_their_own(store: TotalsStore) -> None:
    assert book(store, PAID, "5")
    others = [
        TotalKey("sha256:b", PAID.counter, PAID.window),
        TotalKey(PAID.caller, PAID.counter, "2026-11-24"),
    ]
    assert set(store.totals(others).values()) == {ZERO}


def test_of_bookings_at_once_none_is_lost(store: TotalsStore, file: Path) -> None:
    done: list[bool] = []

    def work() -> None:
        own = SqliteStore(file, KEY)
        for _ in range(10):
            while not book(own, PAID, "1"):
                pass
            done.append(True)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert store.totals([PAID]) == {PAID: Decimal(len(done))} == {PAID: Decimal(40)}


@pytest.mark.parametrize("total", ["1", "0", "-500", "NaN", ""])
def test_a_total_that_somebody_else_wrote_is_refused(store: TotalsStore, file: Path, total: str) -> None:
    assert book(store, PAID, "900")
    with sqlite3.connect(file) as database:
        database.execute("UPDATE totals SET total = ?", (total,))
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


def test_a_file_that_stays_locked_is_an_error(
    store: TotalsStore, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ironcurtain.enforcement.facts.sqlite_store._PATIENCE", 0.05)
    seen = store.totals([PAID])
    holder = sqlite3.connect(file, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    try:
        with pytest.raises(StoreError):
            store.book(seen, {PAID: Decimal(1)})
    finally:
        holder.close()
    assert store.totals([PAID]) == {PAID: ZERO}


def test_a_sum_that_cannot_be_kept_is_an_error_and_books_nothing(store: TotalsStore) -> None:
    assert book(store, PAID, str(2**53 - 1))
    with pytest.raises(StoreError, match="too large"):
        book(store, PAID, "1")
    assert store.totals([PAID]) == {PAID: Decimal(2**53 - 1)}
