"""Lines that a person types, at a terminal on which other things are written, too."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from support.people.screen import shown
from support.people.terminal import converse

LATE = "ironcurtain: server git: 28 tools"
PROGRAM = f"""
import asyncio, sys
from pathlib import Path
from ironcurtain.session.transports.terminal_input import conversation_reader, reader

async def main():
    read = conversation_reader(Path(sys.argv[2]), []) if sys.argv[1] == "words" else reader()
    reading = asyncio.ensure_future(read("> "))
    while not Path(sys.argv[3]).exists():
        await asyncio.sleep(0.01)
    sys.stderr.write("{LATE}\\n")
    print("said:", await reading)

asyncio.run(main())
"""


@pytest.mark.parametrize("what", ["words", "answer"])
def test_what_is_written_while_a_person_types_stands_above_their_line(tmp_path: Path, what: str) -> None:
    pieces: list[bytes] = []
    typed = tmp_path / "typed"

    def look(shown: str) -> None:
        if shown.endswith("tidy"):
            typed.touch()

    code, printed = converse(
        [sys.executable, "-c", PROGRAM, what, str(tmp_path / "history"), str(typed)],
        tmp_path,
        {**os.environ, "PYTHONPATH": str(Path(__file__).parents[4])},
        (">", "tidy"),
        ("28 tools", " up\r"),
        look=look,
        keep=pieces.append,
    )
    assert code == 0, printed
    there = [line for line in shown(b"".join(pieces).decode(), 50) if line]
    assert there == [LATE, "> tidy up", "said: tidy up"]


@pytest.mark.parametrize("history", ["history", "directory"])
def test_lines_are_read_whether_or_not_they_can_be_remembered(tmp_path: Path, history: str) -> None:
    (tmp_path / "directory").mkdir()
    for _ in range(2):
        code, printed = converse(
            [sys.executable, "-c", PROGRAM, "words", str(tmp_path / history), str(tmp_path)],
            tmp_path,
            {**os.environ, "PYTHONPATH": str(Path(__file__).parents[4])},
            (">", "tidy up\r"),
        )
        assert code == 0, printed
        assert "said: tidy up" in printed
        assert "Traceback" not in printed
    assert history == "directory" or (tmp_path / history).read_text().count("tidy up") == 1
