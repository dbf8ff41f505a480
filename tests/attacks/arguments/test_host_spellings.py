"""Attack: spell a host in a way that the policy does not recognise but the network does.

Held by: one canonical form of hosts, as browsers and resolvers read them.
"""

# ruff: noqa: RUF001 - look-alikes are the point

from __future__ import annotations

import pytest

from ironcurtain.decision.canonical.hosts import canonical_host
from ironcurtain.decision.canonical.pattern_index import PatternIndex
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.decision.canonical.urls import (
    DEFAULT_CASE_INSENSITIVE_HOSTS,
    parse_fetch_url,
    parse_remote_url,
)
from ironcurtain.decision.roles import Registry

REGISTRY = Registry()

LOOPBACK = [
    "127.0.0.1",
    "127.0.0.1.",
    "127.1",
    "127.0.1",
    "127.00.0.01",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "0X7F.0x0.0.1",
    "0177.1",
    "0177.0.0.01",
    "017700000001",
    "%31%32%37.0.0.1",
    "127%2e0%2e0%2e1",
    "１２７.0.0.1",
    "①②⑦.0.0.1",
    "127。0。0。1",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[0:0:0:0:0:FFFF:127.0.0.1]",
]
IPV6_LOOPBACK = ["[::1]", "[0:0:0:0:0:0:0:1]", "[0000::0001]", "[::0.0.0.1]", "[0::1]", "[::0:0:1]"]
METADATA = [
    "169.254.169.254",
    "169.254.43518",
    "169.16689662",
    "2852039166",
    "0xa9fea9fe",
    "0xA9.0xFE.0xA9.0xFE",
    "0251.0376.0251.0376",
    "025177524776",
    "0xa9.254.0251.254",
    "169.254.169.254.",
    "169.254.169.0xfe",
    "%31%36%39.254.169.254",
    "１６９.254.169.254",
    "169。254。169。254",
    "169｡254｡169｡254",
    "169．254．169．254",
    "[::ffff:169.254.169.254]",
    "[::ffff:a9fe:a9fe]",
    "[::FFFF:A9FE:A9FE]",
    "①⑥⑨.254.169.254",
]
LOCALHOST = [
    "localhost",
    "LOCALHOST",
    "LocalHost",
    "localhost.",
    "LOCALHOST.",
    "%6cocalhost",
    "%6C%6F%63alhost",
    "localhos%74",
    "ｌｏｃａｌｈｏｓｔ",
    "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ",
    "local\u00adhost",
    "𝓁𝑜𝒸𝒶𝓁𝒽𝑜𝓈𝓉",
    "ℓocalhost",
    "locaLhost",
    "loc\u200balhost",
    "localhoſt",
    "ＬＯＣＡＬＨＯＳＴ",
    "localhost。",
    "localhost．",
    "localhost%2e",
]
GITHUB = [
    "github.com",
    "GITHUB.COM",
    "GitHub.com",
    "github.com.",
    "GITHUB.COM.",
    "git%68ub.com",
    "%67%69thub.com",
    "github%2ecom",
    "github。com",
    "github．com",
    "github｡com",
    "ｇｉｔｈｕｂ.com",
    "ⓖⓘⓣⓗⓤⓑ.com",
    "git\u00adhub.com",
    "𝐠𝐢𝐭𝐡𝐮𝐛.com",
    "gIthub.com",
    "ＧＩＴＨＵＢ．ＣＯＭ",
    "git\u200bhub.com",
    "github.cºm",
    "ℊithub.com",
]
LOOK_ALIKES = [
    "githuḅ.com",
    "gіthub.com",
    "gıthub.com",
    "xn--gthub-n4a.com",
    "github.com.evil.com",
    "evil-github.com",
    "github.co",
    "githubcom",
    "github.com-evil.com",
    "github-com.evil.com",
    "api.github.com.evil.com",
    "xn--github-.com",
]


def covering(url: str, patterns: list[str]) -> tuple[str, ...]:
    index = PatternIndex(
        {"url": patterns},
        {},
        registry=REGISTRY,
        home="/home/u",
        resolve_directory=lambda path: path,
        case_insensitive_hosts=DEFAULT_CASE_INSENSITIVE_HOSTS,
    )
    return index.covering(REGISTRY["fetch-url"], parse_fetch_url(url))


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        *((spelling, "127.0.0.1") for spelling in LOOPBACK),
        *((spelling, "[::1]") for spelling in IPV6_LOOPBACK),
        *((spelling, "169.254.169.254") for spelling in METADATA),
        *((spelling, "localhost") for spelling in LOCALHOST),
    ],
)
def test_a_local_host_by_any_spelling_is_itself_and_no_wildcard_covers_it(spelling: str, name: str) -> None:
    host = canonical_host(spelling)
    assert (host.name, host.is_local) == (name, True)
    for url in (f"https://{spelling}/x", f"https://{spelling}:443/x"):
        assert covering(url, ["*", "*.github.com", "*.packet.net"]) == ()
        assert covering(url, ["*", name]) == (name,)
        assert parse_fetch_url(url).text == f"https://{name}/x"


@pytest.mark.parametrize("spelling", GITHUB)
def test_a_public_host_by_any_spelling_is_itself(spelling: str) -> None:
    assert canonical_host(spelling).name == "github.com"
    assert covering(f"https://{spelling}/", ["github.com", "*.github.com", "*", "*.evil.com"]) == (
        "*",
        "*.github.com",
        "github.com",
    )
    assert parse_fetch_url(f"https://{spelling}/").text == "https://github.com/"


@pytest.mark.parametrize("spelling", LOOK_ALIKES)
def test_a_look_alike_is_another_host(spelling: str) -> None:
    try:
        covered = covering(f"https://{spelling}/", ["github.com", "*.github.com"])
    except UnrepresentableError:
        covered = ()
    assert covered == ()


@pytest.mark.parametrize(
    "host",
    [
        "metadata",
        "metadata.google.internal",
        "metadata.goog",
        "instance-data",
        "x.svc.cluster.local",
        "a.localhost",
        "ip6-localhost",
        "localhost.localdomain",
        "api.metadata.cloud.ibm.com",
        "kubernetes.default.svc",
        "[fd00:ec2::254]",
        "100.100.100.200",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "[::127.0.0.1]",
        "0",
        "[::]",
    ],
)
def test_no_wildcard_covers_metadata_services_and_neighbours(host: str) -> None:
    assert canonical_host(host).is_local
    assert covering(f"https://{host}/", ["*", "*.ibm.com", "*.cloud.ibm.com", "*:8080"]) == ()


@pytest.mark.parametrize("spelling", ["0x7f.1", "2130706433", "127.1", "LOCALHOST", "localhost."])
def test_a_git_remote_is_read_like_any_url(spelling: str) -> None:
    name = canonical_host(spelling).name
    for remote in (
        f"git@{spelling}:u/r",
        f"ssh://git@{spelling}/u/r",
        f"git://{spelling}/u/r",
        f"https://{spelling}/",
    ):
        assert parse_remote_url(remote).host.name == name
        assert name in parse_remote_url(remote).text
