"""A YAML document that is nested too deeply is told, and ends no process."""

from __future__ import annotations

import pytest

from ironcurtain.errors import FormatError
from ironcurtain.system.yaml_text import parse


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000 + "]" * 100_000, "- " * 100_000 + "a", "{a: " * 100_000],
    ids=["sequences", "block sequences", "mappings without end"],
)
def test_what_is_nested_too_deeply_is_told_and_ends_no_process(text: str) -> None:
    with pytest.raises(FormatError, match="not valid YAML"):
        parse(text, "a.yaml")
