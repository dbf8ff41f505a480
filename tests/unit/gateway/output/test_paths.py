"""The path language: what its texts mean, and what is said of those that are none."""

from __future__ import annotations

from typing import Any

import pytest

from ironcurtain.gateway.output.paths import AnyIndex, AnyKey, Deep, Index, Key, PathSyntaxError, parse
from ironcurtain.gateway.output.policy import OutputPolicy, UnfilterableError, mask, read_value
from ironcurtain.gateway.output.rules import OutputPolicyError

UNDERSTOOD = [
    (".", ()),
    (".name", (Key("name"),)),
    ('."any string"', (Key("any string"),)),
    ('.["any string"]', (Key("any string"),)),
    ('.a["b"]', (Key("a"), Key("b"))),
    (".[]", (AnyIndex(),)),
    (".[2].x", (Index(2), Key("x"))),
    (".a[].b", (Key("a"), AnyIndex(), Key("b"))),
    (".*", (AnyKey(),)),
    ("..email", (Deep("email"),)),
    ('.a.."e-mail"[0]', (Key("a"), Deep("e-mail"), Index(0))),
    ('."\\u00e9"', (Key("\u00e9"),)),
]

REFUSED = [
    ("", 1, "."),
    ("email", 1, "`.email`"),
    ("$.email", 1, "JSONPath"),
    ("[0]", 1, "`.[0]`"),
    ("*", 1, "`.name`"),
    ("..", 3, "`..name`"),
    ("..*", 3, "`..name`"),
    ("..[]", 3, "`..name`"),
    ("...a", 3, "`..name`"),
    (".a.", 4, "last dot"),
    (".a.[]", 4, "`.a[]`"),
    (".first-name", 7, '`."first-name"`'),
    (".9lives", 2, '`."9lives"`'),
    (".caf\u00e9", 5, '`."caf\u00e9"`'),
    (".a[1:2]", 4, "`[]`"),
    (".a[-1]", 4, "`[0]`"),
    (".a[*]", 4, "`[]`"),
    (".a[01]", 4, "`[0]`"),
    (".a['b']", 4, '`["name"]`'),
    (".a[b]", 4, '`["name"]`'),
    (".a?", 3, "Leave it out"),
    (".a | .b", 3, "quotes"),
    (".a|.b", 3, "one rule"),
    ('."a', 2, "Close it"),
    ('.["a"', 6, "`]`"),
    ('."\\x"', 2, "JSON"),
    ('."\\ud800"', 2, "JSON"),
    ("." + "a" * 1_000, 1_001, "Shorten"),
    (".a" * 33, 67, "Shorten"),
]


@pytest.mark.parametrize(("text", "steps"), UNDERSTOOD)
def test_a_path_means_its_steps(text: str, steps: tuple[Any, ...]) -> None:
    assert parse(text).steps == steps


@pytest.mark.parametrize("text", [text for text, _ in UNDERSTOOD])
def test_the_written_form_of_a_path_means_the_same(text: str) -> None:
    assert parse(str(parse(text))) == parse(text)


@pytest.mark.parametrize(("text", "position", "suggestion"), REFUSED)
def test_a_text_that_is_no_path_is_told_with_position_and_suggestion(
    text: str, position: int, suggestion: str
) -> None:
    with pytest.raises(PathSyntaxError) as told:
        parse(text)
    assert told.value.position == position
    assert suggestion in told.value.suggestion


def test_everything_that_is_wrong_with_a_policy_is_told_at_once() -> None:
    with pytest.raises(OutputPolicyError) as told:
        OutputPolicy.parse({"a": "allow", ".b": "hide", "..": "mask"})
    assert [problem.path for problem in told.value.problems] == ["a", ".b", ".."]


SAME = [(".a", '.["a"]'), ("..a", '.."a"'), (".a[0]", '.["a"][0]')]
NOT_SAME = [("..a", "..a..a"), (".a", ".a[]"), (".*", "..a"), (".a", "..a")]


@pytest.mark.parametrize(("one", "two"), SAME)
def test_two_actions_for_one_coverage_are_refused(one: str, two: str) -> None:
    with pytest.raises(OutputPolicyError, match="covers the same"):
        OutputPolicy.parse({one: "allow", two: "redact"})


@pytest.mark.parametrize(("one", "two"), NOT_SAME)
def test_two_actions_for_two_coverages_are_a_policy(one: str, two: str) -> None:
    assert len(OutputPolicy.parse({one: "allow", two: "redact"}).rules) == 2


EXAMPLES = [
    (
        {".customer.name.first_name": "allow", "..first_name": "redact"},
        {"customer": {"name": {"first_name": "Ann"}, "x": {"first_name": "Bob"}}},
        {"customer": {"name": {"first_name": "Ann"}}},
    ),
    (
        {".customer": "allow", "..email": "redact"},
        {"customer": {"email": "x", "id": 1}},
        {"customer": {"id": 1}},
    ),
    ({".customer": "redact", "..email": "allow"}, {"customer": {"email": "x"}, "email": "y"}, {"email": "y"}),
    (
        {".customer": "redact", ".customer.id": "allow"},
        {"customer": {"id": 1, "x": 2}},
        {"customer": {"id": 1}},
    ),
    ({".a": "mask"}, {"a": {"b": "text"}}, None),
    ({".a[]": "mask"}, {"a": ["text", 5, None, ""]}, {"a": ["t***t", None, ""]}),
    ({".a": "allow"}, {"a": {}}, {"a": {}}),
    ({".a[].b": "allow"}, {"a": []}, None),
    ({".a[].b": "allow"}, {"a": [{"c": 1}, {"b": 2}]}, {"a": [{"b": 2}]}),
    ({".a[]": "allow"}, {"a": {"0": "x"}}, None),
    ({".a.*": "allow"}, {"a": ["x"]}, None),
    ({".Name": "allow"}, {"name": "x", "Name": "y"}, {"Name": "y"}),
]


@pytest.mark.parametrize(("rules", "value", "left"), EXAMPLES)
def test_examples_of_the_specification(rules: dict[str, str], value: Any, left: Any) -> None:
    found = OutputPolicy.parse(rules).apply(value)
    assert (found.value, found.is_empty) == (left, left is None)


def test_masking_tells_nothing_of_a_length() -> None:
    assert [mask(text) for text in ("", "a", "abc", "abcd", "a" * 99)] == ["", "***", "***", "a***d", "a***a"]


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', "[NaN]", "[1", b'"\xff"', "[" * 100_000])
def test_text_that_two_parsers_could_read_differently_is_not_filtered(text: str | bytes) -> None:
    with pytest.raises(UnfilterableError):
        read_value(text)


def test_a_value_of_too_many_levels_or_nodes_is_not_filtered() -> None:
    deep: Any = "x"
    for _ in range(101):
        deep = [deep]
    wide: Any = [0] * 1_000_001
    for value in (deep, wide):
        with pytest.raises(UnfilterableError):
            OutputPolicy.parse({".": "allow"}).apply(value)
