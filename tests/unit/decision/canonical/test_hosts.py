"""Hosts: one spelling and one class for each."""

from __future__ import annotations

import ipaddress
import re
import socket

import pytest
from publicsuffixlist import PublicSuffixList

from ironcurtain.decision.canonical.hosts import canonical_host, is_icann_suffix, is_public_suffix
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ("github.com", "github.com", "name"),
        ("GitHub.COM", "github.com", "name"),
        ("github.com.", "github.com", "name"),
        ("例え.jp", "xn--r8jz45g.jp", "name"),
        ("faß.de", "xn--fa-hia.de", "name"),
        ("xn--fa-hia.de", "xn--fa-hia.de", "name"),
        ("a_b.example.com", "a_b.example.com", "name"),
        ("8.8.8.8", "8.8.8.8", "ip"),
        ("134744072", "8.8.8.8", "ip"),
        ("::1", "[::1]", "ip"),
        ("[::1]", "[::1]", "ip"),
        ("[2001:DB8:0:0:0:0:0:1]", "[2001:db8::1]", "ip"),
        ("[::ffff:8.8.8.8]", "8.8.8.8", "ip"),
        ("localhost", "localhost", "local"),
        ("LOCALHOST.", "localhost", "local"),
        ("app.localhost", "app.localhost", "local"),
        ("localhost.localdomain", "localhost.localdomain", "local"),
        ("intranet", "intranet", "local"),
        ("printer.local", "printer.local", "local"),
        ("metadata.google.internal", "metadata.google.internal", "local"),
        ("nas.lan", "nas.lan", "local"),
        ("router.home.arpa", "router.home.arpa", "local"),
        ("wiki.corp", "wiki.corp", "local"),
        ("db.prod.svc", "db.prod.svc", "local"),
        ("db.prod.svc.cluster.local", "db.prod.svc.cluster.local", "local"),
        ("metadata.goog", "metadata.goog", "local"),
        ("x.metadata.goog", "x.metadata.goog", "local"),
        ("notlocalhost.com", "notlocalhost.com", "name"),
        ("localhost.com", "localhost.com", "name"),
        ("mylocal.example", "mylocal.example", "name"),
    ],
)
def test_spelling_and_class(text: str, name: str, kind: str) -> None:
    host = canonical_host(text)
    assert (host.name, host.kind) == (name, kind)
    assert canonical_host(host.name) == host


@pytest.mark.parametrize(
    "text",
    [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "::",
        "::1",
        "fe80::1",
        "fc00::1",
        "fd00:ec2::254",
        "fec0::1",
        "::ffff:10.0.0.1",
        "::10.0.0.1",
        "64:ff9b::10.0.0.1",
        "64:ff9b:1::1",
        "2002:a00:1::",
        "2001:0:a00:1::",
        "fe80::5efe:10.0.0.1",
        "2001:db8::5efe:10.0.0.1",
        "localhost",
        "wiki.corp",
    ],
)
def test_is_local(text: str) -> None:
    assert canonical_host(text).is_local


@pytest.mark.parametrize(
    "text",
    [
        "8.8.8.8",
        "172.32.0.1",
        "100.128.0.1",
        "2606:4700::1111",
        "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8",
        "github.com",
    ],
)
def test_is_not_local(text: str) -> None:
    assert not canonical_host(text).is_local


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "..",
        "a..b",
        ".example.com",
        "example.com..",
        "-oProxyCommand",
        "example-.com",
        "*.example.com",
        "a b",
        "a\tb",
        "a\nb",
        "a/b",
        "a\\b",
        "a?b",
        "a#b",
        "u@a",
        "a%00b",
        "a%2fb",
        "a%zz",
        "a%",
        "example.com:443",
        "example.com:8080",
        "[::1]:443",
        "[::1",
        "::1]",
        "[::1%25eth0]",
        "fe80::1%eth0",
        "1::2::3",
        "256.256.256.256",
        "1.2.3.4.5",
        "0x1.example.0x4",
        "\u00ad",
        "xn--",
        "xn--a",
        "xn--zn7c.com",
        "a!b.com",
        "a" * 64 + ".com",
        "a." * 127 + "com",
        "\ud800.com",
    ],
)
def test_what_is_no_host(text: str) -> None:
    with pytest.raises(UnrepresentableError):
        canonical_host(text)


def test_a_host_may_have_253_bytes_and_not_one_more() -> None:
    longest = ".".join(["a" * 63, "b" * 63, "c" * 63, "d" * 61])
    assert canonical_host(longest).name == longest
    with pytest.raises(UnrepresentableError):
        canonical_host(longest + "d")


@pytest.mark.parametrize(
    "text",
    [
        "127.1",
        "0x7f.1",
        "0177.0.0.1",
        "2130706433",
        "0x7f000001",
        "017700000001",
        "127.0.1",
        "0",
        "0x0a.010.1",
    ],
)
def test_ipv4_forms_agree_with_the_system_library(text: str) -> None:
    assert canonical_host(text).name == socket.inet_ntoa(socket.inet_aton(text))


@pytest.mark.parametrize(
    "text",
    ["1:0:0:2:0:0:0:3", "2001:DB8::", "0:0:0:0:0:0:0:1", "1:2:3:4:5:6:7:8", "::1.2.3.4", "1:0:2:0:3:0:4:0"],
)
def test_ipv6_forms_agree_with_the_standard_library(text: str) -> None:
    name = canonical_host(text).name
    assert re.fullmatch(r"\[[0-9a-f:]+\]", name)
    assert ipaddress.ip_address(name[1:-1]) == ipaddress.ip_address(text)


def test_the_lists_of_single_ends_say_what_the_whole_list_says() -> None:
    whole = PublicSuffixList()
    of_names = PublicSuffixList(only_icann=True, accept_unknown=False)
    rules = {rule.lstrip("!").removeprefix("*.") for rule in whole._publicsuffix if rule.isascii()}
    assert len(rules) > 9_000
    unknown = {"example", "xn--unknown", "a.b.c.d", "8.8.8.8", "[::1]", "city.kobe.jp", "www.ck", "x.www.ck"}
    for domain in rules | unknown:
        for name in (domain, f"a.{domain}", f"a.b.{domain}", domain.partition(".")[2] or domain):
            assert is_public_suffix(name) == (whole.is_public(name) is True), name
            assert is_icann_suffix(name) == (of_names.is_public(name) is True), name
