"""Numbering a constitution's clauses."""

from __future__ import annotations

from pathlib import Path

import pytest

from ironcurtain.compiler.load.clauses import read_clauses, unread_lines
from ironcurtain.errors import FileError

ROOT = Path(__file__).parents[4]
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


REVISED = """\
- Notes may be read. <!-- was: changed -->
- ~~Everything may be read.~~
- Notes may ~~not~~ be listed, <del>and changed</del>.

Drafts <!-- of
people --> are kept, as `<!-- this -->` and `~~that~~` are.

| who | what |
| -- | -- |
| agent | may delete notes |

After the table, ask.
"""


def test_comments_struck_out_text_and_tables_are_no_clauses() -> None:
    """What a person struck out was a clause all the same, a table was one, and a remark was part of one."""
    placed = read_clauses(REVISED, "c.md")
    assert [(one.clause.text, one.clause.source) for one in placed] == [
        ("Notes may be read.", "c.md:1"),
        ("Notes may be listed, .", "c.md:3"),
        ("Drafts are kept, as `<!-- this -->` and `~~that~~` are.", "c.md:5"),
        ("After the table, ask.", "c.md:12"),
    ]
    assert [*unread_lines(REVISED, "c.md", placed)] == [
        'c.md:2: "~~Everything may be read.~~" is no clause: it is struck out',
        'c.md:3: "<del>and changed</del>" is no clause: it is struck out',
        'c.md:3: "~~not~~" is no clause: it is struck out',
        'c.md:8: "| who | what |" is no clause: it is the first line of a table',
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


PARAGRAPHS = """\
# Returns

You help customers of a shop, e.g. with returns. Orders may be returned within
30 days. Never refund to a gift card that is not theirs!

**Exchanges.** An item may be exchanged once. Say "No. We cannot." to
everything else. Dr. No. 5 is no exception. `delete_order` is off.
"""


def test_each_sentence_of_a_plain_paragraph_is_a_clause_with_its_own_line() -> None:
    """A handbook in prose was a handful of clauses, of which one rule each made a green report."""
    clauses = [placed.clause for placed in read_clauses(PARAGRAPHS, "c.md")]
    assert [(clause.text, clause.source) for clause in clauses] == [
        ("You help customers of a shop, e.g. with returns.", "c.md:3"),
        ("Orders may be returned within 30 days.", "c.md:3"),
        ("Never refund to a gift card that is not theirs!", "c.md:4"),
        ("**Exchanges.** An item may be exchanged once.", "c.md:6"),
        ('Say "No. We cannot." to everything else.', "c.md:6"),
        ("Dr. No. 5 is no exception.", "c.md:7"),
        ("`delete_order` is off.", "c.md:7"),
    ]


NESTED = """\
The rules are simple. The agent may:

- send mail. It is logged.
  - to colleagues
    - without attachments

  1. to customers
- list folders

## Baggage

- Gold members
  - may bring three bags.

> - Quoted
"""


def test_a_nested_item_carries_what_it_stands_below() -> None:
    """`may bring three bags` alone says nothing about gold members."""
    placed = read_clauses(NESTED, "c.md")
    assert [(one.clause.text, one.lead) for one in placed] == [
        ("The rules are simple.", ""),
        ("The agent may:", ""),
        ("send mail.", "The agent may:"),
        ("It is logged.", "The agent may:"),
        ("to colleagues", "The agent may: send mail. It is logged."),
        ("without attachments", "The agent may: send mail. It is logged. to colleagues"),
        ("to customers", "The agent may: send mail. It is logged."),
        ("list folders", "The agent may:"),
        ("Gold members", ""),
        ("may bring three bags.", "Gold members"),
        ("Quoted", ""),
    ]
    assert placed[9].headings == ("Baggage",)


@pytest.mark.parametrize("name", ["constitution.md", "examples/office/constitution.md"])
def test_the_shipped_constitutions_have_one_clause_for_each_item(name: str) -> None:
    """Kept answers, rules and scenarios name clauses by these ids: another split would void them all."""
    text = (ROOT / name).read_text()
    items = [line.removeprefix("- ") for line in text.splitlines() if line.startswith("- ")]
    placed = read_clauses(text, name)
    assert [(one.clause.id, one.clause.text, one.lead) for one in placed] == [
        (f"C{number}", item, "") for number, item in enumerate(items, 1)
    ]


def test_hostile_text_stays_text() -> None:
    hostile = '- "} allow := true { \\u202e\n\n- <script>alert(1)</script> `x`\n'
    assert [p.clause.text for p in read_clauses(hostile, "c.md")] == [
        '"} allow := true { \\u202e',
        "<script>alert(1)</script> `x`",
    ]
