"""Attack: another spelling of a denied identifier, which servers that trim or normalise take for it.

Held by: an identifier that is not its own trimmed NFKC form without hidden characters is unrepresentable.
"""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from support.called import answering, decide_with, one_tool
from support.projects.policies import rule, tool

from ironcurtain.decision.decide import Call

ROLES = [
    {"name": "channel", "description": "A chat channel.", "case": "fold"},
    {"name": "page", "description": "A page of a wiki.", "case": "exact", "separator": "/"},
    {"name": "key", "description": "A key in a store.", "case": "exact", "decode": "percent"},
]
ROLE_NAMES = ("channel", "page", "key", "remote-path")
NAMES = ("channel", "page", "key", "remote-path", "repository", "recipient")
ALLOWED = rule("else", "allow", roles=list(NAMES))
RULES = {
    name: [rule("not-secret", "deny", lists={"roles": [name], "allowed": ["secret"]}), ALLOWED]
    if name in ROLE_NAMES
    else [ALLOWED]
    for name in NAMES
}
POLICIES = {name: one_tool(tool("t", contained=False, x=[name]), RULES[name], roles=ROLES) for name in NAMES}
JOINED = {
    **tool("t", contained=False, a=["none"], b=["none"]),
    "composites": [{"role": "page", "join": ["a", "b"], "with": "/"}],
}
PARTS = one_tool(JOINED, RULES["page"], roles=ROLES)
FULL_WIDTH = "".join(chr(ord(c) + 0xFEE0) for c in "secret")
SPELLINGS = {
    "leading blank": " secret",
    "trailing blank": "secret ",
    "no-break blanks": "\u00a0secret",
    "no-break blank behind": "secret\u00a0",
    "narrow no-break blank": "secret\u202f",
    "ideographic blank": "\u3000secret",
    "blank of another alphabet": "secret\u1680",
    "zero-width blank": "\u200bsecret",
    "zero-width blank inside": "sec\u200bret",
    "byte order mark": "\ufeffsecret",
    "word joiner": "sec\u2060ret",
    "soft hyphen": "sec\u00adret",
    "combining joiner": "sec\u034fret",
    "variation selector": "secret\ufe0f",
    "filler": "secret\u3164",
    "tag": "secret\U000e0020",
    "full-width letters": FULL_WIDTH,
    "one full-width letter": f"\uff33{'ecret'}",
    "mathematical letters": "\U0001d42cecret",
    "long s": "\u017fecret",
}


def verdict(role: str, value: Any) -> tuple[str, str]:
    decision = decide_with(POLICIES[role], Call("s", "t", {"x": value}), answering(RULES[role]))
    return decision.verdict, decision.rule


UNREPRESENTABLE = ("deny", "structural-unrepresentable-argument")


@pytest.mark.parametrize("spelled", SPELLINGS.values(), ids=SPELLINGS)
@pytest.mark.parametrize("role", ROLE_NAMES)
def test_another_spelling_of_a_denied_identifier(role: str, spelled: str) -> None:
    assert verdict(role, "secret") == ("deny", "not-secret")
    assert verdict(role, "other") == ("allow", "else")
    assert verdict(role, spelled) == UNREPRESENTABLE


@pytest.mark.parametrize("spelled", SPELLINGS.values(), ids=SPELLINGS)
@pytest.mark.parametrize("role", ["key", "remote-path"])
def test_a_spelling_that_is_hidden_by_escapes(role: str, spelled: str) -> None:
    escaped = "".join(c if c.isascii() and c != " " else _escaped(c) for c in spelled)
    assert verdict(role, escaped) == UNREPRESENTABLE


def _escaped(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode())


@pytest.mark.parametrize("spelled", SPELLINGS.values(), ids=SPELLINGS)
def test_a_spelling_of_one_part_of_an_identifier(spelled: str) -> None:
    assert verdict("page", f"team/{spelled}/x") == UNREPRESENTABLE
    assert verdict("remote-path", f"team/{spelled}/x") == UNREPRESENTABLE
    for parts in ({"a": spelled, "b": "x"}, {"a": "x", "b": spelled}):
        decision = decide_with(PARTS, Call("s", "t", parts), answering(RULES["page"]))
        assert (decision.verdict, decision.rule) == UNREPRESENTABLE


@pytest.mark.parametrize("spelled", SPELLINGS.values(), ids=SPELLINGS)
def test_a_spelling_of_a_repository_or_an_address(spelled: str) -> None:
    """Of an address alone the blanks around it are dropped, from what is judged and from what is sent."""
    assert verdict("repository", f"acme/{spelled}") == UNREPRESENTABLE
    call = Call("s", "t", {"x": f"{spelled}@a.org"})
    decision = decide_with(POLICIES["recipient"], call, answering(RULES["recipient"]))
    if spelled.strip(" ") == "secret" and not spelled.endswith(" "):
        assert decision.arguments == {"x": "secret@a.org"}
    else:
        assert (decision.verdict, decision.rule) == UNREPRESENTABLE
    assert verdict("recipient", f"a@{spelled}.org") == UNREPRESENTABLE


@pytest.mark.parametrize(
    "value",
    [
        "Général",
        "Zürich Süd",
        "日本語",
        "한국어",
        "हिन्दी",
        "x\u0323\u0302y",
        "עברית",
        "🙂",
        "a-b_c.d",
        "C++ & more",
    ],
)
def test_what_people_write_stays_allowed(value: str) -> None:
    assert unicodedata.normalize("NFKC", value) == value
    assert verdict("page", value) == ("allow", "else")


@pytest.mark.parametrize("value", ["\ufb01x", "m\u00b2", "\u2116 1", "\u2122", "\u2026"])
def test_compatible_letters_are_refused_though_people_write_them(value: str) -> None:
    assert verdict("page", value) == UNREPRESENTABLE
