"""Attack: hide a resource in the shape of the arguments, so that it is sent but never judged.

Held by: fitting every argument to its schema, and judging every leaf; what nobody described is refused.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.called import answering, decide_with, one_tool
from support.projects.policies import rule, tool

from ironcurtain.decision.decide import Call

ANYTHING = [rule("anything", "allow", server=["s"])]
SECRET = "/home/user/secret"
TOOL = tool(
    "t",
    contained=False,
    path=["read-path"],
    note=["none"],
    url=["fetch-url"],
    to=["recipient"],
    branch=["branch-name"],
    repo=["repository"],
)
POLICY = one_tool(TOOL, ANYTHING, protected=(SECRET,))


def verdict(arguments: Any) -> str:
    return str(decide_with(POLICY, Call("s", "t", arguments), answering(ANYTHING)).verdict)


def test_the_policy_allows_what_is_not_attacked() -> None:
    assert verdict({"path": "/etc/x", "note": "hello", "branch": "main"}) == "allow"


SHAPES: list[Any] = [
    [SECRET],
    ["/etc/x", SECRET],
    [[SECRET]],
    [{"path": SECRET}],
    {"path": SECRET},
    {SECRET: ""},
    {"0": SECRET},
    ["/etc/x", [SECRET]],
    ["/etc/x", None, SECRET],
    [["/etc/x"], SECRET],
    [[[[SECRET]]]],
    ["/etc/x", {"toString": SECRET}],
    (SECRET,),
    [(SECRET,)],
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_nesting_hides_no_path(shape: Any) -> None:
    assert verdict({"path": shape}) == "deny"


@pytest.mark.parametrize("shape", [s for s in SHAPES if s != {SECRET: ""}], ids=str)
def test_nesting_hides_no_protected_path_in_free_arguments(shape: Any) -> None:
    assert verdict({"path": "/etc/x", "note": shape}) == "deny"


TEXTS = [
    f'{{"path":"/etc/x","path":"{SECRET}"}}',
    f'{{"path":"{SECRET}","path":"/etc/x"}}',
    f'{{"path":"/etc/x","\\u0070ath":"{SECRET}"}}',
    f'{{"note":{{"a":1,"a":"{SECRET}"}}}}',
    '{"path":"/etc/x","note":NaN}',
    '{"path":"/etc/x","note":1e999}',
    '{"path":"/etc/x","note":18446744073709551615}',
    '{"path":"/etc/\\ud800x"}',
    '{"path":"/etc/x"} {}',
    f'{{"path":"/etc/x"}}\u0000{{"path":"{SECRET}"}}',
    '{"path":"/etc/x",}',
    '{/*"path":"*/"path":"/etc/x"}',
    '{"path":"/etc/x","note":' + "[" * 80 + "]" * 80 + "}",
]


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text[:40])
def test_a_text_that_two_parsers_read_differently(text: str) -> None:
    assert verdict(text) == "deny"


@pytest.mark.parametrize(
    "name",
    ["Path", "path ", " path", "path\0", "p\u0430th", "path[]", "path.0", "/path", "__proto__", "paths"],
)
def test_a_name_that_only_looks_like_an_annotated_one(name: str) -> None:
    assert verdict({name: SECRET}) == "deny"
    assert verdict(json.dumps({"path": "/etc/x", name: "x"})) == "deny"


@pytest.mark.parametrize(
    "value",
    [
        "--upload-pack=sh",
        "+main",
        "main:evil",
        ":main",
        "+refs/heads/*:refs/heads/*",
        "main..evil",
        "main^{}",
        "@{u}",
        "HEAD",
        "a b",
        "a\nb",
        "",
        ["main", "+evil"],
        {"a": ["-x"]},
        5,
    ],
    ids=str,
)
def test_a_branch_name_that_is_an_option_or_a_refspec(value: Any) -> None:
    assert verdict({"path": "/etc/x", "branch": value}) == "deny"


@pytest.mark.parametrize(
    "value",
    [
        "a@x.org,b@x.org",
        "a@x.org;b@x.org",
        "a@x.org b@x.org",
        "a@x.org\nBcc: b@x.org",
        "a@x.org>,<b@x.org",
        '"a@x.org" <b@x.org>, c@x.org',
        "group: a@x.org, b@x.org;",
        "a%b@x.org",
        "a@x.org@y.org",
        "@a.org:b@x.org",
        ["a@x.org", {"email": "b@x.org"}],
    ],
    ids=str,
)
def test_a_recipient_that_is_two(value: Any) -> None:
    assert verdict({"path": "/etc/x", "to": value}) == "deny"


@pytest.mark.parametrize(
    "value", ["a", "a/b/c", "a//b", "/a/b", "../b", "a/..", "a/b\n", "a/b?x", "a%2fb", "\u0430/b", "a/b/", ""]
)
def test_a_repository_that_is_another_path_of_the_api(value: str) -> None:
    assert verdict({"path": "/etc/x", "repo": value}) == "deny"
