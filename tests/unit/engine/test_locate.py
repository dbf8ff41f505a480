"""Finding OPA: the order, and what is refused on the way. Wrong ones are small real executables."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ironcurtain.engine.locate import examine, find, parse_version, pin
from ironcurtain.errors import EngineMissingError, EngineVersionError


def fake(directory: Path, says: str, *, status: int = 0, name: str = "opa") -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / name
    path.write_text(f"#!/bin/sh\nprintf '%s\\n' '{says}'\nexit {status}\n")
    path.chmod(0o755)
    return path


def version_says(version: str) -> str:
    return f"Version: {version}"


def test_real_opa_on_path_is_found() -> None:
    found = find(cache=Path("/nonexistent"))
    assert (found.origin, found.path.name) == ("path", "opa")
    assert parse_version(found.version) >= parse_version(pin().version)


def test_order_is_configured_then_path_then_cache(tmp_path: Path) -> None:
    configured = fake(tmp_path / "configured", version_says("1.30.0"), name="my-opa")
    on_path = fake(tmp_path / "bin", version_says("1.29.0"))
    cached = fake(tmp_path / "cache", version_says("1.28.0"))
    search_path = str(tmp_path / "bin")
    first = find(configured, search_path=search_path, cache=tmp_path / "cache")
    second = find(search_path=search_path, cache=tmp_path / "cache")
    third = find(search_path=str(tmp_path / "empty"), cache=tmp_path / "cache")
    assert [(o.path, o.version, o.origin) for o in (first, second, third)] == [
        (configured, "1.30.0", "configured"),
        (on_path, "1.29.0", "path"),
        (cached, "1.28.0", "cache"),
    ]


def test_too_old_on_path_gives_way_to_the_next_one(tmp_path: Path) -> None:
    fake(tmp_path / "old", version_says("1.21.2"))
    good = fake(tmp_path / "new", version_says(pin().version))
    search_path = f"{tmp_path / 'old'}{os.pathsep}{tmp_path / 'new'}"
    assert find(search_path=search_path, cache=tmp_path / "none").path == good


def test_error_names_every_refused_one_and_why(tmp_path: Path) -> None:
    fake(tmp_path / "old", version_says("1.21.2"))
    fake(tmp_path / "cache", version_says("0.70.0"))
    with pytest.raises(EngineVersionError) as caught:
        find(search_path=str(tmp_path / "old"), cache=tmp_path / "cache")
    for part in (
        str(tmp_path / "old/opa"),
        "1.21.2",
        "GHSA-g2pf-6v5v-qcc8",
        str(tmp_path / "cache/opa"),
        "0.70.0",
    ):
        assert part in caught.value.what
    assert "ironcurtain opa install" in caught.value.hint


def test_bad_configured_path_is_never_skipped(tmp_path: Path) -> None:
    with pytest.raises(EngineMissingError):
        find(tmp_path / "missing")
    with pytest.raises(EngineVersionError):
        find(fake(tmp_path, version_says("1.0.0")))


def test_nothing_found_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(EngineMissingError, match="no OPA was found") as caught:
        find(search_path=str(tmp_path), cache=tmp_path)
    assert "ironcurtain opa install" in caught.value.hint


@pytest.mark.parametrize("entry", ["", ".", "bin"])
def test_relative_path_entry_cannot_choose_the_engine(
    tmp_path: Path, entry: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(tmp_path, version_says("9.0.0"))
    fake(tmp_path / "bin", version_says("9.0.0"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EngineMissingError):
        find(search_path=entry, cache=tmp_path / "none")


@pytest.mark.parametrize(
    ("says", "status", "reason"),
    [
        ("Version: 1.22.1", 0, "rego|older than the required"),
        ("Version: 1.22.2-rc1", 0, "older than the required"),
        ("Version: 1.22.2", 3, "no OPA"),
        ("OCaml compiler 4.0", 0, "no OPA"),
        ("", 0, "no OPA"),
        ("Version: newest", 0, "calls its version"),
        ("Version: 1.22.2.evil", 0, "calls its version"),
        ("Version: 1.22.\x1b[2J", 0, "calls its version"),
    ],
)
def test_refused_executables(tmp_path: Path, says: str, status: int, reason: str) -> None:
    with pytest.raises(EngineVersionError, match=reason) as caught:
        examine(fake(tmp_path, says, status=status), "configured")
    assert "\x1b" not in caught.value.what


@pytest.mark.parametrize("version", ["1.22.2", "v1.22.2", "1.22.3", "1.23.0-dev", "1.23.0", "2.0.0"])
def test_accepted_versions(tmp_path: Path, version: str) -> None:
    assert examine(fake(tmp_path, version_says(version)), "configured").version == version


def test_file_that_is_no_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "opa"
    path.write_bytes(b"\x7fELF not really")
    path.chmod(0o755)
    with pytest.raises(EngineVersionError, match="does not run"):
        examine(path, "configured")


def test_environment_of_ours_does_not_reach_the_candidate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPA_SECRET", "1.99.0")
    path = tmp_path / "opa"
    path.write_text('#!/bin/sh\necho "Version: ${OPA_SECRET:-1.22.2}"\n')
    path.chmod(0o755)
    assert examine(path, "configured").version == "1.22.2"
