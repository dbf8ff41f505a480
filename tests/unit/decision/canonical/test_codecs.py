"""Codecs: what is judged is what the tool reads from what it is sent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironcurtain.decision.canonical.codecs import decode, encode
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.model.annotations import Codec

DECODED: list[tuple[Codec, str, list[str]]] = [
    ("comma", "a", ["a"]),
    ("comma", " a , b ", ["a", "b"]),
    ("json", '["a","b,c"]', ["a", "b,c"]),
    ("json", '"a"', ["a"]),
    ("json", "[]", []),
    ("json-or-comma", "a,b", ["a", "b"]),
    ("json-or-comma", ' ["a"]', ["a"]),
    ("addresses", "a@x.org, b@x.org; c@x.org", ["a@x.org", "b@x.org", "c@x.org"]),
    ("addresses", '"Doe, J" <j@x.org>, b@x.org', ['"Doe, J" <j@x.org>', "b@x.org"]),
]


@pytest.mark.parametrize(("codec", "text", "values"), DECODED)
def test_decode(codec: Codec, text: str, values: list[str]) -> None:
    assert decode(codec, text) == values


@pytest.mark.parametrize(
    ("codec", "text"),
    [
        ("comma", ""),
        ("comma", "a,,b"),
        ("comma", ","),
        ("comma", "a, "),
        ("json", "a"),
        ("json", "{}"),
        ("json", "[1]"),
        ("json", "[null]"),
        ("json", '[["a"]]'),
        ("json", '[{"path":"a"}]'),
        ("json", '[""]'),
        ("json", '["a"] x'),
        ("json", '["\\ud800"]'),
        ("json-or-comma", "[a,b]"),
        ("json-or-comma", '["a"'),
        ("json-or-comma", '{"path":"a"}'),
        ("json-or-comma", "null"),
        ("json-or-comma", "42"),
        ("addresses", ""),
        ("addresses", "a@x.org,"),
        ("addresses", '"a@x.org, b@x.org'),
        ("addresses", "<a@x.org, b@x.org"),
    ],
)
def test_what_does_not_decode_is_unrepresentable(codec: Codec, text: str) -> None:
    with pytest.raises(UnrepresentableError):
        decode(codec, text)


@pytest.mark.parametrize(
    ("codec", "value"),
    [
        ("comma", "a,b"),
        ("comma", " a"),
        ("json-or-comma", "[a"),
        ("json-or-comma", '"a"'),
        ("addresses", "a@x.org;b@x.org"),
    ],
)
def test_a_value_that_the_tool_would_split_is_never_sent(codec: Codec, value: str) -> None:
    with pytest.raises(UnrepresentableError):
        encode(codec, "plain", [value])


@given(st.sampled_from(["comma", "json", "json-or-comma", "addresses"]), st.text(), st.lists(st.text()))
def test_whatever_is_encoded_decodes_to_the_values_that_were_judged(
    codec: Codec, original: str, values: list[str]
) -> None:
    try:
        sent = encode(codec, original, values)
    except (UnrepresentableError, IndexError):
        return
    if decode(codec, sent) != values:
        assert original.lstrip().startswith('"'), "a form other than the original one"


@given(st.sampled_from(["comma", "json", "json-or-comma", "addresses"]), st.text(max_size=40))
def test_a_text_that_was_sent_is_a_fixed_point(codec: Codec, text: str) -> None:
    try:
        sent = encode(codec, text, decode(codec, text))
    except UnrepresentableError:
        return
    assert encode(codec, sent, decode(codec, sent)) == sent
