"""Patterns: their one spelling, and what lies inside what."""

from __future__ import annotations

import pytest

from ironcurtain.decision.canonical.patterns import canonical_member, canonical_pattern, contains
from ironcurtain.decision.roles import Registry
from ironcurtain.errors import PatternError
from ironcurtain.model.annotations import IdentifierRole

REGISTRY = Registry(
    [
        IdentifierRole(name="channel", description="A chat channel.", case="exact", separator="/"),
        IdentifierRole(name="project", description="A project.", case="exact", separator="-"),
        IdentifierRole(name="table", description="A table.", case="fold"),
    ]
)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("path", "/"),
        ("path", "/etc"),
        ("path", "~"),
        ("path", "~/Documents"),
        ("url", "*"),
        ("url", "*.github.com"),
        ("url", "github.com/provos/ironcurtain"),
        ("url", "github.com:8080/x"),
        ("url", "http://github.com"),
        ("url", "http://github.com:443"),
        ("url", "git://github.com/x"),
        ("url", "http://*"),
        ("url", "*:8443"),
        ("url", "ssh://ssh.github.com:443"),
        ("url", "https://example.com:22"),
        ("url", "127.0.0.1"),
        ("url", "[::1]:8080/x"),
        ("url", "localhost"),
        ("url", "*.localhost"),
        ("url", "*.corp"),
        ("url", "github.io"),
        ("url", "s3.amazonaws.com/bucket"),
        ("url", "example.com/Case"),
        ("domain", "example.com"),
        ("domain", "*.example.com"),
        ("recipient", "alice@example.com"),
        ("recipient", "*@example.com"),
        ("repository", "provos/ironcurtain"),
        ("repository", "provos/*"),
        ("remote-path", "docs/**"),
        ("remote-path", "docs/a.md"),
        ("channel", "Security/**"),
        ("channel", "Security"),
        ("project", "PROJ-**"),
        ("table", "dbo.users"),
    ],
)
def test_canonical_spellings_stay(kind: str, text: str) -> None:
    assert canonical_pattern(kind, text, REGISTRY) == text


@pytest.mark.parametrize(
    ("kind", "text", "canonical"),
    [
        ("path", "/etc/", "/etc"),
        ("path", "~/", "~"),
        ("url", "github.com/", "github.com"),
        ("url", "github.com/a/", "github.com/a"),
        ("remote-path", "docs/", "docs"),
        ("project", "PROJ-*", "PROJ-**"),
    ],
)
def test_two_freedoms_of_spelling(kind: str, text: str, canonical: str) -> None:
    assert canonical_pattern(kind, text, REGISTRY) == canonical


@pytest.mark.parametrize(
    ("kind", "text", "write"),
    [
        ("url", "GitHub.com", "github.com"),
        ("url", "github.com.", "github.com"),
        ("url", "https://github.com", "github.com"),
        ("url", "ssh://github.com:8080", "github.com:8080"),
        ("url", "http://x.com:80", "http://x.com"),
        ("url", "git://x.com:9418/a", "git://x.com/a"),
        ("url", "HTTP://x.com", "http://x.com"),
        ("url", "github.com/Provos", "github.com/provos"),
        ("url", "0x7f.1", "127.0.0.1"),
        ("url", "[::ffff:127.0.0.1]", "127.0.0.1"),
        ("url", "[0:0:0:0:0:0:0:1]", "[::1]"),
        ("url", "x.com/%41", "x.com/A"),
        ("url", "例え.jp", "xn--r8jz45g.jp"),
        ("recipient", "Alice@example.com", "alice@example.com"),
        ("recipient", "*@Example.com", "*@example.com"),
        ("repository", "Provos/*", "provos/*"),
        ("table", "Users", "users"),
    ],
)
def test_another_spelling_is_refused_and_the_right_one_told(kind: str, text: str, write: str) -> None:
    with pytest.raises(PatternError, match="not in canonical form") as caught:
        canonical_pattern(kind, text, REGISTRY)
    assert caught.value.hint == f"write {write}"
    assert canonical_member(kind, text, REGISTRY) == write


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("path", ""),
        ("path", "a"),
        ("path", "./a"),
        ("path", "~u/a"),
        ("path", "/a/../b"),
        ("path", "/a/./b"),
        ("path", "/a//b"),
        ("path", "//a"),
        ("path", "/a//"),
        ("path", "/a/*"),
        ("path", "/a/**"),
        ("path", "/a/[bc]"),
        ("path", "/a/{b,c}"),
        ("path", "/a?"),
        ("path", "/a\n"),
        ("path", "/\ud800"),
        ("path", "/a" * 129),
        ("path", "/" + "a" * 4096),
        ("url", "*.com"),
        ("url", "com"),
        ("url", "*.co.uk"),
        ("url", "co.uk"),
        ("url", "*.github.io"),
        ("url", "*.nosuchtld"),
        ("url", "*.127.0.0.1"),
        ("url", "*.[::1]"),
        ("url", "::1"),
        ("url", "*."),
        ("url", "**"),
        ("url", "*.*.com"),
        ("url", "api.*.com"),
        ("url", "a*.com"),
        ("url", "*.github.com/provos"),
        ("url", "*/provos"),
        ("url", "github.com/*"),
        ("url", "github.com//a"),
        ("url", "github.com/a/../b"),
        ("url", "github.com/%2e%2e/b"),
        ("url", "github.com/a%2fb"),
        ("url", "github.com/a/b.git"),
        ("url", "github.com:443"),
        ("url", "github.com:22"),
        ("url", "https://github.com:443"),
        ("url", "github.com:0"),
        ("url", "github.com:65536"),
        ("url", "github.com:"),
        ("url", "ftp://github.com"),
        ("url", "://github.com"),
        ("url", "git@github.com"),
        ("url", "git@github.com:u/r"),
        ("url", "github.com?x"),
        ("url", "github.com#x"),
        ("url", "git hub.com"),
        ("url", "x\x00.com"),
        ("recipient", "*@*.com"),
        ("recipient", "*@127.0.0.1"),
        ("recipient", "*"),
        ("recipient", "a*@example.com"),
        ("repository", "*/x"),
        ("repository", "*"),
        ("repository", "owner"),
        ("repository", "o/a*"),
        ("remote-path", "/docs"),
        ("remote-path", "a/../**"),
        ("remote-path", "docs/*"),
        ("channel", "security/*"),
        ("channel", "**"),
        ("channel", "/**"),
        ("channel", "a/**/b"),
        ("channel", "a//**"),
        ("project", "-**"),
        ("table", "db.*"),
        ("nothing", "x"),
        ("branch-name", "main"),
    ],
)
def test_what_is_no_pattern(kind: str, text: str) -> None:
    with pytest.raises(PatternError):
        canonical_pattern(kind, text, REGISTRY)
    with pytest.raises(PatternError):
        canonical_member(kind, text, REGISTRY)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "https://example.com",
        "example.com/path",
        "*.",
        "*",
        "com",
        "*.com",
        "127.0.0.1",
        "0x7f.1",
        "[::1]",
    ],
)
def test_a_list_of_domains_holds_domains_only(text: str) -> None:
    with pytest.raises(PatternError):
        canonical_pattern("domain", text, REGISTRY)


@pytest.mark.parametrize(
    ("kind", "outer", "inner", "inside"),
    [
        ("path", "/", "/etc", True),
        ("path", "/etc", "/etcetera", False),
        ("path", "~", "~/x", True),
        ("url", "*", "*.github.com", True),
        ("url", "*", "localhost", False),
        ("url", "*", "8.8.8.8", False),
        ("url", "*", "http://github.com", False),
        ("url", "*.github.com", "github.com", True),
        ("url", "*.github.com", "api.github.com/x", True),
        ("url", "*.github.com", "notgithub.com", False),
        ("url", "github.com", "api.github.com", False),
        ("url", "github.com/a", "github.com/a/b", True),
        ("url", "github.com/a", "github.com/ab", False),
        ("url", "github.com", "github.com:8080", False),
        ("url", "x.com", "ssh://x.com:443", False),
        ("url", "*.packet.net", "metadata.packet.net", False),
        ("recipient", "*@example.com", "a@example.com", True),
        ("recipient", "*@example.com", "a@x.example.com", False),
        ("repository", "o/*", "o/r", True),
        ("repository", "o/*", "oo/r", False),
        ("channel", "a/**", "a/b/**", True),
        ("channel", "a/**", "a", False),
        ("channel", "a", "a/**", False),
        ("project", "PROJ-**", "PROJ-1", True),
        ("project", "PROJ-**", "PROJECT-1", False),
        ("table", "users", "users", True),
    ],
)
def test_containment(kind: str, outer: str, inner: str, *, inside: bool) -> None:
    assert contains(kind, outer, inner, REGISTRY) is inside
    assert contains(kind, outer, outer, REGISTRY)


@pytest.mark.parametrize("text", ["~/docs ", " ~/docs", "/srv/docs\u00a0"])
def test_a_directory_with_a_blank_at_its_end_is_refused(text: str) -> None:
    """It was built into a policy, and covered nothing."""
    with pytest.raises(PatternError, match="begins or ends with a blank") as caught:
        canonical_pattern("path", text, Registry(()))
    assert caught.value.hint == f"write {text.strip()}"


def test_the_error_shows_nothing_raw() -> None:
    with pytest.raises(PatternError) as caught:
        canonical_pattern("url", "x\x1b[31m\u202e.com", REGISTRY)
    assert caught.value.what.isprintable()
