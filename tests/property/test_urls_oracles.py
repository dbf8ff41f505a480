"""URLs against oracles that we did not write: Node's URL, git's own parser, the system's address parser."""

# ruff: noqa: RUF001 - look-alikes are the point

from __future__ import annotations

import json
import re
import socket
import subprocess
from functools import partial
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples

from ironcurtain.decision.canonical.hosts import canonical_host
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.decision.canonical.urls import Url, parse_fetch_url, parse_remote_url

NODE = """
const texts = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const answer = text => {
  try {
    const u = new URL(text);
    const {href, hostname, port, protocol} = u;
    return {href, hostname, port, protocol, user: u.username + u.password};
  } catch { return null; }
};
process.stdout.write(JSON.stringify(texts.map(answer)));
"""

LABELS = st.sampled_from(
    [
        "a",
        "EXAMPLE",
        "com",
        "127",
        "0x7f",
        "0177",
        "1",
        "256",
        "xn--a",
        "faß",
        "例え",
        "%61",
        "-",
        "_",
        "",
        "*",
        "a b",
        "１",
        "ｅ",
        "\xad",
        "com.",
        "0",
        "4294967295",
        "08",
        "\u200d",
        "!",
        "~",
        "%2e",
        "[::1]",
        "[::ffff:1.2.3.4]",
    ]
)
HOSTS = st.lists(LABELS, min_size=1, max_size=4).map(".".join) | st.from_regex(
    r"\[[0-9a-f:.]{2,20}\]", fullmatch=True
)
PARTS = st.sampled_from(
    [
        "/",
        "a",
        "b.git",
        "..",
        ".",
        "%2e",
        "%2E",
        "%2f",
        "%41",
        "%7e",
        "é",
        " ",
        ";",
        "\\",
        "@",
        ":",
        "%",
        "%zz",
        "|",
        "^",
        "\t",
        "`",
        "{",
        '"',
        "<",
        "%00",
        "%25",
        "?",
        "#",
        "~",
        "%c3%a9",
        "*",
        "[",
        "'",
    ]
)
PATHS = st.lists(PARTS, max_size=8).map("".join)
WILD = st.builds(
    "{}{}{}{}{}{}".format,
    st.sampled_from(["https", "http", "HTTPS", "ftp", "ssh"]),
    st.sampled_from(["://", ":", ":///", ":\\\\", "://@", "://u@", "://u:p@"]) | st.just("://"),
    HOSTS,
    st.sampled_from(["", ":", ":443", ":80", ":0443", ":8080", ":65536", ":x"]),
    st.sampled_from(["", "/"]),
    PATHS,
) | st.text(max_size=30)
LIKELY_PARTS = st.sampled_from(
    ["a", "%41", "%c3%a9", "é", " x", "a/", "|", "^", "[", "'", "~", "?", "#", ";"]
)
LIKELY = st.builds(
    "{}://{}{}/{}".format,
    st.sampled_from(["https", "HTTP"]),
    st.sampled_from(
        ["a.COM", "127.1", "0x7f.0.1", "faß.de", "例え.jp.", "%61.com", "[::1]", "[::ffff:1.2.3.4]"]
    ),
    st.sampled_from(["", ":443", ":80", ":0443", ":8080"]),
    st.lists(LIKELY_PARTS, max_size=6).map("".join),
)
URLS = LIKELY | WILD


def node(texts: list[str]) -> list[dict[str, str] | None]:
    run = subprocess.run(
        ["node", "-e", NODE], input=json.dumps(texts), capture_output=True, text=True, check=True
    )
    answers: list[dict[str, str] | None] = json.loads(run.stdout)
    return answers


def fetched(text: str) -> Url | None:
    try:
        return parse_fetch_url(text)
    except UnrepresentableError:
        return None


def without_mapping(hostname: str) -> str:
    """Return Node's host with what we say beyond it: no final dot, IPv4-mapped addresses as IPv4 ones."""
    mapped = re.fullmatch(r"\[::ffff:([0-9a-f]+):([0-9a-f]+)\]", hostname)
    if mapped:
        high, low = (int(part, 16) for part in mapped.groups())
        return socket.inet_ntoa((high << 16 | low).to_bytes(4, "big"))
    return hostname.removesuffix(".")


@given(st.lists(URLS, min_size=50, max_size=150))
@settings(max_examples=examples(8), deadline=None)
def test_what_we_accept_node_reads_alike_and_what_we_send_node_sends(texts: list[str]) -> None:
    accepted = [(text, url) for text in texts if (url := fetched(text)) is not None]
    originals = node([text for text, _ in accepted])
    resent = node([url.text for _, url in accepted])
    for (_, url), original, sent in zip(accepted, originals, resent, strict=True):
        assert original is not None
        assert sent is not None
        assert (without_mapping(original["hostname"]), original["port"]) == (
            url.host.name,
            str(url.port or ""),
        )
        assert (sent["href"], sent["hostname"], sent["user"]) == (url.text, url.host.name, "")
        assert sent["protocol"] == original["protocol"] == f"{url.scheme}:"
        assert fetched(url.text) == url


def test_the_differential_test_is_not_empty() -> None:
    good = ["https://EXAMPLE.com/%41?x#y", "http://0x7f.1:8080/a/", "https://faß.de/é", "https://[::1]:443/"]
    assert (
        [answer is not None for answer in node(good)]
        == [fetched(text) is not None for text in good]
        == [True] * 4
    )


@given(st.text(max_size=60), st.sampled_from([None, "https", "http", "ftp"]))
@settings(max_examples=examples(400), deadline=None)
def test_any_text_is_a_url_or_unrepresentable(text: str, assumed: str | None) -> None:
    parsers = (partial(parse_fetch_url, text, assume_scheme=assumed), partial(parse_remote_url, text))
    for parse in parsers:
        try:
            url = parse()
        except UnrepresentableError:
            continue
        assert canonical_host(url.host.name) == url.host


ADDRESS_PARTS = st.integers(0, 2**32 - 1) | st.integers(0, 255)
SPELLED_PARTS = st.tuples(ADDRESS_PARTS, st.sampled_from(["{:d}", "0{:o}", "0x{:x}"])).map(
    lambda p: p[1].format(p[0])
)


@given(st.lists(SPELLED_PARTS, min_size=1, max_size=4).map(".".join))
@settings(max_examples=examples(400), deadline=None)
def test_ipv4_spellings_mean_what_they_mean_to_the_system(text: str) -> None:
    try:
        system = socket.inet_ntoa(socket.inet_aton(text))
    except OSError:
        system = None
    try:
        ours = canonical_host(text).name
    except UnrepresentableError:
        ours = None
    assert ours == system


def git_reads(text: str) -> dict[str, Any] | None:
    run = subprocess.run(
        ["git", "fetch-pack", "--diag-url", text], capture_output=True, text=True, check=False
    )
    fields = dict(
        line.removeprefix("Diag: ").split("=", 1) for line in run.stdout.splitlines() if "=" in line
    )
    return fields if run.returncode == 0 and fields else None


SSH_HOSTS = st.sampled_from(
    ["github.com", "GitHub.com", "h.de.", "[::1]", "127.1", "h_1.de", "-h", "h:1", "git%68ub.com"]
)
SSH_PATHS = st.lists(
    st.sampled_from(["u", "r.git", "/", "~u", "%41", ":", "@", "-", "..", " ", "é"]), max_size=6
).map("".join)
SSH_URLS = st.one_of(
    st.builds(
        "ssh://{}{}{}/{}".format,
        st.sampled_from(["", "git@", "u:p@", "-x@"]),
        SSH_HOSTS,
        st.sampled_from(["", ":22", ":2222", ":x"]),
        SSH_PATHS,
    ),
    st.builds("{}{}:{}".format, st.sampled_from(["", "git@", "a@b@", "-x@", "x/"]), SSH_HOSTS, SSH_PATHS),
)


@given(SSH_URLS)
@settings(max_examples=examples(120), deadline=None)
def test_ssh_remotes_mean_what_they_mean_to_git(text: str) -> None:
    try:
        url = parse_remote_url(text)
    except UnrepresentableError:
        return
    given, sent = git_reads(text), git_reads(url.text)
    assert given is not None
    assert sent is not None
    assert (given["protocol"], sent["protocol"]) == ("ssh", "ssh")
    for read in (given, sent):
        user, _, host = read["userandhost"].rpartition("@")
        assert canonical_host(host) == url.host
        assert user in {"", "git"}
        assert int("22" if read["port"] == "NONE" else read["port"]) == (url.port or 22)
    assert (given["path"], given["userandhost"].rpartition("@")[0]) == (
        sent["path"],
        sent["userandhost"].rpartition("@")[0],
    )
    parts = [part for part in given["path"].split("/") if part]
    assert len(parts) == len(url.segments)


def test_git_is_asked_about_real_urls() -> None:
    read = git_reads("ssh://git@github.com:2222/u/r.git")
    assert read is not None
    assert (read["userandhost"], read["port"], read["path"]) == ("git@github.com", "2222", "/u/r.git")
    assert parse_remote_url("ssh://git@github.com:2222/u/r.git").port == 2222
