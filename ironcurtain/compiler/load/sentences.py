"""Splitting a paragraph into its sentences, so that each is answered for by itself.

Where it is unclear whether a sentence ends, it does not: two sentences in one clause are a lesser harm than
half a sentence. A full stop in code, in quotation marks, in a link, or behind an abbreviation ends nothing.
"""

from __future__ import annotations

import re

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
    found = _LAST_WORD.search(text[max(0, end.start() - _LONGEST_ABBREVIATION) : end.start()])
    word = found[0].lower() if found else ""
    if _NEVER_LAST.fullmatch(word):
        return True
    return bool(_SELDOM_LAST.fullmatch(word)) and not _BEGINS.fullmatch((end["next"] or "").lower())


def _after_blanks(text: str, begin: int) -> int:
    found = _BLANKS.match(text, begin)
    return found.end() if found else begin
