"""Splitting a constitution into clauses with ids, to which every rule and finding refers.

Each sentence of a paragraph or a list item is one clause, with the id that `clause_ids` gives it or that its
author wrote behind it (`{#payments}`); a block of code is one, too, so that nothing a person wrote is passed
over. A clause of a nested list carries
the items that it stands below. Headings are no clauses but their context; below a heading that contains the
word "principles", clauses are guiding principles, which no single rule needs to implement. HTML comments are
not read.

The user's own guidance is a second file of the same form. Its clauses are `U1`, `U2`, …; they stand below
a heading of ours that says that they supersede the others.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ironcurtain.compiler.clause_ids import NOTHING_KNOWN, KnownClauses, Said, clause_ids
from ironcurtain.compiler.load.sentences import sentence_spans
from ironcurtain.errors import ClauseIdError, FileError
from ironcurtain.model.policy import Clause
from ironcurtain.system.text import quoted

SUPERSEDING = "The user's own guidance, which supersedes every clause C… that it contradicts"
"""The heading above all clauses of the user's own file, as a model reads it."""

_PRINCIPLES = re.compile(r"\bprinciples\b", re.IGNORECASE)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_CODE = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
_WRITTEN = re.compile(r"\s*\{#(?P<id>[^{}\s]+)\}(?=\s|$)")
_LISTS = {"bullet_list", "ordered_list"}


@dataclass(frozen=True)
class PlacedClause:
    """A clause and what stands around it.

    Attributes:
        headings: The headings above it, outermost first.
        lead: What introduces the clause's list: the sentence above it that ends in a colon, and the items
            that it is nested in, outermost first.
        lines: First line and the line after the last of the clause's paragraph, counted from 0.
        written: The id that its author wrote behind it; empty if there is none.
    """

    clause: Clause
    headings: tuple[str, ...]
    lead: str = ""
    lines: tuple[int, int] = (0, 0)
    written: str = ""


def read_clauses(
    text: str, source: str, known: KnownClauses = NOTHING_KNOWN, elsewhere: Collection[str] = ()
) -> tuple[PlacedClause, ...]:
    """Return the clauses of a constitution in Markdown.

    Args:
        text: The constitution.
        source: Name of its file, as results show it.
        known: What ids stood for until now.
        elsewhere: Ids that clauses of the user's own guidance have.

    Raises:
        FileError: If it holds no clause (only headings, rules and comments).
        ClauseIdError: For each written id that cannot be one, or is another clause's.
    """
    clauses = _read(text, source, "C", (), known, elsewhere)
    if not clauses:
        raise FileError(
            "the constitution holds no sentence",
            where=source,
            hint="Write at least one paragraph or list item.",
        )
    return clauses


def read_user_clauses(
    text: str, source: str, known: KnownClauses = NOTHING_KNOWN
) -> tuple[PlacedClause, ...]:
    """Return the clauses of the user's own guidance, of which there may be none, as `read_clauses` does."""
    return _read(text, source, "U", (SUPERSEDING,), known)


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


@dataclass(frozen=True)
class _Sentence:
    """A sentence with what stands around it."""

    said: Said
    headings: tuple[str, ...]
    lead: str
    lines: tuple[int, int]


def _read(
    text: str,
    source: str,
    prefix: str,
    above: tuple[str, ...],
    known: KnownClauses,
    elsewhere: Collection[str] = (),
) -> tuple[PlacedClause, ...]:
    found = [*_sentences(text, source, above)]
    ids = clause_ids([each.said for each in found], known, prefix, elsewhere)
    return tuple(
        PlacedClause(
            Clause(
                id=id_,
                text=each.said.text,
                source=each.said.where,
                principle=any(_PRINCIPLES.search(title) for title in each.headings),
            ),
            each.headings,
            each.lead,
            each.lines,
            each.said.written,
        )
        for id_, each in zip(ids, found, strict=True)
    )


def _sentences(text: str, source: str, above: tuple[str, ...]) -> Iterator[_Sentence]:
    around, in_heading = _Around(), 0
    for token in MarkdownIt("commonmark").parse(text):
        around.move(token)
        if token.type == "heading_open":
            in_heading = int(token.tag[1:])
        elif token.type == "inline" and in_heading:
            around.head(in_heading, _one_line(token.content))
            in_heading = 0
        elif parts := [*_parts(token, source)]:
            titles = (*above, *(title for _, title in around.headings))
            for said in parts:
                yield _Sentence(said, titles, around.lead, _lines(token))
            around.say(" ".join(said.text for said in parts), parts[-1].text)


def _parts(token: Token, source: str) -> Iterator[Said]:
    """Yield the sentences of a token that holds clauses."""
    first = _lines(token)[0] + 1
    if token.type == "inline":
        for begin, end, written in _spans(token.content, f"{source}:{first}"):
            line = first + token.content.count("\n", 0, begin)
            yield Said(_one_line(token.content[begin:end]), written, f"{source}:{line}")
    elif token.type in {"fence", "code_block", "html_block"}:
        text = _COMMENT.sub("", token.content) if token.type == "html_block" else token.content
        if whole := _one_line(text):
            yield Said(whole, "", f"{source}:{first}")


def _spans(text: str, where: str) -> Iterator[tuple[int, int, str]]:
    """Yield where each sentence begins and ends, with the id behind it; an id ends a sentence, too."""
    masked = _CODE.sub(lambda code: "x" * len(code[0]), text)
    ids = [*_WRITTEN.finditer(masked)]
    begins = [0, *(found.end() for found in ids)]
    ends = [*(found.start() for found in ids), len(text)]
    for place, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        spans = sentence_spans(text[begin:end])
        written = ids[place]["id"] if place < len(ids) else ""
        if written and not spans:
            raise ClauseIdError(
                f"{quoted(ids[place][0].strip())} stands behind no sentence",
                where=where,
                hint="Write an id behind the sentence that it is for, one for each sentence.",
            )
        for number, (one, other) in enumerate(spans, 1):
            yield begin + one, begin + other, written if number == len(spans) else ""


def _lines(token: Token) -> tuple[int, int]:
    return (token.map[0], token.map[1]) if token.map else (0, 0)


def _one_line(text: str) -> str:
    return " ".join(text.split())
