"""The `testing` package and Python's canonicalisation agree about which spellings of values are canonical.

Both are asked about the same spellings: the package through OPA, and Python by preparing a call with the
value in it. What the package takes has to be prepared as it is; the ordinary values that Python leaves as
they are and the package does not take are named here.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from support.called import one_tool
from support.projects.policies import rule, tool, write_bundle

from ironcurtain.decision.canonical.hosts import LOCAL_TREES
from ironcurtain.decision.decide import Call, Prepared, prepare
from ironcurtain.decision.loaded_policy import LoadedPolicy
from ironcurtain.decision.reserved_tools import RESOURCE_URI
from ironcurtain.decision.roles import Registry
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.model.annotations import IdentifierRole

ROLES: list[dict[str, Any]] = [
    {"name": "project", "description": "", "case": "fold", "separator": "/"},
    {"name": "topic", "description": "", "case": "exact", "separator": ":"},
    {"name": "channel", "description": "", "case": "exact"},
    {"name": "page", "description": "", "case": "exact", "separator": "/", "decode": "percent"},
    RESOURCE_URI.model_dump(mode="json"),
]
MODULE = """package cases

import data.ironcurtain.testing

taken contains name if {
	some name, case in data.testing_cases
	testing.policy_input({"server": "s", "tool": "t"}, [{"role": case[0], "value": case[1]}])
}
"""
LABEL, HOST = "a" * 63, ".".join(["a" * 62] * 4)
LOCAL = [f"//{below}{tree}/" for tree in sorted(LOCAL_TREES) for below in ("", "a.")]
# By role: spellings that are canonical, and others that are not.
TAKEN: dict[str, list[str]] = {
    "read-path": ["/", "/srv", "/srv/a b", "/srv/.x", "/srv/...", "/srv/Grüße", "/srv/%2e", "/srv/हिन्दी"],
    "fetch-url": ["https://example.com/", "https://a-b.example.com/x/Y~/", "https://x_y.example.com/a.b"],
    "git-remote-url": ["https://github.com/a/b.git", "ssh://github.com/a/b", "https://github.com/a/"],
    "recipient": ["a@example.com", "a.b+c@example.com", "o'neil@example.com", "a=b@x-y.example"],
    "repository": ["acme/app", "a/b.git", "-a/_b", "a/..."],
    "remote-path": ["docs", "docs/a.md", "docs/a b.md", "docs/a;b", "..a/b.."],
    "project": ["a", "a/b", "a/b c", "a:b", "..a/b"],
    "topic": ["a", "A:b", "a::b", ":a", "a/../b", "a//b", "a:b c"],
    "channel": ["General", "#x", "..", ".", "a/../b", "a//b", "a : b"],
    "page": ["a/b", "a b"],
    "resource-uri": ["note://x", "note://x/Y", "urn:isbn:1", "note:/a", "memo:x", "a+b://c.d/e/"],
}
REFUSED: dict[str, list[str]] = {
    "read-path": [
        *("", "x", "~", "~/x", "/srv/", "//srv", "/srv//a", "/srv/.", "/srv/./a", "/srv/../a", "/srv/.."),
        *("/srv/a ", "/srv/a\u00a0", "/srv/a\u200b", "/srv/a\u3164", "/srv/a\ufe0f", "/srv/a\U000e0100"),
        *("/srv/a\u034f", "/srv/a\u115f", "/srv/a\u00ad", "/srv/a\n", "/srv/\u0085a", "file:///srv", " /srv"),
        *("/a" * 129, "/" + "a" * 4096, "/" + "ü" * 2048),
    ],
    "fetch-url": [
        *("https://Example.com/", "HTTPS://example.com/", "https://example.com:443/", "https://a@b.com/"),
        *("https://example.com//", "https://example.com/a//b", "https://example.com/../b", "//a.com/"),
        *("https://example.com/./b", "https://example.com/..", "https://example.com./", " https://a.com/"),
        *(
            "ssh://example.com/",
            "ftp://example.com/",
            "https://-a.com/",
            "https://a-.com/",
            "https://a..b.c/",
        ),
        *(f"https://a{LABEL}.com/", f"https://{HOST}.aaaa/", "https://xn--a.com/", "https:///a.com"),
        *("https://a.com/" + "x/" * 65, "https://a.com/" + "x" * 8192, "https://1.2/", "a.com"),
        *("https://a.com/%41", "https://a.com/\\", "https://a.com/ "),
    ],
    "git-remote-url": [
        *("https://github.com/a/../b", "https://github.com//a", "ssh://GitHub.com/a", "git@GitHub.com:a/b"),
        *("ssh://github.com:22/a", "ftp://github.com/a", "https://github.com/a?b", "ext::x", "-x"),
    ],
    "recipient": [
        *("Alice <a@example.com>", "A@example.com", "a@Example.com", ".a@b.com", "-a@b.com", "a.@b.com"),
        *("a..b@b.com", "a@b.com.", "a@b..com", "a@-b.com", "a@b-.com", "a@1.2.3.4", "a@b.com,c@d.com"),
        *("a@b@c.de", "a%b@c.com", " a@b.com", "a@b.com ", "@b.com", "a@", f"a@a{LABEL}.com", "a@xn--a.com"),
        *("a" * 1024 + "@b.com", f"a@{HOST}.aaaa", "a@b.1"),
    ],
    "repository": [
        *("Acme/app", "a", "a/b/c", "a/..", "./b", "a/", "/b", "a//b", "a /b", "a/" + "b" * 1023),
    ],
    "remote-path": [
        *("", "/docs", "docs/", "a//b", "a/../b", "./a", "a/..", "..", " a", "a ", "a/ b", "a /b", "a\\b"),
        *("..;x/a", "a/.;x", "a/..;", "%2e%2e/a", "a/%2f", "a\u200bb", "a" * 1025),
    ],
    "project": [
        *("", "A", "a/", "/a", "a//b", "a/../b", "a/./b", "..", ".", "a/ b", "a /b", " a", "a\u200b"),
        *("\uff41", "a" * 1025, "ß", "a\nb"),
    ],
    "topic": ["", "a:..", ".:a", "..", "a:..:b", "a :b", "a: b", " a", "a" * 1025],
    "channel": ["", " a", "a ", "a\u00a0", "\u200b", "a\tb", "\uff41", "a" * 1025],
    "page": ["a%41", "a%", "a%2541", "a//b", "a/%2e%2e/b", "../a"],
    "resource-uri": [
        *(
            "x",
            "",
            "/x",
            "file:///srv/x",
            "file:x",
            "File:/x",
            "https://a.com/",
            "http://a.com",
            "HTTP://a.com",
        ),
        *("note://x/../y", "note://x/.", "note://x//y", "note:/a//b", "note://x/a/..;b", "Note://x", "1:x"),
        *(" note://x", "note://x/ ", "note://x y", "note://x/\u200b", "note://x/%41", "note://x\\y", "://x"),
        "ws://a.com",
    ],
    "no-such-role": ["x"],
    "branch-name": ["main"],
    "none": ["x"],
}
# What Python leaves as it is, too, and the package does not read.
UNREAD: dict[str, list[str]] = {
    "fetch-url": [
        *("http://example.com/", "https://example.com:8443/", "https://a.com/%C3%A4", "https://a.com/?x=1"),
        *("https://127.0.0.1/", "https://[::1]/", *(f"https:{place}" for place in LOCAL)),
    ],
    "git-remote-url": [
        *("git@github.com:a/b", "ssh://git@github.com/a", "http://github.com/a"),
        *(f"ssh:{place}" for place in LOCAL),
    ],
    "recipient": ["a@localhost", "a@xn--mnchen-3ya.de"],
    "remote-path": ["docs/Grüße.md", "docs/%41"],
    "project": ["é", "a%b"],
    "channel": ["Größe", "50%"],
    "topic": ["ä:b"],
    "page": ["ä"],
    "resource-uri": ["note://x?y=1", "note://x#y", "note://x/%C3%A4", "note:a/../b"],
}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tools = {"s": [tool("t", contained=False)]}
    made = [rule("r", "allow", roles=["read-path"])]
    return write_bundle(tmp_path_factory.mktemp("spellings"), tools, made, roles=ROLES, requests=True)


def taken_by_rego(cases: list[tuple[str, str]], bundle: Path) -> set[tuple[str, str]]:
    """Return the cases of which the `testing` package builds an input."""
    (bundle.parent / "cases.rego").write_text(MODULE)
    (bundle.parent / "cases.json").write_text(json.dumps({"testing_cases": cases}))
    data = [bundle.parent / "cases.rego", bundle.parent / "cases.json"]
    found = OpaCommand(find()).eval("data.cases.taken", bundles=[bundle], data=data)
    assert isinstance(found, list)
    return {cases[number] for number in found if isinstance(number, int)}


def left_by_python(cases: list[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the cases that come through the structural steps as they are written."""
    roles = {role for role, _ in cases} & {*TAKEN}
    policies = {role: one_tool(tool("t", contained=False, x=[role]), roles=ROLES) for role in roles}
    return {(role, value) for role, value in cases if role in policies and _is_left(policies[role], value)}


def _is_left(policy: LoadedPolicy, value: str) -> bool:
    found = prepare(Call("s", "t", {"x": value}), policy)
    return isinstance(found, Prepared) and [each.value for each in found.call.resources] == [value]


def _cases(table: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(role, value) for role, values in table.items() for value in values]


def test_the_tables_have_values_of_each_kind() -> None:
    registry = Registry([IdentifierRole.model_validate(role) for role in ROLES])
    kinds = {role.pattern_kind for role in registry.resources}
    assert {registry[role].pattern_kind for role in TAKEN} == kinds


@pytest.mark.parametrize(
    ("table", "expected"), [(TAKEN, (True, True)), (REFUSED, (False, False)), (UNREAD, (False, True))]
)
def test_spellings(bundle: Path, table: dict[str, list[str]], expected: tuple[bool, bool]) -> None:
    cases = _cases(table)
    told, left = taken_by_rego(cases, bundle), left_by_python(cases)
    assert [case for case in cases if (case in told, case in left) != expected] == []


ASCII = (
    r"a b A 1 x.y .. . / // /./ /../ - _ ~ : :// @ ; % %2e \ ? # ..; example.com .com .local xn-- note ssh"
)
PARTS = [*ASCII.split(), "https", "file", " ", "\n", "\u00a0", "\u200b", "é", "\uff41"]
STARTS = {
    "read-path": "/",
    "fetch-url": "https://",
    "git-remote-url": "ssh://",
    "recipient": "a@example",
    "resource-uri": "note:",
}


def test_whatever_the_package_takes_python_leaves_as_it_is(bundle: Path) -> None:
    drawn = random.Random(11)
    cases = []
    for role, values in TAKEN.items():
        for _ in range(1500):
            parts = drawn.choices(PARTS, k=drawn.randint(0, 6))
            start = drawn.choice([STARTS.get(role, ""), *values])
            cases.append((role, start + "".join(parts)))
    told = taken_by_rego(cases, bundle)
    assert {role for role, _ in told} == {*TAKEN}
    assert len(told) > 1000
    # A host alone is sent with a slash.
    left = left_by_python([(role, _as_sent(role, value)) for role, value in told])
    assert [case for case in told if (case[0], _as_sent(*case)) not in left] == []


def _as_sent(role: str, value: str) -> str:
    return f"{value}/" if role in ("fetch-url", "git-remote-url") and value.count("/") == len("//") else value
