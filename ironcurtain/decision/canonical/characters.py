"""Characters that no URL, identifier or pattern may hold, since programs read them in different ways."""

from __future__ import annotations

import re

from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError

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
