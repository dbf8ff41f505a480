"""Whether what a call names stands in what the user wrote."""

from __future__ import annotations

from typing import Any

import pytest

from ironcurtain.enforcement.facts.user.said import said
from ironcurtain.enforcement.facts.user.words import UserWords
from ironcurtain.model.facts import SaidFact

NAMED = SaidFact(source="said", clause="C1", args=("/to", "/cc/*/address"))
IBAN = "DE89370400440532013000"
STANDS = [
    ("bob@example.com", "Mail Bob@Example.COM, please."),
    ("bob@example.com", "To: Bob <bob@example.com>"),
    ("bob@example.com", "`bob@example.com`?"),
    ("Ann  Lee", "Ask Ann\nLee!"),
    ("\uff42ob", "to bob"),
    ("/home/user/notes/a.txt", "Read ~/notes/a.txt."),
    ("/home/user/notes", "Tidy (~/notes/)"),
    ("/srv/data", "/srv/data/ is large"),
    ("https://example.com/", "See https://example.com."),
    ("https://example.com/a?b=1", "get https://example.com/a?b=1"),
    (IBAN, "to DE89 3704 0044 0532 0130 00."),
    ("de89 3704 0044 0532 0130 00", f"to {IBAN}"),
    ("100", "for 100\u20ac"),
    (100, "for \u20ac100."),
    (100, "pay 100,00 EUR"),
    (1000, "pay 1,000 EUR"),
    (1000, "pay 1.000 EUR"),
    (1234567.5, "1.234.567,50"),
    (12000, "12 000 people"),
    (-5, "add -5 to it"),
    (0.5, "0.5"),
    (12, "for \uff11\uff12 people"),
    ("m\u00b2", "a room in m\u00b2"),
    ("\ufb01le", "the file"),
    (["bob", "ann"], "Bob and Ann"),
]
DOES_NOT_STAND = [
    ("bob@example.com", "bob@example.com.evil.org"),
    ("bob@example.com", "jim.bob@example.com"),
    ("bob@example.com", "bob@example.com/x"),
    ("bob@example.com", "bob@example.com\u200bx"),
    ("b\u043eb", "bob"),
    ("info@stra\u00dfe.de", "info@strasse.de"),
    ("Ann", "Anna"),
    ("Ann", "Ann's"),
    ("a.txt", "notes/a.txt"),
    ("/home/user/notes/a.txt", "~/notes/a.txt.bak"),
    ("/home/other/a.txt", "~/a.txt"),
    ("/home/user/notes", "/notes"),
    ("https://example.com/", "https://example.com/a"),
    ("https://example.com/a", "https://example.com/a?b=1"),
    ("DE89370400440532013001", "DE89 3704 0044 0532 0130 01"),
    ("100", "1,100"),
    ("100", "100.50"),
    (100, "1100"),
    (100, "100.50"),
    (100, "100 000 EUR"),
    (0, "100 000 EUR"),
    (100, "100-200"),
    (100, "100k"),
    (100, "3.100.2"),
    (5, ".5"),
    (12, "1\u00b2"),
    (1, "1\u00b2"),
    (12, "\u2460\u2461"),
    (12, "1\u2082"),
    (1, "\u2460"),
    (112, "1\u00bd"),
    ("12", "1\u00b2"),
    ("m2", "m\u00b2"),
    ("ab", "a\u1d47"),
    ("viii", "\u2167"),
    ("kg", "\u338f"),
    (7, "007"),
    (1, "true"),
    (True, "true"),
    ("", "anything"),
    ("...", "wait ..."),
    (["bob", "eve"], "Bob and Ann"),
    ({"bob": "bob"}, "bob"),
]


@pytest.mark.parametrize(("value", "message"), STANDS)
def test_it_stands_as_a_whole(value: Any, message: str) -> None:
    assert said(NAMED, {"to": value}, UserWords("/home/user", [message])) is True


@pytest.mark.parametrize(("value", "message"), DOES_NOT_STAND)
def test_a_part_or_a_look_alike_does_not(value: Any, message: str) -> None:
    assert said(NAMED, {"to": value}, UserWords("/home/user", [message])) is False


def test_every_argument_that_is_there_counts() -> None:
    words = UserWords("/home/user", ["Mail Bob, with a copy to Ann"])
    assert said(NAMED, {"to": "bob", "cc": [{"address": "ann"}]}, words) is True
    assert said(NAMED, {"to": "bob", "cc": [{"address": "eve"}]}, words) is False
    assert said(NAMED, {"cc": [{"address": "ann"}]}, words) is True


@pytest.mark.parametrize("arguments", [{}, {"to": None}, {"to": []}, {"to": [], "cc": [{}]}, {"text": "bob"}])
def test_a_call_that_names_nothing_is_not_known(arguments: Any) -> None:
    assert said(NAMED, arguments, UserWords("/home/user", ["bob"])) is None


def test_nothing_stands_where_nothing_was_written() -> None:
    assert said(NAMED, {"to": "bob"}, UserWords("/home/user")) is False
