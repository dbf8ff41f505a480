"""Text that a person who approves could misread: reordered, made of other letters, partly invisible.

Held by: escapes for what cannot be seen or looks like something else, and isolation of what is read from the
right.
"""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.records.approvals import written

from ironcurtain.enforcement.approvals.describe import describe
from ironcurtain.system.text import is_hidden, isolated, visible

MIXED = {
    "a Cyrillic a": ("p\u0430ypal", r"p\u0430ypal"),
    "a Greek o": ("g\u03bfogle", r"g\u03bfogle"),
    "an Armenian o": ("g\u0585\u0585gle", r"g\u0585\u0585gle"),
    "a Cherokee word": ("\u13a0\u13aa", r"\u13a0\u13aa"),
    "a whole word of Cyrillic": ("\u0430\u0440\u0440\u04cf\u0435", r"\u0430\u0440\u0440\u04cf\u0435"),
    "full width": ("\uff45\uff54\uff43", r"\uff45\uff54\uff43"),
    "mathematical letters": ("\U0001d41a\U0001d41b", r"\U0001d41a\U0001d41b"),
    "a Latin alpha": ("p\u0251ss", r"p\u0251ss"),
    "a fraction slash": ("a\u2044b", r"a\u2044b"),
    "a division slash": ("a\u2215b", r"a\u2215b"),
    "a dot leader": ("a\u2024txt", r"a\u2024txt"),
    "a colon-like letter": ("https\ua789//x", r"https\ua789//x"),
    "an accent of its own": ("e\u0301tc", r"e\u0301tc"),
    "marks on nothing": ("/\u0301etc", r"/\u0301etc"),
    "an overlay": ("a\u0338b", r"a\u0338b"),
    "an overlay on an ideograph": ("\u65e5\u0338\u672c", "\u65e5\\u0338\u672c"),
    "a point of another script": ("\u0e01\u05bc", "\u0e01\\u05bc"),
    "marks that cover what is above": ("\u0e01" + "\u0e49" * 6, "\u0e01" + "\u0e49" * 4 + "\\u0e49" * 2),
}
READ = [
    "été",
    "Ångström",
    "привет",
    "Ελλάδα",
    "日本語",
    "カタカナ",
    "한국어",
    "API文書",
    "हिन्दी",
    "か\u3099",
    "လျှော်",
    "ปี่",
    "naïve",
    "שלום",
    "سلام",
]
HEBREW = "\u05d0\u05d1\u05d2"
ARABIC = "\u0633\u0644\u0627\u0645"


@pytest.mark.parametrize("name", MIXED)
def test_letters_that_look_like_others(name: str) -> None:
    text, shown = MIXED[name]
    assert visible(text) == shown
    assert shown in describe(written(path=f"/srv/{text}/x", content=text))


@pytest.mark.parametrize("text", READ)
def test_what_people_write_stays_readable(text: str) -> None:
    assert visible(text) == text


def _displayed(line: str) -> list[str]:
    """Return the parts of a line in the order in which a reader from left to right sees them.

    Inside an isolate only its own text is reordered; everything outside must have no direction to the left.
    """
    parts, inside = [""], False
    for character in line:
        if character in "\u2068\u2069":
            inside = character == "\u2068"
            parts.append("")
            continue
        assert inside or unicodedata.bidirectional(character) not in {"R", "AL", "AN"}, line
        parts[-1] += character
    return parts


def test_letters_from_right_to_left_reorder_a_path() -> None:
    path = f"/srv/{HEBREW}/safe/{ARABIC}.txt"
    shown = describe(written(path=path))
    lines = [line for line in shown.splitlines() if HEBREW in line and ARABIC in line]
    assert lines
    for line in lines:
        seen = [part for part in _displayed(line) if part]
        assert seen.index(HEBREW) < seen.index("/safe/") < seen.index(ARABIC)
        assert line.count("\u2068") == line.count("\u2069")


def test_a_long_value_from_right_to_left_is_isolated_on_each_line() -> None:
    for line in describe(written(content=HEBREW * 100)).splitlines():
        assert line.count("\u2068") == line.count("\u2069") == (1 if HEBREW[0] in line else 0)
        _displayed(line)


IGNORABLE = [
    *("\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b\u180e\u180f\u200b\u200d\u202e\u2060\u2064\u206f"),
    *("\u3164\ufe00\ufe0f\ufeff\uffa0\ufff0\ufff8\ufffc\u2800"),
    *("\U0001bca0\U0001bca3\U0001d159\U0001d173\U0001d17a\U00016fe4\U000e0000\U000e0041\U000e01ef\U000e0fff"),
]


@pytest.mark.parametrize("character", IGNORABLE, ids=lambda c: f"{ord(c):04x}")
def test_whatever_is_default_ignorable_is_an_escape(character: str) -> None:
    assert is_hidden(character)
    assert character not in visible(f"a{character}b") + describe(written(content=f"a{character}b"))


def _undone(shown: str) -> str:
    named = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\"}
    text, n = "", 0
    while n < len(shown):
        if shown[n] != "\\":
            text, n = text + shown[n], n + 1
            continue
        kind = shown[n + 1]
        if kind not in {*named, "x", "u", "U"}:  # a backslash that stands for itself
            text, n = text + "\\", n + 1
            continue
        width = {"x": 2, "u": 4, "U": 8}.get(kind, 0)
        text += chr(int(shown[n + 2 : n + 2 + width], 16)) if width else named[kind]
        n += 2 + width
    return text


@given(st.text(st.characters(max_codepoint=sys.maxunicode)))
def test_whatever_is_shown_can_be_read_back(text: str) -> None:
    assert _undone(visible(text)) == text
    assert isolated(visible(text)).replace("\u2068", "").replace("\u2069", "") == visible(text)
