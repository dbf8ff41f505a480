"""Characters that no URL, identifier or pattern may hold, since programs read them in different ways.

Many programs take blanks off the ends of a text, drop what cannot be seen, and read a character as the one
that it stands for (Unicode's form NFKC). Where a text is judged as it is written, all of these are refused.
"""

from __future__ import annotations

import re
import unicodedata

from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.system.text import is_hidden, is_ignored, quoted

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""A control character, or what some programs end a line at."""

BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
"""A `%` that begins no percent-escape."""


def check_text(text: str, max_bytes: int) -> None:
    """Refuse a text that is no valid Unicode, has too many bytes, or holds a control character.

    Raises:
        UnrepresentableError: If it is one of these.
    """
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise UnrepresentableError("is no valid Unicode text") from error
    if size > max_bytes:
        raise UnrepresentableError(f"has more than {max_bytes} bytes")
    if CONTROL.search(text):
        raise UnrepresentableError("has a control character")


def check_plain(text: str) -> None:
    """Refuse a text that is not its own trimmed NFKC form without hidden characters.

    Raises:
        UnrepresentableError: If a program that trims or normalises what it is given reads another text.
    """
    if text.isascii() and text.isprintable():
        if text.startswith(" ") or text.endswith(" "):
            raise UnrepresentableError("begins or ends with a blank")
        return
    if text != trimmed(text):
        raise UnrepresentableError("begins or ends with a blank or with a character that cannot be seen")
    hidden = next((character for character in text if is_hidden(character)), None)
    if hidden is not None:
        raise UnrepresentableError(f"has the hidden character U+{ord(hidden):04X}")
    composed = unicodedata.normalize("NFKC", text)
    if composed != text:
        raise UnrepresentableError(
            f"has characters that stand for others; written plainly it is {quoted(composed)}"
        )


def trimmed(text: str) -> str:
    """Return a text without the blanks and ignored characters at its ends: what some program takes off."""
    start, end = 0, len(text)
    while start < end and _is_blank(text[start]):
        start += 1
    while start < end and _is_blank(text[end - 1]):
        end -= 1
    return text[start:end]


def _is_blank(character: str) -> bool:
    return character == " " or is_ignored(character)
