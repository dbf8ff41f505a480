from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironcurtain.text import is_hidden, printable, quoted, visible

HOSTILE = ["\x1b[31m", "\u202e", "\u200b", "\n", "\r", "\x00", "\ud800", "\u3164", "\U000e0041", "\u00a0"]


@pytest.mark.parametrize("character", HOSTILE)
def test_what_cannot_be_seen_is_escaped(character: str) -> None:
    for shown in (visible(character), printable(character), quoted(character)):
        assert shown.isprintable()
        assert "\\" in shown


@given(st.text(), st.text())
def test_two_texts_never_look_the_same(one: str, other: str) -> None:
    assert (visible(one) == visible(other)) == (one == other)


@given(st.text(st.characters()))
def test_nothing_hidden_remains(text: str) -> None:
    assert not any(map(is_hidden, visible(text) + printable(text) + quoted(text)))


@given(st.text())
def test_printable_escapes_nothing_twice(text: str) -> None:
    assert printable(visible(text)) == visible(text)
    assert printable(printable(text)) == printable(text)


def test_a_long_text_is_cut_in_the_middle() -> None:
    assert quoted("a" * 100 + "b" * 100, limit=11) == '"aaaaa…bbbbb"'
