"""Where files of ours lie is named, and nothing that is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from ironcurtain.integrations.doctor.checks import places
from ironcurtain.integrations.doctor.installation import Installation


def test_the_directories_that_are_there_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    nothing = tmp_path / "nothing"
    subject = Installation(
        bundle=nothing,
        servers=nothing,
        user=tmp_path / "own",
        approvals=(nothing, nothing),
        audit=nothing,
        cwd=tmp_path,
    )
    assert list(places(subject)) == []
    for place in ("own", "cache/ironcurtain"):
        (tmp_path / place).mkdir(parents=True)
    assert [each.what.partition(":")[0] for each in places(subject)] == [
        str(tmp_path / "own"),
        str(tmp_path / "cache" / "ironcurtain"),
    ]
