"""A YAML document is read as the parser in Python reads it, whichever parser reads it."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from ruamel.yaml import YAML, __with_libyaml__
from ruamel.yaml.error import YAMLError

from ironcurtain.errors import FormatError
from ironcurtain.system import json_text
from ironcurtain.system.yaml_text import parse, written

PIECES = [
    *("a", "b: ", "c:", ": ", " ", "  ", "\n", "\n  ", "\n- ", "- ", "{", "}", "[", "]", ", ", ","),
    *("'", '"', "#", " # a", "|", "|\n  ", ">-\n  ", "&x ", "*x", "? ", "!", "!!str ", "%a"),
    *("---\n", "...\n"),
    *("<<: ", "1", "0x1F", "0o7", "1e3", "1_0", "no", "null", "~", ".inf", "2020-01-01", "http://a:80/b"),
    *("\\", "\\u0041", "\t", "\r\n", "\x85", "\u2028", "\ufeff", "\x07", "\ud800", "é", "😀"),
    *("@", "`", "=", "-"),
]
REFUSED = "refused"


def _of_python(text: str) -> object:
    """Return what the parser in Python reads, if that is JSON."""
    try:
        value = YAML(typ="safe", pure=True).load(text)
        json_text.check(value, any_double=True)
    except (YAMLError, ValueError, TypeError, RecursionError):
        return REFUSED
    return value


def _of_ours(text: str) -> object:
    try:
        return parse(text, "a.yaml")
    except FormatError:
        return REFUSED


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
@example("{a:b}")
@example("[http://a]")
@example("a:\tb")
@example("a: b\u2028c: d")
@example("a: b\x85c: d")
@example("%YAML 1.1\n---\na: no")
@example("a: !\nb: ! c")
@example("{a: 1, a: 2}")
@example("a: 2020-13-45")
@example("--- 1\n--- 2")
@example("&a [*a]")
@example("a: &a {b: 1}\nc: {<<: *a, d: 2}")
@example("a: '\ud800'")
def test_a_document_is_read_as_by_the_parser_in_python(text: str) -> None:
    ours, pythons = _of_ours(text), _of_python(text)
    assert repr(ours) == repr(pythons)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("-:#[{'\"\\ \n|>&*!%?,")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_a_written_document_is_read_as_by_the_parser_in_python(value: object) -> None:
    text = written(value)  # type: ignore[arg-type]
    assert repr(_of_ours(text)) == repr(_of_python(text))


@pytest.mark.skipif(not __with_libyaml__, reason="ruamel.yaml.clib is not installed")
@pytest.mark.parametrize(
    "text",
    ["[" * 100_000 + "]" * 100_000, "- " * 100_000 + "a", "{a: " * 100_000],
    ids=["sequences", "block sequences", "mappings without end"],
)
def test_what_is_nested_too_deeply_is_told_and_ends_no_process(text: str) -> None:
    with pytest.raises(FormatError, match="not valid YAML"):
        parse(text, "a.yaml")
