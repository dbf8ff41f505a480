"""Strict JSON: every item of step 1."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ironcurtain.system import json_text
from ironcurtain.system.json_text import MalformedJsonError

DEEP, DEEPEST = "[" * 65 + "]" * 65, "[" * 64 + "]" * 64
MANY_KEYS = "{" + ",".join(f'"{n}":1' for n in range(90_000)) + ',"89999":2}'


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"a":1}',
        '{"a":{"b":1,"b":2}}',
        '{"a":1,"\\u0061":2}',
        MANY_KEYS,
        "NaN",
        "[Infinity]",
        "[-Infinity]",
        "1e400",
        "[-1e400]",
        "9007199254740992",
        "-9007199254740992",
        "9007199254740992.0",
        "[-1e16]",
        "1e300",
        "1" * 5000,
        '"\\ud800"',
        '{"\\udc00":1}',
        b'"\xff"',
        b'"\xed\xa0\x80"',
        b'\xef\xbb\xbf{"a":1}',
        DEEP,
        "[" * 100_000,
        '{"a":' * 70 + "1" + "}" * 70,
        '"' + "a" * (1 << 20) + '"',
        "",
        "{} {}",
        "{'a':1}",
        "[1,]",
        "01",
        '"\t"',
    ],
)
def test_what_two_parsers_could_read_differently_is_refused(text: str | bytes) -> None:
    with pytest.raises(MalformedJsonError):
        json_text.parse(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("9007199254740991", 9007199254740991),
        ("-9007199254740991", -9007199254740991),
        ("9007199254740991.0", 9007199254740991),
        ("-1e-300", -1e-300),
        ('"\\ud83d\\ude00"', "\U0001f600"),
        ('{"a":{"a":1}}', {"a": {"a": 1}}),
        (" [] ", []),
    ],
)
def test_strict_json_is_read(text: str, value: Any) -> None:
    assert json_text.parse(text) == value


def test_a_file_may_state_bounds_that_no_call_reaches() -> None:
    assert json_text.parse('{"maximum": 1e300}', any_double=True) == {"maximum": 1e300}
    with pytest.raises(MalformedJsonError):
        json_text.parse('{"maximum": 1e400}', any_double=True)


def test_sixty_four_levels_are_the_most() -> None:
    assert json_text.parse(DEEPEST) == json_text.plain(json_text.parse(DEEPEST))


def _ring() -> list[Any]:
    ring: list[Any] = []
    ring.append(ring)
    return ring


def _wide() -> list[Any]:
    row = [0] * 100_000
    return [[row] * 100_000] * 100_000


@pytest.mark.parametrize(
    "value",
    [
        {1: "a"},
        {None: 1},
        [float("nan")],
        [float("inf")],
        9007199254740992,
        [1e300],
        {"a": b"bytes"},
        {"a": {1, 2}},
        ["\ud800"],
        {"\udfff": 1},
        object(),
        _ring(),
        _wide(),
        "a" * ((1 << 20) + 1),
        [1] * 600_000,
        {f"k{n}": None for n in range(200_000)},
        ["a" * 1000] * 1100,
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_no_json_text_can_hold_is_refused_in_parsed_values_too(value: Any) -> None:
    with pytest.raises(MalformedJsonError):
        json_text.plain(value)


class Changing(dict[str, Any]):
    """A mapping that shows one value to whoever checks it and another one to whoever uses it."""

    asked = 0

    def __getitem__(self, key: str) -> Any:
        self.asked += 1
        return "/safe" if self.asked < 2 else "/etc/shadow"


def test_a_parsed_value_becomes_plain_lists_and_dicts() -> None:
    found = json_text.plain({"a": ("x", (1,)), "b": Changing(p="/safe")})
    assert found == {"a": ["x", [1]], "b": {"p": "/safe"}}
    assert type(found["b"]) is dict


def test_a_parsed_value_is_held_to_the_limit_of_numbers_as_its_text_is() -> None:
    for value in (1e16, -1e300, 2.0**53):
        with pytest.raises(json_text.MalformedJsonError, match="beyond"):
            json_text.check({"n": [value]})
        json_text.check({"n": [value]}, any_double=True)
    with pytest.raises(json_text.MalformedJsonError):
        json_text.check([float("inf")], any_double=True)
    json_text.check([0.5, 2.0**53 - 1])


class Subclass(str):
    """A text that is no plain one."""

    __slots__ = ()


@pytest.mark.parametrize(
    "value", [{}, {"a": [1, -0.0, 1.5, None, True, "é"]}, {"a": "x" * 20_000}, [["a"] * 20_000], {"é": "ẞ"}]
)
def test_plain_returns_what_the_text_of_the_value_says(value: Any) -> None:
    found = json_text.plain(value)
    assert json.dumps(found) == json.dumps(json_text.parse(json.dumps(value))) == json.dumps(value)


def test_plain_shares_nothing_with_the_value() -> None:
    value: dict[str, Any] = {"a": [{"b": 1}]}
    found: Any = json_text.plain(value)
    value["a"][0]["b"] = 2
    assert found == {"a": [{"b": 1}]}


@pytest.mark.parametrize("value", [Subclass("a"), {Subclass("k"): 1}, [Subclass("a")]])
def test_plain_makes_plain_texts_of_subclasses(value: Any) -> None:
    found: Any = json_text.plain(value)
    texts = [found] if isinstance(found, str) else [*found]
    assert {type(each) for each in texts} == {str}


@pytest.mark.parametrize(
    "value", [{1: 2}, {None: 1}, {"a": float("nan")}, {"a": 1 << 60}, {"a": "\ud800"}, {"\ud800": 1}]
)
def test_plain_refuses_small_values_that_no_strict_text_holds(value: Any) -> None:
    with pytest.raises(json_text.MalformedJsonError):
        json_text.plain(value)


def test_a_byte_order_mark_is_refused() -> None:
    with pytest.raises(json_text.MalformedJsonError, match="byte order mark"):
        json_text.parse("\ufeff{}")
