"""Making untrusted text safe to show: terminals, error messages, prompts, pages, reasons.

Whatever an agent, a server or a model wrote may carry terminal escapes, bidirectional overrides or
invisible characters. `visible` turns all of them into escapes that a person can see.
"""

from __future__ import annotations

import unicodedata

# Categories whose characters cannot be seen or change how others are seen: controls, formats (bidi,
# zero-width, tags), surrogates, private use, unassigned, and separators other than the plain space.
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
# Characters of visible categories that render as nothing or only alter their neighbour.
_HIDDEN_CHARACTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
_VARIATION_SELECTORS = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))


def is_hidden(character: str) -> bool:
    """Tell whether a person could overlook the character or be misled by it."""
    if character == " ":
        return False
    return (
        unicodedata.category(character) in _HIDDEN_CATEGORIES
        or character in _HIDDEN_CHARACTERS
        or any(ord(character) in block for block in _VARIATION_SELECTORS)
    )


def visible(text: str) -> str:
    r"""Return the text with every hidden character, and the backslash, as an escape.

    Escapes are `\n`, `\r`, `\t`, `\\`, `\xNN`, `\uNNNN` and `\UNNNNNNNN`. The result holds printable
    characters only, never breaks a line, and two different texts never look the same because of
    something invisible.
    """
    if text.isascii() and text.isprintable() and "\\" not in text:
        return text
    return "".join(_escape(character) for character in text)


def printable(text: str) -> str:
    """Return the text with every hidden character as an escape, and backslashes as they are.

    For sentences of ours whose untrusted parts went through `visible` or `quoted` already: nothing is
    escaped twice, and whatever was forgotten still cannot harm a terminal.
    """
    return "".join("\\" if character == "\\" else _escape(character) for character in text)


def _escape(character: str) -> str:
    if character == "\\":
        return "\\\\"
    if not is_hidden(character):
        return character
    named = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(character)
    if named:
        return named
    point = ord(character)
    if point <= 0xFF:  # noqa: PLR2004 - the width of the escape
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}"  # noqa: PLR2004 - as above


def quoted(text: str, limit: int = 120) -> str:
    """Return the text visible, in double quotes, cut in the middle where it exceeds `limit` characters."""
    shown = visible(text)
    if len(shown) > limit:
        half = (limit - 1) // 2
        shown = f"{shown[:half]}…{shown[-half:]}"
    return f'"{shown}"'
