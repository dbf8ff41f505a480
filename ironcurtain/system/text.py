"""Making untrusted text safe to show: terminals, error messages, prompts, pages, reasons.

Whatever an agent, a server or a model wrote may carry terminal escapes, bidirectional overrides or
invisible characters, and letters that look like others. `visible` turns all of them into escapes that a
person can see; `isolated` keeps text that is written from right to left from moving what stands around it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from ironcurtain.system.lookalikes import is_of_word, misleading

# Categories whose characters cannot be seen or change how others are seen: controls, formats (bidi,
# zero-width, tags), surrogates, private use, unassigned, and separators other than the plain space.
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
# Characters of visible categories that render as nothing or only alter their neighbour. With the categories
# above, these are all that Unicode calls default-ignorable.
_HIDDEN_CHARACTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufffc\U0001d159\U00016fe4")
_HIDDEN_RANGES = (range(0x180B, 0x1810), range(0xFE00, 0xFE10), range(0xE0000, 0xE1000))
# What makes a backslash before it look like the beginning of an escape; behind the end anything may follow.
_BEHIND_BACKSLASH = frozenset(("", "\\", '"', "n", "r", "t", "x", "u", "U"))
_ISOLATE, _POP = "\u2068", "\u2069"
_RIGHT_TO_LEFT = frozenset({"R", "AL", "AN"})


def is_hidden(character: str) -> bool:
    """Tell whether a person could overlook the character or be misled by it."""
    if character == " ":
        return False
    return (
        unicodedata.category(character) in _HIDDEN_CATEGORIES
        or character in _HIDDEN_CHARACTERS
        or any(ord(character) in block for block in _HIDDEN_RANGES)
    )


def visible(text: str) -> str:
    r"""Return the text with every hidden character as an escape.

    Escapes are `\n`, `\r`, `\t`, `\\`, `\xNN`, `\uNNNN` and `\UNNNNNNNN`. A backslash is escaped where it
    could be taken for the beginning of one of these, and stays in `\d` or `C:\Programs`. The result holds
    printable characters only, never breaks a line, and two different texts never look the same because of
    something invisible.
    """
    if text.isascii() and text.isprintable() and "\\" not in text:
        return text
    shown = [*map(_shown, _parts(text))]
    following = (*(part[:1] for part in shown[1:]), "")
    return "".join(
        "\\\\" if part == "\\" and behind in _BEHIND_BACKSLASH else part
        for part, behind in zip(shown, following, strict=True)
    )


def marked(text: str) -> str:
    """Return a text that has escapes of its own, such as JSON, visible: its backslashes stay as they are."""
    return "".join(map(_shown, _parts(text)))


def isolated(text: str) -> str:
    """Return a text of one line, all of which is safe to show, that is read from left to right.

    What is written from right to left stands between isolating characters: it keeps its own order, and
    does not reorder what stands before and after it.
    """
    if text.isascii():
        return text
    shown, end = "", 0
    for start, stop in _runs(text):
        shown += text[end:start] + _ISOLATE + text[start:stop] + _POP
        end = stop
    return shown + text[end:]


def _runs(text: str) -> Iterator[tuple[int, int]]:
    """Yield where characters stand that are written from right to left, with the marks on them."""
    start = None
    for n, character in enumerate(f"{text} "):
        kind = unicodedata.bidirectional(character)
        if kind in _RIGHT_TO_LEFT and start is None:
            start = n
        elif start is not None and kind not in _RIGHT_TO_LEFT and kind != "NSM":
            yield start, n
            start = None


def _parts(text: str) -> Iterator[str]:
    """Yield a text in parts: words, and one by one what is between them."""
    word = ""
    for character in text:
        if is_of_word(character):
            word += character
            continue
        if word:
            yield word
            word = ""
        yield character
    if word:
        yield word


def _shown(part: str) -> str:
    if part.isascii():
        return "".join(map(_escape, part))
    bad = misleading(part)
    return "".join(_number(character) if n in bad else _escape(character) for n, character in enumerate(part))


def printable(text: str) -> str:
    """Return the text with every hidden character as an escape, and backslashes as they are.

    For sentences of ours whose untrusted parts went through `visible` or `quoted` already: nothing is
    escaped twice, and whatever was forgotten still cannot harm a terminal.
    """
    return "".join(map(_escape, text))


def _escape(character: str) -> str:
    if not is_hidden(character):
        return character
    named = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(character)
    if named:
        return named
    return _number(character)


def _number(character: str) -> str:
    point = ord(character)
    if point <= 0xFF:  # noqa: PLR2004 - the width of the escape
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}"  # noqa: PLR2004 - as above


def quoted(text: str, limit: int = 120) -> str:
    """Return the text visible, in double quotes, cut in the middle where it exceeds `limit` characters."""
    return f'"{cut(visible(text), limit)}"'


def in_quotes(text: str) -> str:
    """Return the whole text visible, in double quotes; its own double quotes are escaped."""
    return '"' + visible(text).replace('"', '\\"') + '"'


def cut(text: str, limit: int = 120) -> str:
    """Return the text, cut in the middle where it exceeds `limit` characters."""
    half = (limit - 1) // 2
    return text if len(text) <= limit else f"{text[:half]}…{text[-half:]}"


def counted(number: int, one: str, many: str = "") -> str:
    """Return a number with the name of what is counted: `1 scenario`, `2 scenarios`, `1,000 calls`.

    Args:
        number: How many there are.
        one: The name of one.
        many: The name of several, where that is not the name of one and an `s`.
    """
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
