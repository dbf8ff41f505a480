"""What stands in the words of a user, in plain Python, written from the specification and not from our code.

For texts and values of one kind: a value begins and ends with a letter or digit, and no number is in it.
"""

from __future__ import annotations

import unicodedata

OPENING, CLOSING = (
    "([<\"'`\u201e\u201c\u201d\u2018\u2019\u201a\u00ab\u00bb",
    ".,;:!?)]>\"'`\u201d\u201c\u2018\u2019\u00bb\u00ab",
)


def stands(value: str, messages: list[str]) -> bool:
    """Tell whether a value stands in what a user wrote, between spaces and punctuation."""
    wanted = lowered(value)
    count = len(wanted.split())
    return any(
        " ".join(words[begin : begin + count]).lstrip(OPENING).rstrip(CLOSING) == wanted
        for message in messages
        for words in map(str.split, own(message))
        for begin in range(len(words))
    )


def own(message: str) -> list[str]:
    """Return the stretches of a message that are marked neither by fences nor as quotes."""
    text = lowered(message)
    found = [text.find(mark) for mark in ("```", "~~~") if mark in text]
    parts = [text]
    if found:
        last = max(text.rfind("```"), text.rfind("~~~")) + 3
        parts = [text[: min(found)]] + ([text[last:]] if last > min(found) + 3 else [])
    return [stretch for part in parts for stretch in _paragraphs(part)]


def lowered(text: str) -> str:
    """Return a text in NFKC and lower case."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).lower())


def _paragraphs(text: str) -> list[str]:
    """Return what stands between quotes; a quote ends with its paragraph."""
    stretches = [""]
    for paragraph in _split_at_empty_lines(text):
        lines = paragraph.splitlines()
        quote = next((place for place, line in enumerate(lines) if line.strip().startswith(">")), len(lines))
        stretches[-1] += "\n" + "\n".join(lines[:quote])
        if quote < len(lines):
            stretches.append("")
    return stretches


def _split_at_empty_lines(text: str) -> list[str]:
    paragraphs = [""]
    for line in text.splitlines():
        if not line.strip():
            paragraphs.append("")
        paragraphs[-1] += line + "\n"
    return paragraphs
