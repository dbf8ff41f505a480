from __future__ import annotations

import stat
from pathlib import Path

import pytest

from ironcurtain.cli.run.proxy import command
from ironcurtain.enforcement.audit.log_paths import LIMIT, MAX_BYTES, make_key, read_key
from ironcurtain.errors import FileError


def test_a_key_is_made_once_and_private(tmp_path: Path) -> None:
    path = tmp_path / "own" / "audit.key"
    key = make_key(path)
    assert len(key) == 32
    assert make_key(path) == read_key(path) == key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert make_key(tmp_path / "other") != key


def test_the_command_has_the_limits_of_the_log() -> None:
    defaults = {option.name: option.default for option in command.params}
    assert (defaults["audit_max_bytes"], defaults["audit_limit"]) == (MAX_BYTES, LIMIT)


@pytest.mark.parametrize("text", ["", "00", "zz" * 32, "00" * 33, "é" * 32])
def test_what_is_no_key(text: str, tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(FileError, match="hexadecimal"):
        read_key(path)


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text("00" * 32)
    path.chmod(0o640)
    with pytest.raises(FileError, match="others can read"):
        read_key(path)
