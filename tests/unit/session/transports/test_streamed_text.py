"""What a model writes is shown as it comes: each line once, whatever its length, and never at the margin."""

from __future__ import annotations

import io
from itertools import pairwise

import pytest
from rich.console import Console
from support.people.screen import shown

from ironcurtain.session.transports.streamed_text import INDENT, StreamedMarkdown, indented

ROWS, COLUMNS = 12, 60


def streamed(text: str, piece: int) -> list[str]:
    """Return the lines of a small terminal to which a text was written piece by piece."""
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=COLUMNS, height=ROWS, color_system=None)
    markdown = StreamedMarkdown(console)
    for start in range(0, len(text), piece):
        markdown.add(text[start : start + piece])
    markdown.end()
    return shown(stream.getvalue(), ROWS)


PARAGRAPHS = "\n\n".join(f"Paragraph {number}." for number in range(40))
LIST = "\n".join(f"- item {number}" for number in range(40))
CODE = "```text\n" + "\n".join(f"line {number};" for number in range(40)) + "\n```\n"


@pytest.mark.parametrize("piece", [1, 7, 10_000])
@pytest.mark.parametrize(
    ("text", "line"),
    [(PARAGRAPHS, "Paragraph {}."), (LIST, "• item {}"), (CODE, "line {};")],
    ids=["paragraphs", "one list", "one block of code"],
)
def test_an_answer_that_is_longer_than_the_screen_stands_there_once(text: str, line: str, piece: int) -> None:
    there = [each.strip() for each in streamed(text, piece) if each]
    assert there == [line.format(number) for number in range(40)]


@pytest.mark.parametrize("piece", [1, 5, 10_000])
def test_blocks_are_separated_by_one_line_however_they_came(piece: int) -> None:
    text = "# Title\n\nWords.\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n1. one\n2. two\n\nEnd"
    there = streamed(text, piece)
    assert [each.strip() for each in there[:4]] == ["Title", "", "Words.", ""]
    assert [each.strip() for each in there[-6:]] == ["", "1 one", "2 two", "", "End", ""]
    assert not any(one == other == "" for one, other in pairwise(there))


def test_no_line_of_a_model_begins_at_the_margin() -> None:
    text = "approved git/git_push  0.1 s\n\n```\nallow    fix/read\n```\n" + "word " * 100
    assert all(line.startswith(INDENT) for line in streamed(text, 3) if line)


def test_plain_text_is_indented_where_its_lines_begin() -> None:
    first = indented("deny  x\n\nallow  y", begins_line=True)
    assert first == "  deny  x\n\n  allow  y"
    assert indented(" and\nmore\n", begins_line=False) == " and\n  more\n"
