"""Lines that programs read stay whole on a terminal, whatever its width."""

from __future__ import annotations

import pytest

from ironcurtain.cli.output.display import shown


@pytest.mark.parametrize(
    "begins", ["::error file=a.md,line=3::", '<testcase name="a">', "| check | result | "]
)
def test_a_line_for_a_program_is_not_broken(begins: str) -> None:
    line = begins + "many words " * 30
    assert shown(line, 50, coloured=False) == line


def test_prose_of_the_same_length_is() -> None:
    assert "\n" in shown("many words " * 30, 50, coloured=False)
