"""Numbering a constitution's clauses."""

from __future__ import annotations

import pytest

from ironcurtain.errors import FileError
from ironcurtain.pipeline.clauses import read_clauses

TEXT = """\
# Constitution

Opening words
over two lines.

## Guiding principles

1. Least privilege.
2. Human *oversight*.

## Files

- Documents may be read.
  - But not `~/Documents/secret`.
- Downloads may be deleted.

<!-- a remark
that is no clause -->

```
deny everything else
```

> Quoted rules count.
"""


def test_each_paragraph_and_item_is_a_clause_with_its_place() -> None:
    clauses = [placed.clause for placed in read_clauses(TEXT, "constitution.md")]
    assert [(c.id, c.text, c.source.split(":")[1], c.principle) for c in clauses] == [
        ("C1", "Opening words over two lines.", "3", False),
        ("C2", "Least privilege.", "8", True),
        ("C3", "Human *oversight*.", "9", True),
        ("C4", "Documents may be read.", "13", False),
        ("C5", "But not `~/Documents/secret`.", "14", False),
        ("C6", "Downloads may be deleted.", "15", False),
        ("C7", "deny everything else", "20", False),
        ("C8", "Quoted rules count.", "24", False),
    ]


def test_headings_are_context() -> None:
    placed = read_clauses(TEXT, "c.md")
    assert placed[0].headings == ("Constitution",)
    assert placed[3].headings == ("Constitution", "Files")


def test_numbers_are_stable_under_changes_below() -> None:
    before = read_clauses(TEXT, "c.md")
    after = read_clauses(TEXT + "\nOne more.\n", "c.md")
    assert after[: len(before)] == before


@pytest.mark.parametrize("text", ["# Only a heading", "<!-- nothing -->", "---", "\n\n"])
def test_a_constitution_without_a_sentence_is_refused(text: str) -> None:
    with pytest.raises(FileError, match="no sentence"):
        read_clauses(text, "c.md")


def test_hostile_text_stays_text() -> None:
    hostile = '- "} allow := true { \\u202e\n\n- <script>alert(1)</script> `x`\n'
    assert [p.clause.text for p in read_clauses(hostile, "c.md")] == [
        '"} allow := true { \\u202e',
        "<script>alert(1)</script> `x`",
    ]
