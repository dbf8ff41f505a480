from __future__ import annotations

import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ironcurtain.system.text import (
    cut,
    did_you_mean,
    in_quotes,
    is_hidden,
    marked,
    printable,
    quoted,
    visible,
)

HOSTILE = ["\x1b[31m", "\u202e", "\u200b", "\n", "\r", "\x00", "\ud800", "\u3164", "\U000e0041", "\u00a0"]


@pytest.mark.parametrize("character", HOSTILE)
def test_what_cannot_be_seen_is_escaped(character: str) -> None:
    for shown in (visible(character), printable(character), quoted(character)):
        assert shown.isprintable()
        assert "\\" in shown


ESCAPES = st.text(st.sampled_from([*'\\\\nrtxuU0a"d.\n', "\u202e", "\U000e0041", "\u0430"]))


@given(st.text() | ESCAPES, st.text() | ESCAPES)
@example("\\n", "\n")
@example("\\\n", "\\\\n")
@example('\\"', '"')
def test_two_texts_never_look_the_same(one: str, other: str) -> None:
    assert (visible(one) == visible(other)) == (one == other)
    assert (in_quotes(one) == in_quotes(other)) == (one == other)


@given(ESCAPES, ESCAPES)
def test_json_stays_json_and_hides_nothing(one: str, other: str) -> None:
    shown = [marked(json.dumps(text, ensure_ascii=False)) for text in (one, other)]
    assert (shown[0] == shown[1]) == (one == other)
    assert not any(map(is_hidden, "".join(shown)))
    assert "\U000e0041" in one or json.loads(shown[0]) == one


@given(ESCAPES)
def test_nothing_in_quotation_marks_ends_them(text: str) -> None:
    assert re.fullmatch(r'"(?:[^"\\]|\\.)*"', in_quotes(text))


@pytest.mark.parametrize("pattern", [r"\d{4}-\d\d", r"(?i)\bsecret\b.*", r"\.(?:md|rst)", r"C:\Programs"])
def test_a_pattern_is_shown_as_it_was_written(pattern: str) -> None:
    """`\\\\d{4}` in a report is another pattern than the one of the rule."""
    assert visible(pattern) == pattern
    assert visible(visible(pattern)) == pattern
    assert quoted(pattern) == in_quotes(pattern) == f'"{pattern}"'


@given(st.text(st.characters()))
def test_nothing_hidden_remains(text: str) -> None:
    assert not any(map(is_hidden, visible(text) + printable(text) + quoted(text)))


@given(st.text())
def test_printable_escapes_nothing_twice(text: str) -> None:
    assert printable(visible(text)) == visible(text)
    assert printable(printable(text)) == printable(text)


def test_a_long_text_is_cut_in_the_middle() -> None:
    assert quoted("a" * 100 + "b" * 100, limit=11) == '"aaaaa…bbbbb"'
    assert cut("a" * 10, limit=10) == "a" * 10


def test_a_hint_names_what_was_perhaps_meant() -> None:
    assert did_you_mean("filesytem", ["git", "filesystem"], "Known: all.") == 'Did you mean "filesystem"?'
    assert did_you_mean("x", iter(["git", "filesystem"]), "Known: all.") == "Known: all."
    assert did_you_mean("x", []) == ""
