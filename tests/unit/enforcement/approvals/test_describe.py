"""What a person reads about a request is all of it, and can be read in one way only."""

from __future__ import annotations

import ast
import json
import unicodedata
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.called import one_tool
from support.projects.policies import rule, tool
from support.records.approvals import judge, written

from ironcurtain.enforcement.approvals.describe import columns_of, describe, effect_of, rows
from ironcurtain.enforcement.approvals.messages import ApprovalRequest, ApprovalStatus
from ironcurtain.model.decision import ResourceDecision
from ironcurtain.model.verdict import Verdict

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


def test_what_the_call_does_stands_before_why_it_is_asked() -> None:
    text = describe(written("/srv/docs/a.txt"))
    names = ["tool", "effects", "arguments", "what it touches", "why", "rule", "session", "asked", "digest"]
    places = [text.index(f"\n  {name}:") for name in names]
    assert places == sorted(places)
    assert "\n  tool: | s write_file\n" in text


LONG = "/srv/" + "directory/" * 30 + "file.txt"
FORGED = "0123456789abcdef  9:59 left  s write_file"


def subject(role: str, value: str, verdict: Verdict = Verdict.ESCALATE) -> ResourceDecision:
    return ResourceDecision(at="/x", role=role, value=value, verdict=verdict, rule="r")


def row_of(request: ApprovalRequest, width: int | None) -> list[str]:
    status = ApprovalStatus(id=request.id, state="pending", request=request)
    return rows(status, request.asked + timedelta(seconds=18), width)


def about(*subjects: ResourceDecision, **other: Any) -> ApprovalRequest:
    return written().model_copy(update={"subjects": subjects, **other})


def test_a_row_says_what_the_call_is_about_in_one_wide_line() -> None:
    request = written("/srv/docs/a.txt")
    [line] = row_of(request, 200)
    assert line.startswith(f'{request.id}  9:42 left   s write_file  changes "/srv/docs/a.txt"  ')


def test_a_row_shows_the_arguments_that_tell_calls_apart() -> None:
    """It said of a call without resources that it may change something, and of two calls the same."""
    request = judge(POLICY, RULES, "keep", {"value": {"title": "Milk", "tags": ["a", "b"], "n": 1}}).request()
    [line] = row_of(request, None)
    assert '  value/title="Milk", value/tags[0]="a", value/tags[1]="b", 1 more  ' in line
    [line] = row_of(written("/srv/docs/a.txt", content="x" * 200), None)
    assert f'  changes "/srv/docs/a.txt"  content="{"x" * 19}' in line
    assert "x" * 50 not in line


def test_a_narrow_row_breaks_between_its_parts() -> None:
    request = written("/srv/docs/a.txt")
    lines = row_of(request, 50)
    assert lines[0] == f"{request.id}  9:42 left   s write_file"
    assert lines[1] == '    | changes "/srv/docs/a.txt"'


@pytest.mark.parametrize("width", [24, 50, 80, 200])
@pytest.mark.parametrize(
    "path", [LONG, "/srv/" + "長い名前" * 20, "/srv/" + "שלום " * 30, f"/srv/\n{FORGED}"]
)
def test_no_line_of_a_row_is_wider_than_the_terminal(path: str, width: int) -> None:
    request = about(subject("write-path", path))
    first, *others = row_of(request, width)
    assert first.startswith(request.id)
    assert all(line.startswith(("    | ", "    : ")) for line in others)
    for line in (first, *others):
        assert sum(columns_of(each) for each in line if each not in "\u2068\u2069") <= width


def test_where_no_terminal_is_a_row_is_one_line() -> None:
    assert len(row_of(about(subject("write-path", LONG)), None)) == 1


@pytest.mark.parametrize(
    ("subjects", "said"),
    [
        ([subject("read-path", "/etc/hostname")], 'reads "/etc/hostname"'),
        ([subject("fetch-url", "https://a.example/x?q=1")], 'contacts "https://a.example/x?q=1"'),
        (
            [subject("read-path", "/a", Verdict.ALLOW), subject("write-path", "/b")],
            'changes "/b", reads "/a"',
        ),
        ([subject("read-path", "/a"), subject("delete-path", "/a")], 'reads and deletes "/a"'),
        ([subject("write-path", "/a"), subject("write-path", "/b")], 'changes "/a", "/b"'),
        ([subject("channel", "#general")], 'is about the channel "#general"'),
        ([subject("read-path", f"/{n}") for n in range(9)], 'reads "/0", "/1", "/2", and 6 more'),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_resources_stand_in_a_row_in_canonical_form(subjects: list[ResourceDecision], said: str) -> None:
    assert f"  {said}  " in row_of(about(*subjects), None)[0]


@pytest.mark.parametrize(
    ("side_effects", "said"), [(True, "may change something"), (False, "changes nothing")]
)
def test_a_call_that_names_nothing(side_effects: bool, said: str) -> None:
    nothing = subject("none", "")
    asked_about = about(nothing, side_effects=side_effects, arguments={})
    assert f"  {said}  " in row_of(asked_about, None)[0]


def test_a_name_that_looks_like_columns_is_quoted() -> None:
    request = written().model_copy(update={"tool": "read  9:59 left  x"})
    assert 's "read  9:59 left  x"' in row_of(request, None)[0]


READ, WRITE = subject("read-path", "/a"), subject("write-path", "/b")
URL = subject("git-remote-url", "https://a.example/r.git")
CALL = subject("none", "")
UNKNOWN = (
    "What this call changes is not known: it names nothing, and its tool is annotated to change something."
)


UNKNOWN_TOO = "Whether it changes something as well is not known."


@pytest.mark.parametrize(
    ("subjects", "side_effects", "said"),
    [
        ([READ], False, 'This call reads "/a". It changes nothing, as its tool is annotated.'),
        (
            [READ],
            True,
            'This call reads "/a". Whether it changes something as well is not known.',
        ),
        ([WRITE], True, 'This call changes "/b".'),
        ([READ, WRITE], True, 'This call reads "/a", changes "/b".'),
        # An annotation that contradicts itself is not believed where it says the lesser.
        ([WRITE], False, 'This call changes "/b".'),
        (
            [URL],
            False,
            'This call contacts "https://a.example/r.git". It changes nothing, as its tool is annotated.',
        ),
        ([CALL], False, "This call changes nothing, as its tool is annotated."),
        (
            [CALL],
            True,
            UNKNOWN,
        ),
    ],
)
def test_effects_are_said_no_further_than_they_are_known(
    subjects: list[ResourceDecision], side_effects: bool, said: str
) -> None:
    known = {"subjects": tuple(subjects), "side_effects": side_effects, "contained": False}
    request = written().model_copy(update=known)
    assert effect_of(request) == said
    shown = describe(request, width=400)
    assert f"  effects:\n    | {said}\n" in shown


def test_a_read_is_no_change() -> None:
    request = written().model_copy(update={"subjects": (READ,), "side_effects": False})
    assert "it changes or contacts something" not in describe(request)


@pytest.mark.parametrize(
    ("subjects", "said"),
    [
        ([READ], 'This call reads "/a". It changes nothing, as its tool is annotated.'),
        ([READ, CALL], 'This call reads "/a". It changes nothing, as its tool is annotated.'),
        ([READ, WRITE], 'This call reads "/a", changes "/b".'),
        (
            [READ, URL],
            f'This call reads "/a", contacts "{URL.value}". {UNKNOWN_TOO}',
        ),
        ([CALL], UNKNOWN),
    ],
)
def test_a_tool_that_acts_at_its_paths_alone_and_reads_them_changes_nothing(
    subjects: list[ResourceDecision], said: str
) -> None:
    known = {"subjects": tuple(subjects), "side_effects": True, "contained": True}
    assert effect_of(written().model_copy(update=known)) == said
