"""Node's `new URL` over many spellings of URIs: what it reads as a file is judged as it, or refused."""

from __future__ import annotations

import random
from typing import Any
from urllib.parse import unquote

import pytest
from support.called import bundle, load
from support.deployments.proxied import RESERVED_TOOLS
from support.oracles.node_urls import NODE, read_urls
from support.projects.policies import rule

from ironcurtain.decision.decide import Prepared, prepare
from ironcurtain.decision.reserved_tools import RESOURCE_URI
from ironcurtain.enforcement.proxy.forwarding.server_requests import read_resource, resource_uri

COUNT = 20_000
ROLES = ["resource-uri", "read-path", "fetch-url"]
POLICY = load(
    bundle(
        {"s": RESERVED_TOOLS},
        [rule("all", "allow", roles=ROLES)],
        roles=[RESOURCE_URI.model_dump(mode="json")],
    )
)
SCHEMES = ["file:", "file:", "FILE:", "http:", "https:", "note:", "NOTE:", "n+1:", "files:", "f:", ""]
SLASHES = [
    "//",
    "///",
    "/",
    "",
    "\\\\",
    "//localhost",
    "//LOCALHOST/",
    "//x@h/",
    "//h:1/",
    "////",
    "//~/",
    "/\\",
]
PARTS = [
    *(
        "a",
        "b c",
        "etc",
        "..",
        ".",
        "%2e%2E",
        "%2f",
        "%5C",
        "%00",
        "%41",
        "%e2%80%8b",
        "%C3%A9",
        "%25",
        "%2541",
    ),
    *(
        "%",
        "C:",
        "C|",
        "é",
        "\u00a0",
        "?q=1",
        "#f",
        ";x",
        "",
        "~",
        "\ufb01",
        "@",
        ":",
        "[::1]",
        "*",
        "|",
        "^",
    ),
]
NOISE = [
    " ",
    "\t",
    "\n",
    "\r",
    "\u00a0",
    "\ufeff",
    "\u200b",
    "\x00",
    "\x1f",
    "\x7f",
    "\u00ad",
    "\u3000",
    "%20",
    "\\",
]
pytestmark = pytest.mark.skipif(NODE is None, reason="there is no node")


def drawn(choice: random.Random) -> str:
    """Draw a spelling of a URI: plain ones, and those with something that parsers drop or rewrite."""
    separator = choice.choice(["/", "/", "/", "\\", "//"])
    path = separator.join(choice.choices(PARTS, k=choice.randint(0, 4)))
    text = choice.choice(SCHEMES) + choice.choice(SLASHES) + path
    for _ in range(choice.choice([0, 0, 1, 1, 2])):
        at = choice.choice([0, len(text), choice.randint(0, len(text))])
        text = text[:at] + choice.choice(NOISE) + text[at:]
    return text


@pytest.fixture(scope="module")
def readings() -> list[tuple[str, dict[str, str] | None]]:
    choice = random.Random(35)
    texts = list(dict.fromkeys(drawn(choice) for _ in range(COUNT)))
    return list(zip(texts, read_urls(texts), strict=True))


def judged(uri: str) -> tuple[str, str, str] | None:
    """Return the role and value under which a URI is judged, and what a server is sent; None if refused."""
    made = prepare(read_resource("s", uri), POLICY)
    if not isinstance(made, Prepared):
        return None
    (resource,) = made.call.resources
    return resource.role.name, resource.value, resource_uri(made.call.arguments)


def decoded(path: str) -> list[str]:
    """Return the components of a URL's path, as the kernel counts them."""
    return [part for part in unquote(path).split("/") if part]


def test_what_node_reads_is_judged_or_refused(readings: list[tuple[str, dict[str, str] | None]]) -> None:
    accepted: dict[str, int] = {}
    refused: dict[str, int] = {}
    for uri, read in readings:
        kind = read["protocol"] if read else "none"
        found = judged(uri)
        if found is None:
            refused[kind] = refused.get(kind, 0) + 1
            continue
        accepted[kind] = accepted.get(kind, 0) + 1
        _agree(uri, read, *found)
    assert all(accepted[kind] > 20 for kind in ("file:", "http:", "https:", "note:")), accepted
    assert all(refused[kind] > 200 for kind in ("file:", "http:", "https:", "note:", "none")), refused


def _agree(uri: str, read: dict[str, str] | None, role: str, value: str, sent: str) -> None:
    again = judged(sent)
    assert again is not None, uri
    assert again[:2] == (role, value), uri
    assert read is not None, uri
    if read["protocol"] == "file:":
        assert role == "read-path", uri
        assert decoded(read["path"]) == [part for part in value.split("/") if part], uri
        assert read["host"] == "", uri
    elif read["protocol"] in ("http:", "https:"):
        assert role == "fetch-url", uri
        assert _same_address(read["href"], value), uri
    else:
        assert (role, value, sent, read["href"]) == ("resource-uri", uri, uri, uri), uri


def _same_address(one: str, other: str) -> bool:
    return unquote(one) == unquote(other)


@pytest.mark.parametrize(
    "uri",
    [
        *("note://1", "config://", "config:app", "postgres://u@h:5/db", "urn:isbn:1", "test://Static-Res"),
        *("docs://a/My%20Note", "note://caf%C3%A9", "note:///x/y", "screenshot://1?size=2#top"),
    ],
)
def test_plain_uris_of_a_server_are_judged(uri: Any) -> None:
    assert judged(uri) == ("resource-uri", uri, uri)


@pytest.mark.parametrize(
    "uri",
    [
        *(
            "no uri",
            "",
            "note",
            "note: a",
            "note://%73ecret",
            "note://%2573ecret",
            "note://a%2fb",
            "note://a%",
        ),
        *(
            "note://h/a/../b",
            "note://h/a//b",
            "note://h/%2e%2e",
            "note://h/x%2Fy",
            "note://h/..%2Fy",
            "note:a%00",
        ),
        *("note://h/%20", "note://h/%C2%AD", "note://h/%EF%BD%81", "note://h/%FF", "ftp://x.org"),
    ],
)
def test_uris_that_programs_read_in_several_ways_are_refused(uri: str) -> None:
    assert judged(uri) is None
