"""Making untrusted text safe to show: terminals, error messages, prompts, pages, reasons.

Whatever an agent, a server or a model wrote may carry terminal escapes, bidirectional overrides or
invisible characters, and letters that look like others. `visible` turns all of them into escapes that a
person can see; `isolated` keeps text that is written from right to left from moving what stands around it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache

# Letters and digits that the Unicode Consortium's table of confusables (15.1) gives as looking like one ASCII
# letter or digit, beside those that are compatible with one (full width, mathematical, superscript, …).
_LOOKALIKES = """
131 184 18d 196 1a6-1a7 1b7 1bc-1bd 1c0 21c 222-223 251 261 263 269-26a 26f 28b 28f 37a 37f 391-392
395-397 399-39a 39c-39d 39f 3a1 3a4-3a5 3a7 3b1 3b3 3b9 3bd 3bf 3c1 3c3 3c5 3d2 3dc 3e8 3f1-3f3
3f9-3fa 405-406 408 410 412 415 417 41a 41c-41e 420-423 425 42c 430-431 433 435 43e 440-441 443 445
455-456 458 461 474-475 4ae-4af 4bb 4bd 4c0 4cf 4e0 501 50c 51b-51d 54d 54f 555 561 563 566 570 578
57c-57d 581 584-585 6f1 6f5 6f7 966 9e6 9ea 9ed a66-a67 a6a ae6 b20 b66 b68 be6 c66 ce6 d20 d66 d6d
e50 ed0 101d 1040 10e7 10ff 1200 12d0 13a0-13a2 13a5 13a9-13ac 13b3 13b7 13bb 13bd 13c0 13c2-13c3
13ce-13cf 13d2 13d4-13d5 13d9-13da 13de-13df 13e2 13e6-13e7 13ee 13f3-13f4 142f 144c 146d 146f 1472
148d 14aa 14bf 1541 157c-157d 1587 15af 15b4 15c5 15de 15ea 15f0 15f7 16b7 16c1 16d5-16d6 1d04 1d0f
1d11 1d1c 1d20-1d22 1d26 1d83 1d8c 1e9d 1eff 1fbe 213d 2c85 2c8e 2c92 2c94 2c98 2c9a 2c9e-2c9f
2ca2-2ca6 2ca8 2cac 2cca 2ccc 2cd0 2cd2 2d38-2d39 2d4f 2d54-2d55 2d5d 3007 a4d0-a4d4 a4d6-a4d7
a4d9-a4da a4dc-a4dd a4df-a4e3 a4e6-a4e7 a4ea-a4ec a4ee a4f0 a4f2-a4f4 a644 a647 a6df a6ef a731 a75a
a76a a76e a798-a799 a79f a7ab a7b2-a7b4 ab32 ab35 ab3d ab47-ab48 ab4e ab52 ab5a ab75 ab81 ab83 ab93
aba9-abaa abaf 10282 10286-10287 1028a 10290 10292 10295-10297 102a0-102a2 102a5 102ab 102b0-102b2
102b4 102cf 10301-10302 10309 10311 10315 10317 1031a 10404 10415 1041b 10420 1042c 1043d 10448
104b4 104c2 104ce 104d2 104ea 104f6 10513 10516 10518 1051c-1051d 10525-10527 114d0 11706 1170a
1170e-1170f 118a0 118a2-118a4 118a6 118a9 118ac 118ae-118af 118b2 118b5 118b8 118bb-118bc
118c0-118c4 118c6 118c8 118ca 118cc 118d5-118d8 118dc 118e0 118e5-118e6 118e9 16f08 16f0a 16f16
16f28 16f35 16f3a-16f3b 16f40 16f42-16f43 1d6a4 1d6a8-1d6a9 1d6ac-1d6ae 1d6b0-1d6b1 1d6b3-1d6b4
1d6b6 1d6b8 1d6bb-1d6bc 1d6be 1d6c2 1d6c4 1d6ca 1d6ce 1d6d0 1d6d2 1d6d4 1d6d6 1d6e0 1d6e2-1d6e3
1d6e6-1d6e8 1d6ea-1d6eb 1d6ed-1d6ee 1d6f0 1d6f2 1d6f5-1d6f6 1d6f8 1d6fc 1d6fe 1d704 1d708 1d70a
1d70c 1d70e 1d710 1d71a 1d71c-1d71d 1d720-1d722 1d724-1d725 1d727-1d728 1d72a 1d72c 1d72f-1d730
1d732 1d736 1d738 1d73e 1d742 1d744 1d746 1d748 1d74a 1d754 1d756-1d757 1d75a-1d75c 1d75e-1d75f
1d761-1d762 1d764 1d766 1d769-1d76a 1d76c 1d770 1d772 1d778 1d77c 1d77e 1d780 1d782 1d784 1d78e
1d790-1d791 1d794-1d796 1d798-1d799 1d79b-1d79c 1d79e 1d7a0 1d7a3-1d7a4 1d7a6 1d7aa 1d7ac 1d7b2
1d7b6 1d7b8 1d7ba 1d7bc 1d7be 1d7c8 1d7ca
"""
_PUNCTUATION = frozenset(
    "\u02d0\u02dc\u02f8\u0589\u06f0\u1735\u1803\u1809\u2024\u2041\u2044\u2053\u205a\u2215\u2216\u2236\u223c"
    "\u2571\u27cb\u27cd\u29f5\u29f8\u29f9\u2cc6\u3033\u31d3\u31d4\ua4f8\ua4fd\ua60e\ua789\ufe30\ufe52\ufe55"
    "\ufe68\uff0e\uff0f\uff1a\uff20\uff3c\uff5e\ufe6b\u16ec"
)
"""What looks like `/`, `\\`, `.`, `:`, `~` or `@`, which tell the parts of paths and addresses apart."""
_TOGETHER = (
    frozenset({"LATIN", "CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "IDEOGRAPHIC"}),
    frozenset({"LATIN", "CJK", "HANGUL"}),
    frozenset({"LATIN", "CJK", "BOPOMOFO"}),
)
"""Scripts that are written together and that nobody takes for each other."""
_KANA = frozenset({"HIRAGANA", "KATAKANA"})
_SOUND_MARKS = frozenset("\u3099\u309a")
"""Marks that kana are written with; all others are named for the script of their letters."""
_MOST_MARKS = 4
"""Most marks that are written on one letter (Unicode Technical Standard 39, 5.4); more cover what is near."""


@cache
def _lookalikes() -> frozenset[str]:
    ends = [piece.partition("-") for piece in _LOOKALIKES.split()]
    return frozenset(chr(n) for a, _, b in ends for n in range(int(a, 16), int(b or a, 16) + 1))


def is_of_word(character: str) -> bool:
    """Tell whether a character is a letter, a digit or a mark on one."""
    return unicodedata.category(character)[0] in "LMN"


def misleading(text: str) -> frozenset[int]:
    """Return the places of a word, or of one character that is none, which a person could misread."""
    if not is_of_word(text[0]):
        return frozenset({0}) if text in _PUNCTUATION else frozenset()
    scripts = [_script(character) for character in text]
    places = {*_marks(text, scripts), *_compatible(text)}
    letters = [n for n, character in enumerate(text) if unicodedata.category(character)[0] == "L"]
    mixed = frozenset(scripts[n] for n in letters)
    if len(mixed) > 1 and not any(mixed <= together for together in _TOGETHER):
        main = "LATIN" if "LATIN" in mixed else scripts[letters[0]]
        places |= {n for n in letters if scripts[n] != main}
    elif all(text[n].isascii() or text[n] in _lookalikes() for n in letters):
        places |= {n for n, character in enumerate(text) if character in _lookalikes()}
    elif mixed == {"LATIN"}:
        places |= {n for n in letters if text[n] in _lookalikes()}
    return frozenset(places)


def _script(character: str) -> str:
    """Return a character's script: the first word of its name is it, or tells it apart as well."""
    return unicodedata.name(character, "").partition(" ")[0]


def _marks(text: str, scripts: list[str]) -> set[int]:
    """Return the marks that the letter before them is not written with."""
    found, script, marks = set(), "", 0
    for n, character in enumerate(text):
        kind = unicodedata.category(character)
        if kind[0] != "M":
            script, marks = scripts[n] if kind[0] == "L" else "", 0
            continue
        marks += kind != "Mc"  # those have a place of their own
        fits = script in _KANA if character in _SOUND_MARKS else script == scripts[n]
        if not fits or marks > _MOST_MARKS:
            found.add(n)
    return found


def _compatible(text: str) -> set[int]:
    """Return the letters and digits that are other forms of ASCII ones."""
    return {
        n
        for n, character in enumerate(text)
        if not character.isascii()
        and unicodedata.category(character) not in {"No", "Mn", "Mc", "Me"}
        and unicodedata.normalize("NFKC", character).isascii()
    }


# Categories whose characters programs drop or read as a blank: controls, formats (bidi, zero-width, tags),
# and separators other than the plain space. Of the others, surrogates, private use and unassigned are hidden.
_IGNORED_CATEGORIES = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs"})
_HIDDEN_CATEGORIES = _IGNORED_CATEGORIES | {"Cs", "Co", "Cn"}
# Characters of other categories that render as nothing or only alter their neighbour. With the categories
# that are ignored, these are all that Unicode (17.0) calls default-ignorable.
_HIDDEN_CHARACTERS = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u2065\u2800\u3164\uffa0\ufffc\U0001d159\U00016fe4"
)
_HIDDEN_RANGES = (
    range(0x180B, 0x1810),
    range(0xFE00, 0xFE10),
    range(0xFFF0, 0xFFF9),
    range(0xE0000, 0xE1000),
)
# What makes a backslash before it look like the beginning of an escape; behind the end anything may follow.
_BEHIND_BACKSLASH = frozenset(("", "\\", '"', "n", "r", "t", "x", "u", "U"))
_ISOLATE, _POP = "\u2068", "\u2069"
RIGHT_TO_LEFT = frozenset({"R", "AL", "AN"})
"""The bidirectional classes of characters that are written from the right."""


def is_hidden(character: str) -> bool:
    """Tell whether a person could overlook the character or be misled by it."""
    if " " <= character <= "~":
        return False
    return unicodedata.category(character) in _HIDDEN_CATEGORIES or is_ignored(character)


def is_ignored(character: str) -> bool:
    """Tell whether programs drop the character, or take it for a blank, other than the plain space."""
    return (
        unicodedata.category(character) in _IGNORED_CATEGORIES
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
        if kind in RIGHT_TO_LEFT and start is None:
            start = n
        elif start is not None and kind not in RIGHT_TO_LEFT and kind != "NSM":
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
    """Return a number with the name of what is counted: `1 scenario`, `2 scenarios`, `1,000 calls`."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that one which does not exist is most like; None where it is like none."""
    from difflib import get_close_matches  # noqa: PLC0415 - for mistakes only

    return next(iter(get_close_matches(name, list(known), n=1)), None)


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return a hint with the known name that was perhaps meant, or the other hint where none is like it."""
    meant = nearest(name, known)
    return f"Did you mean {quoted(meant)}?" if meant is not None else otherwise
