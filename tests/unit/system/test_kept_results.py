"""What is kept reads as it was; an editor's files beside our code do no harm."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ironcurtain.system import assets
from ironcurtain.system.frozen import Frozen, JsonValue
from ironcurtain.system.kept_results import file_state, keep, own_code, read_kept


class Result(Frozen):
    value: JsonValue


@pytest.mark.parametrize("value", [1, 1.5, "a", None, [{"a": True}]])
def test_a_result_reads_as_it_was(tmp_path: Path, value: JsonValue) -> None:
    keep(tmp_path / "a.json", Result(value=value))
    assert read_kept(tmp_path / "a.json", Result) == Result(value=value)


def test_a_file_has_another_state_when_it_was_written_again_or_is_gone(tmp_path: Path) -> None:
    file, link = tmp_path / "a.py", tmp_path / ".#a.py"
    file.write_text("a")
    link.symlink_to("somebody@somewhere.1")
    first = file_state([file, link])
    assert file_state([file, link]) == first
    file.write_text("bc")
    second = file_state([file, link])
    file.unlink()
    third = file_state([file, link])
    assert first != second != third != first


def test_the_state_of_our_code_can_always_be_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".#notes.rego").symlink_to("somebody@somewhere.1")
    monkeypatch.setattr(assets, "OPA", tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "nowhere"), __file__])
    own_code.cache_clear()
    first = own_code()
    (tmp_path / "notes.rego").write_text("package notes")
    own_code.cache_clear()
    second = own_code()
    own_code.cache_clear()
    assert first != second
