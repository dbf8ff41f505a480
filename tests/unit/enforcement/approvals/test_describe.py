"""What a person reads about a request is all of it, and can be read in one way only."""

from __future__ import annotations

import ast
import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.approvals import judge
from support.called import one_tool
from support.policies import rule, tool

from ironcurtain.enforcement.approvals.describe import describe
from ironcurtain.enforcement.approvals.messages import ApprovalRequest

RULES = [rule("ask", "escalate", tool=["keep"])]
POLICY = one_tool(tool("keep", value=["none"]), RULES)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


def asked(value: object) -> ApprovalRequest:
    return judge(POLICY, RULES, "keep", {"value": value}).request()


def shown(request: ApprovalRequest, width: int = 78) -> list[str]:
    """Return the lines about the arguments, joined where they were broken."""
    text = describe(request, width=width)
    lines: list[str] = []
    for line in text.split("  arguments:\n")[1].split("  what it touches:")[0].splitlines():
        assert line[:6] in ("    | ", "    : ")
        if line[4] == "|":
            lines.append(line[6:])
        else:
            lines[-1] += line[6:]
    return lines


@given(VALUES, st.integers(24, 100))
def test_no_character_of_a_value_is_lost_hidden_or_ours(value: object, width: int) -> None:
    request = asked(value)
    text = describe(request, width=width)
    assert all(character == "\n" or character.isprintable() for character in text)
    for line in text.splitlines():
        columns = sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)
        assert columns <= width
    if isinstance(value, str):
        lines = shown(request, width)
        several = lines if len(lines) == 1 else lines[1:]
        literals = [line.partition(" = ")[2] if len(lines) == 1 else line for line in several]
        assert "".join(ast.literal_eval(each) for each in literals) == value


@pytest.mark.parametrize("value", [0, -1.5, True, False, None, [], {}], ids=json.dumps)
def test_other_values_stand_as_json(value: object) -> None:
    lines = shown(asked({"x": value}))
    assert lines == [f"/value/x = {json.dumps(value)}"]


def test_a_name_that_looks_like_a_value_is_quoted() -> None:
    assert shown(asked({'a = "b"': "c"})) == [r'/value/"a = \"b\"" = "c"']


def test_two_requests_that_differ_are_shown_differently() -> None:
    values = ["a\nb", r"a\nb", "a b", "a\u00a0b", "ab", "a\u200bb", 'a"b', r"a\"b", 1, "1", None, "null"]
    values += [
        [],
        "[]",
        ["a", "b"],
        {"0": "a", "1": "b"},
        {"[0]": "a", "[1]": "b"},
        {"": {"x": 1}},
        {"/x": 1},
    ]
    values += [
        {"~1x": 1},
        {"a[0]": 1},
        {"a": [1]},
        {"a": {"[0]": 1}},
        {"a/b": 1},
        {"a": {"b": 1}},
        {'a"/"b': 1},
    ]
    texts = {"\n".join(shown(asked(value))) for value in values}
    assert len(texts) == len(values)
