"""Splitting a constitution into numbered clauses, to which every rule and finding refers.

Each paragraph and each list item is one clause, `C1`, `C2`, … in the order of the document; a nested
list item is a clause of its own, and so is a block of code, so that nothing a person wrote is passed over.
Headings are no clauses but their context; below a heading that contains the word "principles", clauses are
guiding principles, which no single rule needs to implement. HTML comments are not read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ironcurtain.errors import FileError
from ironcurtain.model.policy import Clause

_PRINCIPLES = re.compile(r"\bprinciples\b", re.IGNORECASE)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


@dataclass(frozen=True)
class PlacedClause:
    """A clause and the headings above it, outermost first."""

    clause: Clause
    headings: tuple[str, ...]


def read_clauses(text: str, source: str) -> tuple[PlacedClause, ...]:
    """Number the clauses of a constitution in Markdown.

    Args:
        text: The constitution.
        source: Name of its file, as results show it.

    Raises:
        FileError: If it holds no clause (only headings, rules and comments).
    """
    clauses: list[PlacedClause] = []
    headings: list[tuple[int, str]] = []
    in_heading = 0
    for token in MarkdownIt("commonmark").parse(text):
        if token.type == "heading_open":
            in_heading = int(token.tag[1:])
        elif token.type == "inline" and in_heading:
            headings = [(level, title) for level, title in headings if level < in_heading]
            headings.append((in_heading, _one_line(token.content)))
            in_heading = 0
        elif content := _clause_text(token):
            titles = tuple(title for _, title in headings)
            line = token.map[0] + 1 if token.map else 1
            clause = Clause(
                id=f"C{len(clauses) + 1}",
                text=content,
                source=f"{source}:{line}",
                principle=any(_PRINCIPLES.search(title) for title in titles),
            )
            clauses.append(PlacedClause(clause, titles))
    if not clauses:
        raise FileError(
            "the constitution holds no sentence",
            where=source,
            hint="Write at least one paragraph or list item.",
        )
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
