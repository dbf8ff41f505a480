"""Attack: write a URL that the policy reads in one way and the program that fetches it in another.

Held by: parsing addresses as browsers do, and refusing what other programs read differently.
"""

from __future__ import annotations

import pytest

from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.decision.canonical.urls import is_local_remote, parse_fetch_url, parse_remote_url


@pytest.mark.parametrize(
    "text",
    [
        "https://github.com@evil.com/",
        "https://github.com:x@evil.com/",
        "https://user:pass@github.com/",
        "https://user@github.com/",
        "https://@github.com/",
        "https://github.com%40evil.com/",
        "https://github.com\\@evil.com/",
        "https://evil.com\\.github.com/",
        "https:\\\\evil.com/",
        "https:/\\evil.com/",
        "https:evil.com",
        "https:/evil.com",
        "https:///evil.com",
        "https:////evil.com",
        "//evil.com",
        " https://evil.com",
        "https://evil.com ",
        "ht\ttps://evil.com",
        "https://ev\til.com",
        "https://evil.com/\n",
        "https://evil.com/\r\nHost: github.com",
        "https://evil.com/\x00",
        "https://evil.com/\x1b[2J",
        "https://evil.com/\x85",
        "https://evil.com/\u2028",
        "https://evil.com/%0d%0aHost:%20github.com",
        "https://evil.com/%00",
        "https://github.com /",
        "https://github.com:/",
        "https://github.com:443:443/",
        "https://github.com:-1/",
        "https://github.com:0/",
        "https://github.com:65536/",
        "https://github.com:٤٤٣/",
        "https://github.com:443evil.com/",
        "https://[::1]evil.com/",
        "https://[github.com]/",
        "https://",
        "https://?",
        "https://#",
        "file:///etc/passwd",
        "FILE:///etc/passwd",
        "ftp://github.com/",
        "gopher://github.com/",
        "data:text/html,x",
        "javascript:alert(1)",
        "view-source:https://github.com/",
        "ws://github.com/",
        "blob:https://github.com/x",
        "jar:https://github.com!/x",
        "https+unix://github.com/",
    ],
)
def test_another_authority_or_scheme(text: str) -> None:
    with pytest.raises(UnrepresentableError):
        parse_fetch_url(text)


@pytest.mark.parametrize(
    "path",
    [
        "/a/../b",
        "/a/./b",
        "/..",
        "/a/..",
        "/a/%2e%2e/b",
        "/a/%2E%2e/b",
        "/a/.%2e/b",
        "/a/%2e/b",
        "/a/%252e%252e/b",
        "/a/%25252e./b",
        "/a/..;/b",
        "/a/..;x=1/b",
        "/a/%2e%2e%3b/b",
        "/a%2fb",
        "/a%2Fb",
        "/a%252fb",
        "/..%2fb",
        "/a%5cb",
        "/a\\b",
        "/a/..\\b",
        "/a%c0%afb",
        "/%c0%ae%c0%ae/b",
        "/a%e0%80%afb",
        "//b",
        "/a//b",
        "/a/b//",
        "/a%",
        "/a%2",
        "/a%zz",
        "/%u002e%u002e/b",
    ],
)
def test_another_path(path: str) -> None:
    with pytest.raises(UnrepresentableError):
        parse_fetch_url(f"https://github.com{path}")
    with pytest.raises(UnrepresentableError):
        parse_remote_url(f"ssh://git@github.com{path}")
    with pytest.raises(UnrepresentableError):
        parse_remote_url(f"https://github.com{path}")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ext::sh -c id",
        "ext::sh",
        "fd::17/github.com",
        "https::github.com",
        "foo::https://github.com/u/r",
        "::x",
        "-oProxyCommand=id",
        "--upload-pack=id",
        "-x@github.com:u/r",
        "ssh://-oProxyCommand=id/x",
        "ssh://-x@github.com/u/r",
        "ssh://github.com/u/r\n",
        "git@github.com:u/r\x00",
        "git@github.com:-oProxyCommand=id",
        "git@-oProxyCommand=id:x",
        "https://user@github.com/u/r",
        "https://user:pass@github.com/u/r",
        "http://user@github.com/u/r",
        "git://user@github.com/u/r",
        "ssh://git:pass@github.com/u/r",
        "ssh://git%3apass@github.com/u/r",
        "a@b@github.com:u/r",
        "git@evil.com@github.com:u/r",
        "[git@github.com:22]:u/r",
        "git@github.com:",
        "git@github.com:u/../r",
        "git@github.com:../r",
        "git@github.com:u//r",
        "git@git%68ub.com:u/r",
        "https://github.com/u/r?x",
        "https://evil.com/x?/github.com",
        "https://evil.com#@github.com/",
        "ssh://github.com:22x/u/r",
        "ssh://github.com:x/u/r",
        "ftp://github.com/u/r",
        "git+ssh://github.com/u/r",
        "rsync://github.com/u/r",
        "file:///home/u/repo",
        "/home/u/repo",
        "../repo",
        "origin",
        " https://github.com/u/r",
    ],
)
def test_what_git_would_read_as_something_else(text: str) -> None:
    with pytest.raises(UnrepresentableError):
        parse_remote_url(text)


@pytest.mark.parametrize("text", ["/home/u/ext::x", "./github.com:u/r", "../github.com:u/r", "/a@b:c"])
def test_a_path_that_looks_like_a_url_is_a_path(text: str) -> None:
    assert is_local_remote(text) == text


@pytest.mark.parametrize("text", ["https://evil.com/\x1b[31m", "https://e\u202evil.com/\x00", "ssh://\x07/x"])
def test_the_reason_shows_nothing_of_the_attacker(text: str) -> None:
    with pytest.raises(UnrepresentableError) as caught:
        parse_fetch_url(text)
    assert caught.value.reason.isprintable()
    assert "evil" not in caught.value.reason
