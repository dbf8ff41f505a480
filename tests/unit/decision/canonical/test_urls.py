"""URLs and git remote URLs: what they mean, what is sent, what is refused."""

from __future__ import annotations

import pytest

from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.decision.canonical.urls import is_local_remote, parse_fetch_url, parse_remote_url


@pytest.mark.parametrize(
    ("text", "sent", "port", "segments"),
    [
        ("https://github.com", "https://github.com/", None, ()),
        ("HTTPS://GitHub.com:443/", "https://github.com/", None, ()),
        ("https://github.com:0443/", "https://github.com/", None, ()),
        ("http://e.com:443/", "http://e.com:443/", 443, ()),
        ("https://e.com:8443/a", "https://e.com:8443/a", 8443, ("a",)),
        ("https://e.com/a/", "https://e.com/a/", None, ("a",)),
        ("https://e.com./a", "https://e.com/a", None, ("a",)),
        ("https://e.com/%41%7E/%c3%a9", "https://e.com/A~/%C3%A9", None, ("A~", "%C3%A9")),
        ("https://e.com/é x", "https://e.com/%C3%A9%20x", None, ("%C3%A9%20x",)),
        ("https://e.com?a=//..&b=%41#%41/..", "https://e.com/?a=//..&b=%41#%41/..", None, ()),
        ("https://e.com/a?x=\\", "https://e.com/a?x=\\", None, ("a",)),
        ("https://[::1]:80/", "https://[::1]:80/", 80, ()),
        ("https://[::ffff:8.8.8.8]/", "https://8.8.8.8/", None, ()),
        ("https://0x7f.1/", "https://127.0.0.1/", None, ()),
    ],
)
def test_fetch_urls(text: str, sent: str, port: int | None, segments: tuple[str, ...]) -> None:
    url = parse_fetch_url(text)
    assert (url.text, url.port, url.segments) == (sent, port, segments)
    assert parse_fetch_url(url.text) == url


@pytest.mark.parametrize(
    ("text", "assumed", "sent"),
    [
        ("example.com/x", "https", "https://example.com/x"),
        ("localhost:8080/x", "http", "http://localhost:8080/x"),
        ("http://example.com", "https", "http://example.com/"),
        ("javascript:1", "https", "https://javascript:1/"),
    ],
)
def test_the_scheme_that_the_tool_assumes_is_sent(text: str, assumed: str, sent: str) -> None:
    assert parse_fetch_url(text, assume_scheme=assumed).text == sent


@pytest.mark.parametrize(
    "text", ["", "example.com", "//example.com/", "/etc/passwd", "mailto:a@b.c", "https:e.com"]
)
def test_without_a_scheme_nothing_is_guessed(text: str) -> None:
    with pytest.raises(UnrepresentableError):
        parse_fetch_url(text)


@pytest.mark.parametrize(
    ("text", "scheme", "sent", "host", "segments"),
    [
        ("git@github.com:u/r.git", "ssh", "git@github.com:u/r.git", "github.com", ("u", "r")),
        ("GitHub.com:u/r", "ssh", "github.com:u/r", "github.com", ("u", "r")),
        ("host:/abs/r.git/", "ssh", "host:/abs/r.git/", "host", ("abs", "r")),
        ("git@[::1]:r", "ssh", "git@[::1]:r", "[::1]", ("r",)),
        ("ssh://git@github.com:22/u/r.git", "ssh", "ssh://git@github.com/u/r.git", "github.com", ("u", "r")),
        ("ssh://h.de/~u/r", "ssh", "ssh://h.de/~u/r", "h.de", ("~u", "r")),
        ("https://github.com:443/", "https", "https://github.com/", "github.com", ()),
        ("HTTPS://GITHUB.COM", "https", "https://github.com/", "github.com", ()),
        ("http://h.de/r.git", "http", "http://h.de/r.git", "h.de", ("r",)),
        ("git://h.de:9418/r.git.git", "git", "git://h.de/r.git.git", "h.de", ("r.git",)),
        ("https://h.de/a/.git", "https", "https://h.de/a/.git", "h.de", ("a", ".git")),
        ("h.de:a%41", "ssh", "h.de:a%41", "h.de", ("a%2541",)),
    ],
)
def test_remote_urls(text: str, scheme: str, sent: str, host: str, segments: tuple[str, ...]) -> None:
    url = parse_remote_url(text)
    assert (url.scheme, url.text, url.host.name, url.segments) == (scheme, sent, host, segments)
    assert url.port is None
    assert parse_remote_url(url.text) == url


def test_other_ports_are_kept() -> None:
    assert parse_remote_url("ssh://git@ssh.github.com:443/u/r.git").port == 443
    assert parse_remote_url("https://github.com:8080/u/r").port == 8080


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("/home/u/repo", "/home/u/repo"),
        ("./a:b", "./a:b"),
        ("../x", "../x"),
        (".", "."),
        ("~/repo", "~/repo"),
        ("/a#b?c", "/a#b?c"),
        ("file:///a%20b", "/a b"),
        ("FILE:///a", "/a"),
        ("origin", None),
        ("team/origin", None),
        ("https://github.com/u/r", None),
        ("git@github.com:u/r", None),
        (".hidden", None),
    ],
)
def test_local_remotes(text: str, path: str | None) -> None:
    assert is_local_remote(text) == path


@pytest.mark.parametrize("text", ["file://host/x", "file://", "file:///%zz", "file:///%ff"])
def test_file_urls_that_are_no_plain_path(text: str) -> None:
    with pytest.raises(UnrepresentableError):
        is_local_remote(text)


def test_a_url_may_have_8192_bytes_and_64_segments() -> None:
    start = "https://e.com/"
    assert len(parse_fetch_url(start + "a" * (8192 - len(start))).text) == 8192
    assert len(parse_fetch_url(start + "a/" * 64).segments) == 64
    for text in (start + "a" * (8193 - len(start)), start + "é" * 3000, start + "a/" * 65):
        with pytest.raises(UnrepresentableError):
            parse_fetch_url(text)
