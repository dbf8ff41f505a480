"""What stands in a constitution and is no clause, so that no sentence is passed over in silence.

Headings are the context of what stands below them; one with nothing below it says something that nobody
reads as a clause. What Markdown takes for no text at all (the target of a link, say) is told, too. Comments
are meant to be passed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ironcurtain.compiler.load.clauses import PlacedClause
from ironcurtain.system.text import quoted

_KNOWN = {"hr", "html_block"}


def unread_lines(text: str, source: str, clauses: Sequence[PlacedClause]) -> Iterator[str]:
    """Yield a line, with its place in `source`, for each piece that `unread` tells of."""
    for number, what in unread(text, clauses):
        yield f"{source}:{number}: {what}"


def unread(text: str, clauses: Sequence[PlacedClause]) -> Iterator[tuple[int, str]]:
    """Yield each piece of a constitution that no clause holds and no clause stands below.

    Args:
        text: The constitution.
        clauses: The clauses that were read from it.

    Yields:
        The 1-based line, and what is to be said of it.
    """
    tokens = MarkdownIt("commonmark").parse(text)
    begins = sorted(placed.lines[0] for placed in clauses)
    read = {line for placed in clauses for line in range(*placed.lines)}
    headings = [token for token in tokens if token.type == "heading_open" and token.map]
    for token in tokens:
        if token.map and (token.type in _KNOWN or token in headings):
            read |= set(range(*token.map))
    lines = text.splitlines()
    found = dict(_idle_headings(headings, begins, lines))
    found |= {n: "is not read as text" for n, line in enumerate(lines) if line.strip() and n not in read}
    for number, why in sorted(found.items()):
        yield number + 1, f"{quoted(lines[number].strip())} is no clause: it {why}"


def _idle_headings(
    headings: Sequence[Token], begins: Sequence[int], lines: Sequence[str]
) -> Iterator[tuple[int, str]]:
    for place, token in enumerate(headings):
        above = (later for later in headings[place + 1 :] if int(later.tag[1:]) <= int(token.tag[1:]))
        begin = _line(token)
        end = next((_line(later) for later in above), len(lines))
        if not any(begin < line < end for line in begins):
            yield begin, "is a heading, and no sentence stands below it"


def _line(token: Token) -> int:
    return token.map[0] if token.map else 0
