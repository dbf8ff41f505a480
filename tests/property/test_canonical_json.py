"""JSON is written by quick ways where these give the same bytes; the slow ways are the oracles."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from ironcurtain.system import json_text

EDGE = '"\\/\x00\x1f\x7f{}[]:,.e-0123456789\u00e9\ud7ff\ue000\uffff\U00010000'
TEXTS = st.text() | st.text(EDGE, max_size=24) | st.sampled_from(["1", "-1.5", "true", "null", 'a":1.5,"'])
LEAVES = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats() | TEXTS
KEYS = TEXTS | st.integers() | st.floats() | st.booleans() | st.none()
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner) | st.dictionaries(KEYS, inner, max_size=1),
    max_leaves=10,
)
DIFFERENT = {
    "largest": 2**53 - 1,
    "too large": 2**53,
    "too small": -(2**53),
    "a digit after the largest": [90071992547409911],
    "a digit before the largest": [19007199254740991],
    "the largest as a double": {"n": [9007199254740991.0]},
    "exponent": 1e16,
    "negative zero": -0.0,
    "not a number": [float("nan")],
    "integer as key": {1: 2},
    "boolean as key": {"a": {True: 1}},
    "keys beyond the first plane": {"\U00010000": 1, "\uffff": 2},
    "lone surrogate": "\ud800",
    "like a number in a text": {"d": "sha256:95e0:1.5"},
    "rows of a table in a text": {"rows": "a,1.5,-2e3,9007199254740993\n", "n": 1},
    "such a text beside a double": {"rows": "a,1.5\n", "n": [2.50]},
    "such a text beside keys in another order": {"rows": "a,1.5\n", "\U00010000": 1, "\ue000": 2},
    "no JSON": {"d": {1, 2}},
    "bytes as key": {b"a": 1},
    "a tuple": {"a": (1, "b")},
    "as many values as go the quickest way": {"\u00e9": [[]] * 254},
    "one more, out of order": {"\u00e9": [{"b": 1, "a": "\x1f\x7f\u2028"}] * 85},
}


def outcome(function: Callable[[Any], bytes | str], value: Any) -> object:
    """Return what is written, or the class and the words of the error."""
    try:
        return function(value)
    except Exception as error:  # noqa: BLE001 - whatever it is, it must be the same
        return type(error), str(error)


@given(VALUES)
def test_it_is_what_the_standard_says(value: Any) -> None:
    assert outcome(json_text.canonical, value) == outcome(rfc8785.dumps, value)


@pytest.mark.parametrize("name", DIFFERENT)
def test_where_the_quick_way_would_differ(name: str) -> None:
    assert outcome(json_text.canonical, DIFFERENT[name]) == outcome(rfc8785.dumps, DIFFERENT[name])


def indented(value: Any) -> str:
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


@given(VALUES | st.text(st.characters(codec=None)) | st.integers(10**4000, 10**4001))
def test_what_people_read_is_what_python_writes(value: Any) -> None:
    assert outcome(json_text.pretty, value) == outcome(indented, value)


@pytest.mark.parametrize("name", DIFFERENT)
def test_where_the_quick_way_of_indenting_would_differ(name: str) -> None:
    assert outcome(json_text.pretty, DIFFERENT[name]) == outcome(indented, DIFFERENT[name])


@pytest.mark.parametrize("depth", [100, 300])
def test_what_is_nested_deeply_is_written_alike(depth: int) -> None:
    value: Any = 1
    for _ in range(depth):
        value = {"in": [value]}
    assert outcome(json_text.pretty, value) == outcome(indented, value)
