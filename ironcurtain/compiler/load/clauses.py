"""Splitting a constitution into clauses with ids, to which every rule and finding refers.

Each sentence of a paragraph or a list item is one clause, with the id that `clause_ids` gives it or that its
author wrote behind it (`{#payments}`); a block of code is one, too, so that nothing a person wrote is passed
over. A clause of a nested list carries
the items that it stands below. Headings are no clauses but their context; below a heading that contains the
word "principles", clauses are guiding principles, which no single rule needs to implement. HTML comments,
struck-out text and tables are not read; `unread` names the latter two.

The user's own guidance is a second file of the same form. Its clauses are `U1`, `U2`, …; they stand below
a heading of ours that says that they supersede the others.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ironcurtain.compiler.load.clause_ids import NOTHING_KNOWN, KnownClauses, Sentence, clause_ids
from ironcurtain.errors import ClauseIdError, FileError
from ironcurtain.model.policy import Clause
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted

SUPERSEDING = "The user's own guidance, which supersedes every clause C… that it contradicts"
"""The heading above all clauses of the user's own file, as a model reads it."""

_PRINCIPLES = re.compile(r"\bprinciples\b", re.IGNORECASE)
_CODE = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
_ASIDES = re.compile(
    r"(?P<code>(?<!`)(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`))|(?P<comment><!--.*?-->)"
    r"|(?<!~)~~(?=[^\s~])(?:(?!\n\s*\n).)+?(?<=[^\s~])~~(?!~)|<(?P<tag>del|s|strike)>.*?</(?P=tag)>",
    re.DOTALL | re.IGNORECASE,
)
"""Code, which is read as it stands, and what is taken out before anything is read."""
_WRITTEN = re.compile(r"\s*\{#(?P<id>[^{}\s]+)\}(?=\s|$)")
_LISTS = {"bullet_list", "ordered_list"}
_ASIDE = re.compile(r"(?<!`)`+[^`]+`+|\"[^\"]*\"|\u201c[^\u201c\u201d]*\u201d|\]\([^()\s]*\)|<[^<>\s]*>")
_CLOSING = r"[\"'\u201d\u2019)\]*_]*"
_INNER_STOP = re.compile(rf"[.!?\u2026](?!{_CLOSING}$)")
_END = re.compile(
    rf"(?<![.!?\u2026])(?P<stop>[.!?\u2026]+){_CLOSING}"
    r"(?=\s+(?:[\"'\u201c\u2018(\[*_]*(?P<next>[^\W_a-z]\w*)|[`@~/]\S))"
)
_BLANKS = re.compile(r"\s*")
_LAST_WORD = re.compile(r"[\w.]*\Z")
_LONGEST_ABBREVIATION = 8
_NEVER_LAST = re.compile(
    r"e\.g|i\.e|vs|cf|mrs?|ms|dr|prof|st|nos?|approx|max|min|fig|sec|art|ch|pp?|vol|ca|dept|est|ext|tel"
)
_SELDOM_LAST = re.compile(r"etc|inc|ltd|co|corp|jr|sr|[ap]\.m|u\.s|u\.k|e\.u|[^\W\d_]")
_BEGINS = re.compile(
    r"a|all|an|any|and|as|both|but|do|each|every|for|her|his|however|if|in|its?|never|no|not|on|only|or"
    r"|otherwise|our|shall|some|such|that|the|their|then|there|these|they|this|those|to|unless|we|when|where"
    r"|your?"
)
"""Words by which a sentence begins, where the one before it seems to end in an abbreviation."""

_LABEL = re.compile(r"[*_]{1,3}[^*_]+[*_]{1,3}|(?:\w+\s)?\d+(?:\.\d+)*\.|\w+\.")
"""What names the sentence behind it: `**Returns.**`, `Step 3.`, `Returns.`"""
_KNOWN = {"hr", "html_block"}


class PlacedClause(Struct):
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
class _Surroundings:
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
            lead_in = self.items[-1] if self.items else self.previous if self.previous.endswith(":") else ""
            self.leads.append(" ".join(filter(None, (self.lead, lead_in))))
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


class _PlacedSentence(Struct):
    """A sentence with what stands around it."""

    sentence: Sentence
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
    placed_sentences = [*_sentences(text, source, above)]
    ids = clause_ids([placed.sentence for placed in placed_sentences], known, prefix, elsewhere)
    return tuple(
        PlacedClause(
            Clause(
                id=id_,
                text=placed.sentence.text,
                source=placed.sentence.where,
                principle=any(_PRINCIPLES.search(title) for title in placed.headings),
            ),
            placed.headings,
            placed.lead,
            placed.lines,
            placed.sentence.written,
        )
        for id_, placed in zip(ids, placed_sentences, strict=True)
    )


def _sentences(text: str, source: str, above: tuple[str, ...]) -> Iterator[_PlacedSentence]:
    around, in_heading = _Surroundings(), 0
    for token in _parsed(text):
        around.move(token)
        if token.type == "table":
            around.say("", "")
        elif token.type == "heading_open":
            in_heading = int(token.tag[1:])
        elif token.type == "inline" and in_heading:
            around.head(in_heading, _one_line(token.content))
            in_heading = 0
        elif parts := [*_parts(token, source)]:
            titles = (*above, *(title for _, title in around.headings))
            for sentence in parts:
                yield _PlacedSentence(sentence, titles, around.lead, _lines(token))
            around.say(" ".join(sentence.text for sentence in parts), parts[-1].text)


def _parsed(text: str) -> list[Token]:
    """Return the tokens of a constitution without what is not read; a table is one token."""
    tokens: list[Token] = []
    depth = 0
    for token in MarkdownIt("commonmark").enable("table").parse(_ASIDES.sub(_left_of, text)):
        if token.type == "table_open":
            tokens.append(Token("table", "table", 0, map=token.map))
        depth += {"table_open": 1, "table_close": -1}.get(token.type, 0)
        if not depth and token.type != "table_close":
            tokens.append(token)
    return tokens


def _left_of(aside: re.Match[str]) -> str:
    """Return code as it is, and of what is not read its line ends alone, so that places stay."""
    return aside[0] if aside["code"] else "\n" * aside[0].count("\n")


def _struck(text: str) -> Iterator[tuple[int, str]]:
    """Yield the 0-based line of each piece of struck-out text, and the piece."""
    for aside in _ASIDES.finditer(text):
        if not aside["code"] and not aside["comment"]:
            yield text.count("\n", 0, aside.start()), _one_line(aside[0])


def _parts(token: Token, source: str) -> Iterator[Sentence]:
    """Yield the sentences of a token that holds clauses."""
    first = _lines(token)[0] + 1
    if token.type == "inline":
        for begin, end, written in _spans(token.content, f"{source}:{first}"):
            line = first + token.content.count("\n", 0, begin)
            yield Sentence(_one_line(token.content[begin:end]), written, f"{source}:{line}")
    elif token.type in {"fence", "code_block", "html_block"} and (whole := _one_line(token.content)):
        yield Sentence(whole, "", f"{source}:{first}")


def _spans(text: str, where: str) -> Iterator[tuple[int, int, str]]:
    """Yield where each sentence begins and ends, with the id behind it; an id ends a sentence, too."""
    masked = _CODE.sub(lambda code: "x" * len(code[0]), text)
    ids = [*_WRITTEN.finditer(masked)]
    begins = [0, *(id_.end() for id_ in ids)]
    ends = [*(id_.start() for id_ in ids), len(text)]
    for place, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        spans = sentence_spans(text[begin:end])
        written = ids[place]["id"] if place < len(ids) else ""
        if written and not spans:
            raise ClauseIdError(
                f"{quoted(ids[place][0].strip())} stands behind no sentence",
                where=where,
                hint="Write an id behind the sentence that it is for, one for each sentence.",
            )
        for number, (first, behind) in enumerate(spans, 1):
            yield begin + first, begin + behind, written if number == len(spans) else ""


def _lines(token: Token) -> tuple[int, int]:
    return (token.map[0], token.map[1]) if token.map else (0, 0)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def sentence_spans(text: str) -> tuple[tuple[int, int], ...]:
    """Return where each sentence of a paragraph begins and ends; the blanks between them belong to none."""
    masked = _ASIDE.sub(lambda aside: _INNER_STOP.sub("x", aside[0]), text)
    spans: list[tuple[int, int]] = []
    begin = _after_blanks(text, 0)
    for end in _END.finditer(masked):
        if _is_abbreviation(masked, end) or _LABEL.fullmatch(text[begin : end.end()]):
            continue
        spans.append((begin, end.end()))
        begin = _after_blanks(text, end.end())
    last = len(text.rstrip())
    return (*spans, (begin, last)) if begin < last else tuple(spans)


def sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a paragraph, each in one line."""
    return tuple(" ".join(text[begin:end].split()) for begin, end in sentence_spans(text))


def _is_abbreviation(text: str, end: re.Match[str]) -> bool:
    """Tell whether what seems to end a sentence only ends an abbreviation."""
    if end["stop"] != ".":
        return False
    last = _LAST_WORD.search(text[max(0, end.start() - _LONGEST_ABBREVIATION) : end.start()])
    word = last[0].lower() if last else ""
    if _NEVER_LAST.fullmatch(word):
        return True
    return bool(_SELDOM_LAST.fullmatch(word)) and not _BEGINS.fullmatch((end["next"] or "").lower())


def _after_blanks(text: str, begin: int) -> int:
    blanks = _BLANKS.match(text, begin)
    return blanks.end() if blanks else begin


def unread_lines(text: str, source: str, clauses: Sequence[PlacedClause]) -> Iterator[str]:
    """Yield a line, with its place in `source`, for each piece that `unread` tells of."""
    for number, what in unread(text, clauses):
        yield f"{source}:{number}: {what}"


def unread(text: str, clauses: Sequence[PlacedClause]) -> Iterator[tuple[int, str]]:
    """Yield each piece of a constitution that no clause holds and no clause stands below.

    Yields:
        The 1-based line, and what is to be said of it.
    """
    tokens = _parsed(text)
    begins = sorted(placed.lines[0] for placed in clauses)
    read = {line for placed in clauses for line in range(*placed.lines)}
    headings = [token for token in tokens if token.type == "heading_open" and token.map]
    for token in tokens:
        if token.map and (token.type in _KNOWN or token in headings):
            read |= set(range(*token.map))
    tables, struck = [token for token in tokens if token.type == "table"], [*_struck(text)]
    read |= {line for token in tables for line in range(*_lines(token))} | {line for line, _ in struck}
    lines = _ASIDES.sub(_left_of, text).splitlines()
    unread = [(n, lines[n], why) for n, why in _idle_headings(headings, begins, lines)]
    unread += [(_line(token), lines[_line(token)], "is the first line of a table") for token in tables]
    unread += [(line, piece, "is struck out") for line, piece in struck]
    unread += [
        (n, line, "is not read as text") for n, line in enumerate(lines) if line.strip() and n not in read
    ]
    for number, said, why in sorted(unread):
        yield number + 1, f"{quoted(said.strip())} is no clause: it {why}"


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
