"""Splitting a constitution into numbered clauses, to which every rule and finding refers.

Each sentence of a paragraph or a list item is one clause, `C1`, `C2`, … in the order of the document; a
block of code is one, too, so that nothing a person wrote is passed over. A clause of a nested list carries
the items that it stands below. Headings are no clauses but their context; below a heading that contains the
word "principles", clauses are guiding principles, which no single rule needs to implement. HTML comments are
not read.

The user's own guidance is a second file of the same form. Its clauses are `U1`, `U2`, …; they stand below
a heading of ours that says that they supersede the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ironcurtain.errors import FileError
from ironcurtain.model.policy import Clause
from ironcurtain.pipeline.sentences import sentence_spans

SUPERSEDING = "The user's own guidance, which supersedes every clause C… that it contradicts"
"""The heading above all clauses of the user's own file, as a model reads it."""

_PRINCIPLES = re.compile(r"\bprinciples\b", re.IGNORECASE)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_LISTS = {"bullet_list", "ordered_list"}


@dataclass(frozen=True)
class PlacedClause:
    """A clause and what stands around it.

    Attributes:
        headings: The headings above it, outermost first.
        lead: What introduces the clause's list: the sentence above it that ends in a colon, and the items
            that it is nested in, outermost first.
        lines: First line and the line after the last of the clause's paragraph, counted from 0.
    """

    clause: Clause
    headings: tuple[str, ...]
    lead: str = ""
    lines: tuple[int, int] = (0, 0)


def read_clauses(text: str, source: str) -> tuple[PlacedClause, ...]:
    """Number the clauses of a constitution in Markdown.

    Args:
        text: The constitution.
        source: Name of its file, as results show it.

    Raises:
        FileError: If it holds no clause (only headings, rules and comments).
    """
    clauses = _read(text, source, "C", ())
    if not clauses:
        raise FileError(
            "the constitution holds no sentence",
            where=source,
            hint="Write at least one paragraph or list item.",
        )
    return clauses


def read_user_clauses(text: str, source: str) -> tuple[PlacedClause, ...]:
    """Number the clauses of the user's own guidance, `U1`, `U2`, …; there may be none."""
    return _read(text, source, "U", (SUPERSEDING,))


@dataclass
class _Around:
    """What stands around the place that was read up to.

    Attributes:
        leads: What introduces each list that is open, outermost first.
        items: The text of each list item that is open, as far as its first paragraph.
        previous: The last sentence, where nothing but blanks followed.
    """

    headings: list[tuple[int, str]] = field(default_factory=list)
    leads: list[str] = field(default_factory=list)
    items: list[str] = field(default_factory=list)
    previous: str = ""

    def move(self, token: Token) -> None:
        """Go past the beginning or the end of a list or an item."""
        kind, _, edge = token.type.rpartition("_")
        if kind in _LISTS and edge == "open":
            own = self.items[-1] if self.items else self.previous if self.previous.endswith(":") else ""
            self.leads.append(" ".join(filter(None, (self.lead, own))))
        elif kind in _LISTS:
            self.leads.pop()
        elif token.type == "list_item_open":
            self.items.append("")
        elif token.type == "list_item_close":
            self.items.pop()

    @property
    def lead(self) -> str:
        """What introduces the innermost list."""
        return self.leads[-1] if self.leads else ""

    def head(self, level: int, title: str) -> None:
        """Go past a heading."""
        self.headings = [(above, kept) for above, kept in self.headings if above < level]
        self.headings.append((level, title))
        self.previous = ""

    def say(self, block: str, last: str) -> None:
        """Go past a paragraph and its last sentence."""
        if self.items and not self.items[-1]:
            self.items[-1] = block
        self.previous = last


def _read(text: str, source: str, prefix: str, above: tuple[str, ...]) -> tuple[PlacedClause, ...]:
    clauses: list[PlacedClause] = []
    around, in_heading = _Around(), 0
    for token in MarkdownIt("commonmark").parse(text):
        around.move(token)
        if token.type == "heading_open":
            in_heading = int(token.tag[1:])
        elif token.type == "inline" and in_heading:
            around.head(in_heading, _one_line(token.content))
            in_heading = 0
        elif said := [*_sentences(token)]:
            titles = (*above, *(title for _, title in around.headings))
            lines = (token.map[0], token.map[1]) if token.map else (0, 0)
            for line, sentence in said:
                clause = Clause(
                    id=f"{prefix}{len(clauses) + 1}",
                    text=sentence,
                    source=f"{source}:{lines[0] + line + 1}",
                    principle=any(_PRINCIPLES.search(title) for title in titles),
                )
                clauses.append(PlacedClause(clause, titles, around.lead, lines))
            around.say(" ".join(sentence for _, sentence in said), said[-1][1])
    return tuple(clauses)


def _sentences(token: Token) -> Iterator[tuple[int, str]]:
    """Yield the sentences of a token that holds clauses, each with the number of its line in the token."""
    if token.type == "inline":
        for begin, end in sentence_spans(token.content):
            yield token.content.count("\n", 0, begin), _one_line(token.content[begin:end])
    elif token.type in {"fence", "code_block", "html_block"}:
        text = _COMMENT.sub("", token.content) if token.type == "html_block" else token.content
        if whole := _one_line(text):
            yield 0, whole


def _one_line(text: str) -> str:
    return " ".join(text.split())
