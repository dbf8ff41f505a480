"""Splitting a constitution into numbered clauses, to which every rule and finding refers.

Each paragraph and each list item is one clause, `C1`, `C2`, … in the order of the document; a nested
list item is a clause of its own, and so is a block of code, so that nothing a person wrote is passed over.
Headings are no clauses but their context; below a heading that contains the word "principles", clauses are
guiding principles, which no single rule needs to implement. HTML comments are not read.

The user's own guidance is a second file of the same form. Its clauses are `U1`, `U2`, …; they stand below
a heading of ours that says that they supersede the others.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ironcurtain.errors import FileError
from ironcurtain.model.policy import Clause

SUPERSEDING = "The user's own guidance, which supersedes every clause C… that it contradicts"
"""The heading above all clauses of the user's own file, as a model reads it."""

_PRINCIPLES = re.compile(r"\bprinciples\b", re.IGNORECASE)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_LISTS = {"bullet_list_open", "ordered_list_open"}
_LISTS_END = {"bullet_list_close", "ordered_list_close"}


@dataclass(frozen=True)
class PlacedClause:
    """A clause and what stands around it.

    Attributes:
        headings: The headings above it, outermost first.
        lead: The text that introduces the clause's list, if it ends in a colon.
        lines: First line and the line after the last, counted from 0.
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


def _read(text: str, source: str, prefix: str, above: tuple[str, ...]) -> tuple[PlacedClause, ...]:
    clauses: list[PlacedClause] = []
    headings: list[tuple[int, str]] = []
    leads: list[str] = []
    previous = ""
    in_heading = 0
    for token in MarkdownIt("commonmark").parse(text):
        if token.type in _LISTS:
            leads.append(previous if previous.endswith(":") else "")
        elif token.type in _LISTS_END:
            leads.pop()
        elif token.type == "heading_open":
            in_heading = int(token.tag[1:])
        elif token.type == "inline" and in_heading:
            headings = [(level, title) for level, title in headings if level < in_heading]
            headings.append((in_heading, _one_line(token.content)))
            in_heading, previous = 0, ""
        elif content := _clause_text(token):
            titles = (*above, *(title for _, title in headings))
            lines = (token.map[0], token.map[1]) if token.map else (0, 0)
            clause = Clause(
                id=f"{prefix}{len(clauses) + 1}",
                text=content,
                source=f"{source}:{lines[0] + 1}",
                principle=any(_PRINCIPLES.search(title) for title in titles),
            )
            clauses.append(PlacedClause(clause, titles, leads[-1] if leads else "", lines))
            previous = content
    return tuple(clauses)


def _clause_text(token: Token) -> str:
    """Return the text of a token that is a clause by itself, else nothing."""
    if token.type in {"inline", "fence", "code_block"}:
        return _one_line(token.content)
    if token.type == "html_block":
        return _one_line(_COMMENT.sub("", token.content))
    return ""


def _one_line(text: str) -> str:
    return " ".join(text.split())
