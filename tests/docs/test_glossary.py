"""docs/glossary.md: each term once, in order, and linked from every page at its first use there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
GLOSSARY = DOCS / "glossary.md"
ENTRIES = re.findall(r"^### (.+)\n\n((?:.+\n)+)", GLOSSARY.read_text(), re.MULTILINE)
TERMS = [term for term, _ in ENTRIES]
# Their texts are made from docstrings, options, tests and annotations.
MADE = {"api.md", "attacks.md", "commands.md"}
PAGES = sorted(path for path in DOCS.glob("*.md") if path != GLOSSARY and path.name not in MADE)
GLOSSARY_LINK = re.compile(r"\[([^\]]+)\]\(\S*glossary\.md#([a-z-]+)\)")
NO_PROSE = re.compile(r"^```.*?^```|^#+ [^\n]*$|`[^`\n]+`|\]\([^)\s]+\)", re.MULTILINE | re.DOTALL)


def test_each_term_is_there_once_and_in_order() -> None:
    assert sorted(set(TERMS), key=str.lower) == TERMS


@pytest.mark.parametrize(("term", "text"), ENTRIES, ids=TERMS)
def test_an_entry_has_one_to_three_sentences(term: str, text: str) -> None:
    sentences = re.findall(r"[.?!](?=\s|$)", re.sub(r"`[^`]*`", "", text))
    assert 1 <= len(sentences) <= 3, term


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_links_a_term_where_it_first_uses_it(page: Path) -> None:
    text = page.read_text()
    links = list(GLOSSARY_LINK.finditer(text))
    assert links or "(glossary.md)" in text
    for link in links:
        before = NO_PROSE.sub(" ", text[: link.start()])
        assert not re.search(rf"\b{re.escape(link[1])}\b", before, re.IGNORECASE), link[1]
