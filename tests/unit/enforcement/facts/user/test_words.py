"""What of a message is the user's own."""

from __future__ import annotations

import pytest

from ironcurtain.enforcement.facts.user.words import UserWords, folded


@pytest.mark.parametrize(
    ("message", "own"),
    [
        ("Mail Bob.", ["mail bob."]),
        ("a ```b``` c", ["a", "c"]),
        ("a\n~~~\nb\n~~~\nc", ["a", "c"]),
        ("a ``` b", ["a"]),
        ("a ``` b ``` c ``` d", ["a", "d"]),
        ("a ~~~ b ``` c", ["a", "c"]),
        ("a `b` c", ["a `b` c"]),
        ("a\n> b\nc\n\nd", ["a", "d"]),
        ("a\n  > b\n\n> c", ["a"]),
        ("\uff1e b", []),
        ("\uff40\uff40\uff40 b", []),
        ("a\u2028> b", ["a"]),
        ("a > b", ["a > b"]),
        ("a\n b", ["a b"]),
        ("", []),
    ],
)
def test_fences_and_quotes_are_not_the_users_words(message: str, own: list[str]) -> None:
    assert list(UserWords("/home/user", [message]).pieces) == own


def test_no_value_stands_across_two_messages() -> None:
    assert UserWords("/home/user", ["Ann", "Lee"]).pieces == ("ann", "lee")


def test_what_is_forgotten_was_never_said() -> None:
    words = UserWords("/home/user", ["Bob"])
    words.forget()
    assert words.pieces == ()


def test_letters_that_domain_names_tell_apart_stay_apart() -> None:
    assert folded("STRA\u00dfE") == "stra\u00dfe" != folded("STRASSE")
    assert folded("\u1e9e") == "\u00df"
