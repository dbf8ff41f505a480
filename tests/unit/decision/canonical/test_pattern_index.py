"""The index: which patterns and lists cover a subject."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from ironcurtain.decision.canonical.pattern_index import PatternIndex
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.decision.canonical.urls import (
    DEFAULT_CASE_INSENSITIVE_HOSTS,
    parse_fetch_url,
    parse_remote_url,
)
from ironcurtain.decision.roles import Registry
from ironcurtain.errors import PatternError
from ironcurtain.model.annotations import IdentifierRole

REGISTRY = Registry(
    [
        IdentifierRole(name="channel", description="A chat channel.", case="exact", separator="/"),
        IdentifierRole(name="project", description="A project.", case="exact", separator="-"),
    ]
)
LINKS = {"/home/u/link": "/etc"}


def index(
    named: Mapping[str, Iterable[str]] | None = None,
    lists: Mapping[str, tuple[str, Iterable[str]]] | None = None,
) -> PatternIndex:
    return PatternIndex(
        named or {},
        lists or {},
        registry=REGISTRY,
        home="/home/u",
        resolve_directory=lambda path: LINKS.get(path, path),
        case_insensitive_hosts=DEFAULT_CASE_INSENSITIVE_HOSTS,
    )


@pytest.mark.parametrize(
    ("patterns", "url", "covered"),
    [
        (["github.com"], "https://github.com/", ["github.com"]),
        (["github.com"], "https://evil.com/", []),
        (["github.com"], "https://github.com.evil.com/", []),
        (["*"], "https://anything.example/", ["*"]),
        ([], "https://github.com/", []),
        (["*.github.com"], "https://github.com/", ["*.github.com"]),
        (["*.github.com"], "https://api.github.com/o/r", ["*.github.com"]),
        (["*.github.com"], "https://notgithub.com/", []),
        (["github.com"], "https://gitlab.com/o/r", []),
        (
            ["github.com/provos/ironcurtain"],
            "https://github.com/Provos/IronCurtain/x",
            ["github.com/provos/ironcurtain"],
        ),
        (["github.com/other/repo"], "https://github.com/provos/ironcurtain", []),
        (["example.com/a"], "https://example.com/A", []),
        (["example.com/a"], "https://example.com/ab", []),
        (["*"], "https://192.168.1.1/x/y", []),
        (["*"], "https://localhost/", []),
        (["*", "localhost"], "https://localhost./", ["localhost"]),
        (["github.com"], "https://github.com:8080/", []),
        (["github.com:8080"], "https://github.com:8080/", ["github.com:8080"]),
        (["github.com"], "http://github.com/", []),
        (["http://github.com"], "http://github.com:80/", ["http://github.com"]),
        (["*", "*.a.com", "a.com", "a.com/x"], "https://a.com/x/y", ["*", "*.a.com", "a.com", "a.com/x"]),
        (["127.0.0.1"], "https://0x7f.1/", ["127.0.0.1"]),
        (["*.packet.net"], "https://metadata.packet.net/", []),
        (["*.corp"], "https://wiki.corp/", ["*.corp"]),
    ],
)
def test_urls(patterns: list[str], url: str, covered: list[str]) -> None:
    assert index({"url": patterns}).covering(REGISTRY["fetch-url"], parse_fetch_url(url)) == tuple(covered)


@pytest.mark.parametrize(
    ("pattern", "remote", "covers"),
    [
        ("github.com", "git@github.com:u/r.git", True),
        ("github.com/u/r", "git@github.com:U/R.git", True),
        ("github.com/u/r", "ssh://git@github.com/u/r", True),
        ("github.com", "https://github.com:443/", True),
        ("github.com", "HTTPS://GITHUB.COM", True),
        ("github.com", "ssh://git@github.com:443/u/r", False),
        ("ssh://github.com:443", "ssh://git@github.com:443/u/r", True),
        ("ssh://github.com:443", "https://github.com/u/r", False),
        ("github.com", "git://github.com/u/r", False),
        ("git://github.com", "git://github.com/u/r", True),
        ("*", "https://169.254.169.254/x", False),
        ("github.com/u/r", "git@github.com:u/r2.git", False),
    ],
)
def test_git_remotes(pattern: str, remote: str, *, covers: bool) -> None:
    found = index({"url": [pattern]}).covering(REGISTRY["git-remote-url"], parse_remote_url(remote))
    assert found == ((pattern,) if covers else ())


def test_paths_are_resolved_once_and_shown_as_the_policy_writes_them() -> None:
    patterns = index({"path": ["~", "~/link", "/etc/", "/", "~/Documents"]})
    read = REGISTRY["read-path"]
    assert patterns.covering(read, "/etc/passwd") == ("/", "/etc/", "~/link")
    assert patterns.covering(read, "/etc") == ("/", "/etc/", "~/link")
    assert patterns.covering(read, "/home/u/Documents/a") == ("/", "~", "~/Documents")
    assert patterns.covering(read, "/etcetera") == ("/",)
    assert patterns.covering(REGISTRY["delete-path"], "/home/u") == ("/", "~")
    assert patterns.directories == {
        "~": "/home/u",
        "~/link": "/etc",
        "/etc/": "/etc",
        "/": "/",
        "~/Documents": "/home/u/Documents",
    }


def test_directories_inside_are_strictly_inside() -> None:
    patterns = index({"path": ["/a", "/a/b", "/a/b/c", "/ab", "/a/b-c"]})
    assert patterns.directories_inside("/a") == ("/a/b", "/a/b-c", "/a/b/c")
    assert patterns.directories_inside("/a/b") == ("/a/b/c",)
    assert patterns.directories_inside("/") == ("/a", "/a/b", "/a/b-c", "/a/b/c", "/ab")
    assert patterns.directories_inside("/nowhere") == ()


@pytest.mark.parametrize(
    ("role", "patterns", "value", "covered"),
    [
        ("recipient", ["*@x.com", "a@x.com"], "a@x.com", ["*@x.com", "a@x.com"]),
        ("recipient", ["*@x.com"], "a@y.x.com", []),
        ("repository", ["o/*", "o/r", "o/s"], "o/r", ["o/*", "o/r"]),
        ("remote-path", ["docs/**", "docs"], "docs/a/b", ["docs/**"]),
        ("remote-path", ["docs/**", "docs"], "docs", ["docs"]),
        ("channel", ["a/**", "a/b/**", "a/b"], "a/b/c", ["a/**", "a/b/**"]),
        ("channel", ["a/**"], "ab/c", []),
        ("channel", ["a/**"], "a/**", ["a/**"]),
        ("project", ["PROJ-*", "PROJ-**"], "PROJ-1", ["PROJ-*", "PROJ-**"]),
    ],
)
def test_identifiers(role: str, patterns: list[str], value: str, covered: list[str]) -> None:
    assert index({role: patterns}).covering(REGISTRY[role], value) == tuple(covered)


def test_kinds_do_not_mix() -> None:
    patterns = index({"channel": ["a"], "project": ["b"]})
    assert patterns.covering(REGISTRY["channel"], "b") == ()
    assert patterns.covering(REGISTRY["recipient"], "a@x.com") == ()


def test_lists_cover_what_a_member_covers() -> None:
    patterns = index(
        {"url": ["*"]},
        {
            "trusted": ("domain", ["github.com", "*.Example.com"]),
            "friends": ("recipient", ["Alice@example.com"]),
            "ours": ("repository", ["Provos/IronCurtain"]),
            "empty": ("domain", []),
        },
    )
    assert patterns.covering(REGISTRY["fetch-url"], parse_fetch_url("https://github.com/")) == (
        "*",
        "@trusted",
    )
    assert patterns.covering(REGISTRY["git-remote-url"], parse_remote_url("git@a.example.com:x")) == (
        "*",
        "@trusted",
    )
    assert patterns.covering(REGISTRY["fetch-url"], parse_fetch_url("https://gitlab.com/")) == ("*",)
    assert patterns.covering(REGISTRY["recipient"], "alice@example.com") == ("@friends",)
    assert patterns.covering(REGISTRY["repository"], "provos/ironcurtain") == ("@ours",)
    assert patterns.covering(REGISTRY["repository"], "provos/other") == ()


@pytest.mark.parametrize(
    ("named", "lists"),
    [
        ({"url": ["GitHub.com"]}, {}),
        ({"path": ["relative"]}, {}),
        ({"nonsense": ["x"]}, {}),
        ({}, {"l": ("domain", ["127.0.0.1"])}),
        ({}, {"l": ("nonsense", ["x"])}),
    ],
)
def test_bad_patterns_are_refused(
    named: dict[str, list[str]], lists: dict[str, tuple[str, list[str]]]
) -> None:
    with pytest.raises(PatternError):
        index(named, lists)


def test_a_directory_that_cannot_be_resolved_is_an_error() -> None:
    def resolve(_: str) -> str:
        raise UnrepresentableError("is a loop of links")

    with pytest.raises(PatternError, match="loop of links"):
        PatternIndex(
            {"path": ["/a"]},
            {},
            registry=REGISTRY,
            home="/home/u",
            resolve_directory=resolve,
            case_insensitive_hosts=frozenset(),
        )
