"""docs/glossary.md: each term once, in order, and linked from every page at its first use there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
GLOSSARY = DOCS / "glossary.md"
ENTRIES = re.findall(r"^### (.+)\n\n((?:.+\n)+)", GLOSSARY.read_text(), re.MULTILINE)
TERMS = [term for term, _ in ENTRIES]
LINK = re.compile(r"\[([^\]]+)\]\((?:\S*glossary\.md)?#([a-z-]+)\)")
GLOSSARY_LINK = re.compile(r"\[([^\]]+)\]\(\S*glossary\.md#([a-z-]+)\)")


def anchor(term: str) -> str:
    return term.lower().replace(" ", "-")


def test_each_term_is_there_once_and_in_order() -> None:
    assert sorted(set(TERMS), key=str.lower) == TERMS


@pytest.mark.parametrize(("term", "text"), ENTRIES, ids=TERMS)
def test_an_entry_has_one_to_three_sentences(term: str, text: str) -> None:
    sentences = re.findall(r"[.?!](?=\s|$)", re.sub(r"`[^`]*`", "", text))
    assert 1 <= len(sentences) <= 3, term


def test_links_within_the_glossary_name_its_terms() -> None:
    named = {place for text, place in LINK.findall(GLOSSARY.read_text())}
    assert named <= {anchor(term) for term in TERMS}


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: str(page.relative_to(DOCS)))
def test_links_to_the_glossary_name_its_terms(page: Path) -> None:
    named = {place for _, place in GLOSSARY_LINK.findall(page.read_text())}
    assert named <= {anchor(term) for term in TERMS}
