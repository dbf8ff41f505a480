"""YAML: what is nested too deeply is told, and what is written is read as the same value."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironcurtain.errors import FormatError
from ironcurtain.system.yaml_text import parse, written


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000 + "]" * 100_000, "- " * 100_000 + "a", "{a: " * 100_000],
    ids=["sequences", "block sequences", "mappings without end"],
)
def test_what_is_nested_too_deeply_is_told_and_ends_no_process(text: str) -> None:
    with pytest.raises(FormatError, match="not valid YAML"):
        parse(text, "a.yaml")


TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(
    ["\x85", "a\x85b", "\u2028", "<<", "no"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**15), 10**15) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_what_is_written_is_read_as_the_same_value(value: Any) -> None:
    assert parse(written({"value": value}), "a.yaml") == {"value": value}
