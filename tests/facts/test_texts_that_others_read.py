"""Specification 1.9: what others could read otherwise is refused, one test for each row of the table."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from support.called import SANDBOX, answering, bundle, decide_with, load
from support.deployments.proxied import RESERVED_TOOLS
from support.projects.policies import rule, tool

from ironcurtain.decision.decide import Call
from ironcurtain.decision.reserved_tools import RESOURCE_URI
from ironcurtain.enforcement.proxy.forwarding.server_requests import read_resource

ROLES = [
    RESOURCE_URI.model_dump(mode="json"),
    {"name": "page", "description": "A page.", "case": "fold", "separator": "/"},
]
TOOL = tool(
    "t",
    contained=False,
    path=["read-path"],
    url=["fetch-url"],
    remote=["git-remote-url"],
    branch=["branch-name"],
    to=["recipient"],
    repo=["repository"],
    key=["remote-path"],
    page=["page"],
    all={"roles": ["page"], "codec": "json"},
    owner=["none"],
    title=["none"],
)
RULES = [rule("all", "allow", server=["s"])]
TOOLS = [{**TOOL, "composites": [{"role": "page", "join": ["owner", "title"], "with": "/"}]}, *RESERVED_TOOLS]
POLICY = load(bundle({"s": TOOLS}, RULES, roles=ROLES))


def decided(call: Call) -> tuple[str, str]:
    decision = decide_with(POLICY, call, answering(RULES))
    return decision.verdict, decision.rule


def given(name: str, *values: Any) -> list[Call]:
    return [Call("s", "t", {name: value}) for value in values]


def read(*uris: str) -> list[Call]:
    return [read_resource("s", uri) for uri in uris]


REFUSED: dict[str, tuple[list[Call], list[Call]]] = {
    "path": (given("path", "x"), given("path", "x ", "x\u00a0", f"{SANDBOX}/x\u200b")),
    "resource URI": (
        read("note://a"),
        read(" note://a", "NOTE://a", "note://a b", "note://%73ecret", "no\tte:a"),
    ),
    "URI of a file": (
        read("file:///a"),
        read(" file:///a", "fi\tle:///a", "file:///a\\b", "file://h/a", "file:///a%2fb", "file:a"),
    ),
    "URL": (
        given("url", "https://a.org/x"),
        given("url", " https://a.org", "https:\\\\a.org", "https:a.org"),
    ),
    "git remote, its name": (
        given("remote", "https://a.org/x"),
        given("remote", " origin", "orig\u00adin", "x "),
    ),
    "branch name": (
        given("branch", "main"),
        given(
            "branch",
            "refs/heads/main",
            "heads/main",
            "+main",
            "main:x",
            "main\u00a0",
            "ma\u00adin",
            "\uff4dain",
        ),
    ),
    "address": (
        given("to", "a@b.org"),
        given("to", "a@b.org,c@d.org", "a%b@c.org", "a(x)@b.org", "a@\uff42.org"),
    ),
    "repository": (given("repo", "a/b"), given("repo", "a/b ", "a /b", "https://github.com/a/b", "a/b/c")),
    "remote path": (given("key", "a/b"), given("key", "a/../b", "a/b ", "a/b%20", "\ufb01", "a%C2%ADb")),
    "declared identifier": (
        given("page", "a b"),
        given("page", " a", "a ", "a\u00adb", "\uff41", "a / b", "a\u200b"),
    ),
    "composite": (
        [Call("s", "t", {"owner": "a", "title": "b"})],
        [Call("s", "t", {"owner": "a ", "title": "b"}), Call("s", "t", {"owner": "a", "title": "\uff42"})],
    ),
    "list in one text": (given("all", '["a"]'), given("all", '["a", 1]', "a", '["a "]')),
    "name of a tool": (
        given("path", "x"),
        [Call("s", name, {"path": "x"}) for name in ("t ", " t", "T", "\uff54")],
    ),
    "name of an argument": (
        given("path", "x"),
        [*given("path ", "x"), Call("s", "t", '{"path": "x", "path": "y"}')],
    ),
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_others_read_otherwise_is_refused(text: str) -> None:
    taken, refused = REFUSED[text]
    for call in taken:
        assert decided(call) == ("allow", "all"), call.arguments
    for call in refused:
        verdict, name = decided(call)
        assert verdict == "deny", call.arguments
        assert name.startswith("structural-"), call.arguments


def test_each_row_of_the_table_has_its_test() -> None:
    page = (Path(__file__).parents[2] / "docs" / "specification.md").read_text()
    table = page.split("| text | who else parses it | refused |")[1].split("\n\n")[0]
    assert [row.strip() for row in re.findall(r"^\| ([^|]+?) +\|", table, re.MULTILINE)][1:] == list(REFUSED)
