"""What a program of somebody's own reads of an error: the sentence, and the place that it is about."""

from __future__ import annotations

from pathlib import Path

import pytest

from ironcurtain import IronCurtainError, Policy
from ironcurtain.errors import FileError, Place, SeveralErrors


def test_an_error_names_its_place_to_a_program(tmp_path: Path) -> None:
    missing = tmp_path / "no-such-bundle"
    with pytest.raises(IronCurtainError) as refused:
        Policy.load(missing)
    assert str(refused.value).endswith(f": '{missing}'")


def test_one_without_a_place_is_its_sentence() -> None:
    assert str(FileError("it is gone")) == "it is gone"


def test_control_characters_of_a_place_are_escaped() -> None:
    assert str(FileError("it is gone", where=Place("a\x1b[2Jb", 3))) == r"it is gone: 'a\x1b[2Jb:3'"


def test_several_errors_are_all_said() -> None:
    several = SeveralErrors([FileError("one", where="a"), FileError("two", where="b")])
    assert str(several) == "one: 'a'; two: 'b'"
