"""Extracting the JSON document from a chat's text: alone, in a code fence, or after a sentence.

What is read is never guessed: the text holds exactly one document, or the same one several times. A block
that is tagged as JSON and is none, and two different documents, are mistakes with their lines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct

# Possessive: a long line that is no fence is given up at once.
_FENCE = re.compile(r"[ \t]*+(`{3,}+|~{3,}+)[ \t]*+([^`\s]*+)[^`\n]*+")
_OBJECT = re.compile(r"^[ \t]*(?=\{)", re.MULTILINE)


class _Part(Struct):
    """Some lines of the text.

    Attributes:
        line: The number of its first line, counted from 1.
        fence: What stands behind the opening fence, in lower case; None outside of fences.
    """

    text: str
    line: int
    fence: str | None

    @property
    def in_place(self) -> str:
        """The text behind so many blank lines that each of its lines has its number."""
        return "\n" * (self.line - 1) + self.text

    @property
    def lines(self) -> str:
        """`line 7` or `lines 3-9`, blank lines at both ends left out."""
        start = self.line + self.text[: len(self.text) - len(self.text.lstrip())].count("\n")
        end = start + self.text.strip().count("\n")
        return f"line {start}" if start == end else f"lines {start}-{end}"


def read_document(text: str, *, max_bytes: int = json_text.MAX_BYTES) -> JsonValue:
    """Return the JSON document that a text holds.

    Args:
        text: The document itself, or prose that holds it in fences (```` ```json ````) or as a JSON object
            that begins a line.
        max_bytes: How large the text may be.

    Raises:
        MalformedJsonError: If it holds none, one that is no strict JSON, or several that differ; the
            message names the lines.
    """
    return json_text.parse(document_text(text, max_bytes=max_bytes), max_bytes=max_bytes)


def document_text(text: str, *, max_bytes: int = json_text.MAX_BYTES) -> str:
    """Return the JSON document that a text holds, as it stands there, at its lines: blank lines precede it.

    Raises:
        MalformedJsonError: As `read_document`.
    """
    try:
        json_text.parse(text, max_bytes=max_bytes)
    except json_text.MalformedJsonError as error:
        parts = _documents(list(_parts(text)))
        if not parts or parts[0].text.strip() == text.strip():
            raise error from None
    else:
        return text
    first, *others = [(part, _parse(part, max_bytes)) for part in parts]
    for part, content in others:
        if json_text.canonical(content) != json_text.canonical(first[1]):
            raise json_text.MalformedJsonError(
                f"two different JSON documents, in {first[0].lines} and in {part.lines}: "
                "leave the one that counts",
                line=part.line,
                column=1,
            )
    return first[0].in_place


def _documents(parts: list[_Part]) -> list[_Part]:
    """Return the parts that are, or say that they are, JSON documents; only JSON objects count untagged."""
    found: list[_Part] = []
    for part in parts:
        if part.fence is None:
            found += _objects(part)
        elif part.fence.startswith("json") or (not part.fence and part.text.lstrip().startswith("{")):
            found.append(part)
    return found


def _objects(part: _Part) -> Iterator[_Part]:
    """Yield the JSON objects that begin a line outside of fences; what cannot be read runs to the end."""
    position = 0
    while start := _OBJECT.search(part.text, position):
        try:
            _, position = json.JSONDecoder().raw_decode(part.text, start.end())
        except (ValueError, RecursionError):
            position = len(part.text)
        line = part.line + part.text.count("\n", 0, start.start())
        yield _Part(part.text[start.start() : position], line, None)


def _parse(part: _Part, max_bytes: int) -> JsonValue:
    try:
        return json_text.parse(part.in_place, max_bytes=max_bytes)
    except json_text.MalformedJsonError as error:
        what = f"the JSON in {part.lines}: {error}"
        raise json_text.MalformedJsonError(what, line=error.line or part.line, column=error.column) from None


def _parts(text: str) -> Iterator[_Part]:
    """Split a text at its code fences, as Markdown does; a fence that nobody closes runs to the end."""
    held: list[str] = []
    first, opening, tag = 1, "", None
    for number, line in enumerate(text.split("\n"), 1):
        fence = _FENCE.fullmatch(line.rstrip("\r"))
        opens = fence is not None and not opening
        closes = fence is not None and bool(opening) and fence[1].startswith(opening) and not fence[2]
        if fence is None or not (opens or closes):
            held.append(line)
            continue
        yield _Part("\n".join(held), first, tag)
        held, first = [], number + 1
        opening, tag = (fence[1], fence[2].lower()) if opens else ("", None)
    yield _Part("\n".join(held), first, tag)
