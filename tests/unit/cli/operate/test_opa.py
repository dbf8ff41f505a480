"""`ironcurtain opa`: results on stdout, in both formats; `which` installs nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from ironcurtain.cli.operate.opa import command
from ironcurtain.engine.locate import find, pin
from ironcurtain.errors import EngineMissingError


def printed(*arguments: str) -> str:
    result = CliRunner().invoke(command, list(arguments), catch_exceptions=False, standalone_mode=False)
    return result.stdout


def test_which_prints_the_path() -> None:
    assert printed("which") == f"{find().path}\n"


def test_which_as_json() -> None:
    opa = find()
    assert json.loads(printed("which", "--format", "json")) == {
        "path": str(opa.path),
        "version": opa.version,
        "origin": opa.origin,
    }


def test_version_names_the_pinned_one_too() -> None:
    assert printed("version") == f"{find().version} (at least {pin().version} is required)\n"
    assert json.loads(printed("version", "--format", "json")) == {
        "version": find().version,
        "pinned": pin().version,
    }


def test_configured_path_is_used_and_never_skipped(tmp_path: Path) -> None:
    assert (
        json.loads(printed("which", "--opa", str(find().path), "--format", "json"))["origin"] == "configured"
    )
    with pytest.raises(EngineMissingError):
        printed("which", "--opa", str(tmp_path / "gone"))


def test_which_installs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(EngineMissingError):
        printed("which")
    assert list(tmp_path.iterdir()) == []


def test_installed_one_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    place = tmp_path / "ironcurtain" / "opa" / pin().version
    place.mkdir(parents=True)
    (place / "opa").write_text(f"#!/bin/sh\necho 'Version: {pin().version}'\n")
    (place / "opa").chmod(0o755)
    assert printed("install") == f"{place / 'opa'}\n"
