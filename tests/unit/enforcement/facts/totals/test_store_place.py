"""Where totals are kept, as the command line says it; no message shows a password."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from ironcurtain.enforcement.facts.totals.store_place import StorePlace
from ironcurtain.errors import ExtraMissingError, UsageError

SECRET = "hunter2"


def test_without_a_place_it_is_a_file_of_the_users_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRONCURTAIN_HOME", str(tmp_path))
    place = StorePlace.parse(None)
    assert place.file == tmp_path / "state" / "totals.sqlite"
    assert place.server() is None


def test_all_that_a_file_brings_with_it_is_kept_from_tools(tmp_path: Path) -> None:
    names = {each.name for each in StorePlace.parse(str(tmp_path / "t.db")).files}
    assert names == {"t.db", "t.db-wal", "t.db-shm", "t.db-journal"}


@pytest.mark.parametrize(
    ("url", "name"),
    [
        (f"redis://:{SECRET}@host:6379/2", "redis://host:6379/2"),
        (f"rediss://user:{SECRET}@host", "rediss://host"),
        (f"redis://:{SECRET}@[::1]:6379", "redis://[::1]:6379"),
        ("unix:///run/redis.sock", "unix:///run/redis.sock"),
        (f"unix://:{SECRET}@/run/redis.sock", "unix:///run/redis.sock"),
    ],
)
def test_a_server_is_named_without_its_password(url: str, name: str) -> None:
    place = StorePlace.parse(url)
    assert (place.name, place.file, place.files) == (name, None, ())
    assert SECRET not in repr(place)


@pytest.mark.parametrize(
    "url",
    [
        f"http://:{SECRET}@host",
        f"redis://:{SECRET}@",
        f"redis://:{SECRET}@host/notes",
        f"redis://:{SECRET}@host:port",
        f"redis://:{SECRET}@host?retry_on_timeout=yes",
        f"redis://:{SECRET}@host:6379#1",
        f"redis://:{SECRET}@[::1",
        "unix://",
    ],
)
def test_what_is_no_place_is_told_without_the_password(url: str) -> None:
    with pytest.raises(UsageError) as told:
        StorePlace.parse(url)
    assert SECRET not in f"{told.value} {told.value.where} {told.value.hint} {told.value.__context__}"


def test_without_the_extra_a_server_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ExtraMissingError, match="redis"):
        StorePlace.parse("redis://host")
